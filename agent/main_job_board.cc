#include "agent/main_job_board.h"

namespace pipefill {

void MainJobBoard::Set(const MainJobSettings& settings) {
  if (settings.is_anything_set()) {
    settings_[settings.main_job] = settings;
  } else {
    settings_.erase(settings.main_job);
  }
}

void MainJobBoard::KeepOnly(const std::set<std::string>& main_jobs) {
  std::erase_if(settings_, [&](const auto& entry) { return !main_jobs.contains(entry.first); });
}

RankSettings MainJobBoard::SettingsFor(const RankRequest& request) const {
  RankSettings result = {.mode = request.mode,
                         .budget_ppm = request.budget_ppm != 0 ? request.budget_ppm : budget_ppm_};
  const auto found = settings_.find(request.main_job);
  if (found == settings_.end()) return result;
  const MainJobSettings& set = found->second;
  if (set.mode.has_value()) result.mode = *set.mode;
  if (set.budget_ppm != 0) result.budget_ppm = set.budget_ppm;
  result.is_paused = set.is_paused;
  result.static_share_ppm = set.static_share_ppm;
  return result;
}

}  // namespace pipefill
