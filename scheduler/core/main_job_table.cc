#include "scheduler/core/main_job_table.h"

#include <algorithm>
#include <utility>

namespace pipefill::scheduler {
namespace {

// The first main job with nothing set; end() if there is none.
template <typename Map>
auto FindSpare(Map& settings) {
  return std::find_if(settings.begin(), settings.end(),
                      [](const auto& entry) { return !entry.second.is_anything_set(); });
}

}  // namespace

MainJobSettings MainJobTable::SettingsOf(const std::string& main_job) const {
  const auto found = settings_->find(main_job);
  if (found != settings_->end()) return found->second;
  MainJobSettings unset;
  unset.main_job = main_job;
  return unset;
}

MainJobSettings MainJobTable::Changed(const MainJobChange& change) const {
  MainJobSettings settings = SettingsOf(change.main_job);
  if (change.mode.has_value()) settings.mode = *change.mode;
  if (change.budget_ppm.has_value()) settings.budget_ppm = *change.budget_ppm;
  if (change.is_paused.has_value()) settings.is_paused = *change.is_paused;
  if (change.static_share_ppm.has_value()) settings.static_share_ppm = *change.static_share_ppm;
  return settings;
}

bool MainJobTable::HasRoomFor(const std::string& main_job) const {
  return Contains(main_job) || settings_->size() < limit_ ||
         FindSpare(*settings_) != settings_->end();
}

void MainJobTable::Set(const MainJobSettings& settings) {
  MainJobMap next = *settings_;
  if (next.size() >= limit_ && !next.contains(settings.main_job)) {
    const auto spare = FindSpare(next);
    // A journal that was written under a larger limit is believed.
    if (spare != next.end()) next.erase(spare);
  }
  next[settings.main_job] = settings;
  settings_ = std::make_shared<const MainJobMap>(std::move(next));
}

}  // namespace pipefill::scheduler
