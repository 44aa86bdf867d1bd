#include "agent/main_job_controls.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/log.h"
#include "proto/local.pb.h"

namespace pipefill {

void MainJobControls::Update(const DeviceStates& states, bool is_parked, Instant now) {
  std::map<std::string, std::vector<RankObservation>> main_jobs;
  for (const auto& state : states) {
    std::optional<RankObservation> rank = state->TakeObservation(is_parked);
    if (rank.has_value()) main_jobs[rank->main_job].push_back(*std::move(rank));
  }
  std::map<int32_t, v1::FillControl> before = std::exchange(reports_, {});
  for (auto& [name, ranks] : main_jobs) {
    std::sort(ranks.begin(), ranks.end(),
              [](const RankObservation& a, const RankObservation& b) { return a.rank < b.rank; });
    Job& job = JobOf(ranks.front());
    job.seen = now;
    const bool is_decided = job.control.Update(ranks, now);
    for (const RankObservation& rank : ranks) {
      reports_[rank.rank_key] = std::move(before[rank.rank_key]);
      Report(rank, job.control, is_decided, now);
    }
  }
  for (const auto& state : states) {
    const auto job = jobs_.find(state->main_job());
    if (job != jobs_.end()) state->Steer(job->second.control.control());
  }
  std::erase_if(jobs_, [&](const auto& job) { return now - job.second.seen > kMainJobKept; });
}

const v1::FillControl* MainJobControls::Find(int32_t rank_key) const {
  const auto found = reports_.find(rank_key);
  return found == reports_.end() ? nullptr : &found->second;
}

MainJobControls::Job& MainJobControls::JobOf(const RankObservation& lowest) {
  const auto found = jobs_.find(lowest.main_job);
  if (found != jobs_.end()) return found->second;
  const double budget = static_cast<double>(lowest.settings.budget_ppm) / kPpm;
  return jobs_
      .emplace(lowest.main_job,
               Job{.control = MainJobControl(options_.controller, options_.overrun_ratio,
                                             options_.hold_out, budget),
                   .seen = Instant()})
      .first->second;
}

void MainJobControls::Report(const RankObservation& rank, const MainJobControl& control,
                             bool is_decided, Instant now) {
  v1::FillControl& report = reports_[rank.rank_key];
  const v1::FillState state_before = report.state();
  const uint32_t budget_before = report.budget_ppm();
  report = DescribeFill(rank, control.control(), now);
  const bool is_other_state = report.state() != state_before;
  if (!is_other_state && !is_decided && report.budget_ppm() == budget_before) return;
  v1::TraceRecord record;
  record.mutable_fill_control()->set_rank_key(rank.rank_key);
  record.mutable_fill_control()->set_now_ns(now.ns());
  *record.mutable_fill_control()->mutable_control() = report;
  trace_.Append(record);
  if (!is_other_state) return;
  spdlog::info("fill_state main_job={} rank={} state={} text=\"{}\"", rank.main_job, rank.rank,
               v1::FillState_Name(report.state()), report.text());
}

}  // namespace pipefill
