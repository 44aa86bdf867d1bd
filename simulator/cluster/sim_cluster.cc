#include "simulator/cluster/sim_cluster.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/check.h"
#include "common/virtual_time.h"
#include "scheduler/journal/journal.h"
#include "scheduler/scheduler_loop.h"

namespace pipefill::simulator {
namespace {

using scheduler::SchedulerLoop;

constexpr int64_t kJobsMax = 1'000'000;
constexpr absl::Duration kHorizonMax = absl::Hours(24 * 366 * 10);

// Counts records and keeps none: a simulated schedulerd is not restarted.
class ForgetfulJournal : public scheduler::Journal {
 public:
  absl::Status ForEachRecord(int64_t /*after*/, const RecordVisitor& /*visit*/) override {
    return absl::OkStatus();
  }
  absl::Status Append(const std::vector<std::string>& records) override {
    last_ += static_cast<int64_t>(records.size());
    return absl::OkStatus();
  }
  absl::StatusOr<bool> RemoveUpTo(int64_t /*last*/, int64_t /*limit*/) override { return true; }
  int64_t first_sequence() const override { return last_ + 1; }
  int64_t last_sequence() const override { return last_; }
  int64_t high_water() const override { return last_; }
  void SkipTo(int64_t sequence) override { last_ = std::max(last_, sequence); }

 private:
  int64_t last_ = 0;
};

// Agents that never fail are heard of rarely.
scheduler::ClusterLimits LimitsFor(const SimAgents::Options& agents) {
  scheduler::ClusterLimits limits;
  limits.agent_lease = agents.report_every * 4;
  limits.agent_lost_after = agents.report_every * 8;
  limits.history_jobs_max = 1000;
  limits.jobs_max = 2 * kJobsMax;
  return limits;
}

scheduler::LoopLimits LoopLimitsFor(const SimAgents::Options& agents) {
  scheduler::LoopLimits limits;
  limits.keep_alive_period = agents.report_every;
  limits.requests_max = 2 * kJobsMax;
  return limits;
}

scheduler::JobSpec SpecOf(const JobClass& job_class, const Arrival& arrival) {
  scheduler::JobSpec spec;
  spec.name = job_class.name;
  spec.command = {job_class.name};
  spec.memory_bytes = job_class.memory_bytes;
  spec.may_be_infeasible = true;  // it waits then, as the figures show
  spec.profile = job_class.profile;
  spec.profile.samples_total = arrival.samples;
  if (!arrival.tenant.empty()) spec.tenant = arrival.tenant;
  return spec;
}

double Quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

double ValueOr0(const PerClass& values, BubbleClass bubble_class) {
  const auto found = values.find(bubble_class);
  return found == values.end() ? 0 : found->second;
}

// Mean length of the bubbles offered.
double OfferedMeanS(const LearnedTraining& training) {
  double total_ns = 0;
  double count = 0;
  for (const StageOffer& stage : training.stages) {
    for (const OfferedBubble& bubble : stage.bubbles) {
      total_ns += std::accumulate(bubble.lengths_ns.begin(), bubble.lengths_ns.end(), 0.0);
      count += static_cast<double>(bubble.lengths_ns.size());
    }
  }
  return count > 0 ? total_ns / count / 1e9 : 0;
}

// One run. Thread-compatible.
class SimCluster {
 public:
  SimCluster(const ClusterRun& run, const LearnedTraining& training, const Policy& policy)
      : run_(run),
        training_(training),
        arrivals_(DrawArrivals(run.workload, run.horizon, run.seed)),
        agents_(time_, training, run.workload.classes, run.agents),
        loop_({.loop = time_,
               .clock = time_,
               .journal = journal_,
               .agents = agents_,
               .policy = policy,
               .board = board_,
               .on_fatal = [](const absl::Status&) { CHECK(false); }},
              LoopLimitsFor(run.agents), scheduler::ClusterState(LimitsFor(run.agents))) {}

  ClusterResult Run(const OnProgress& on_progress) {
    start_ = time_.Now();
    loop_.Start();
    agents_.Start([this](scheduler::Message message) { OnSaid(std::move(message)); });
    time_.RunReady();
    SubmitDue();
    time_.AdvanceTo(start_ + run_.warm_up);
    before_ = agents_.Totals();
    int64_t hours = 0;
    while (time_.Now() < start_ + run_.horizon) {
      time_.AdvanceTo(std::min(time_.Now() + absl::Hours(1), start_ + run_.horizon));
      if (on_progress != nullptr) on_progress(++hours);
    }
    return Result();
  }

 private:
  void OnSaid(scheduler::Message message) {
    ++said_;
    const auto& content = std::get<scheduler::AgentSaid>(message).message;
    const auto* ended = std::get_if<scheduler::AttemptEnded>(&content);
    const bool is_done = ended != nullptr && ended->end.cause == scheduler::EndCause::kExited;
    if (is_done) Complete(ended->attempt.job);
    CHECK(loop_.Post(std::move(message)).ok());
  }

  void Complete(JobId job) {
    const auto submitted = submitted_.find(job);
    CHECK(submitted != submitted_.end());  // nothing completes twice
    completion_s_.push_back(absl::ToDoubleSeconds(time_.Now() - submitted->second));
    submitted_.erase(submitted);
    last_end_ = time_.Now();
  }

  // Submits what has arrived by now, and comes back for the next one.
  void SubmitDue() {
    while (next_ < arrivals_.size() && start_ + arrivals_[next_].at <= time_.Now()) {
      const Arrival& arrival = arrivals_[next_++];
      ++said_;
      CHECK(loop_
                .Post(scheduler::SubmitRequest{
                    "", SpecOf(run_.workload.classes[arrival.job_class], arrival),
                    [this](absl::StatusOr<scheduler::Submission> submission) {
                      CHECK(submission.ok());
                      submitted_.emplace(submission->job, time_.Now());
                    }})
                .ok());
    }
    if (next_ == arrivals_.size()) return;
    time_.PostAt(start_ + arrivals_[next_].at, [this] { SubmitDue(); });
  }

  ClusterResult Result() {
    const FillTotals totals = agents_.Totals();
    const double seconds = absl::ToDoubleSeconds(run_.horizon - run_.warm_up);
    const double device_s = seconds * run_.training.devices();
    const double bubble_s = device_s * training_.bubble_share;
    ClusterResult result{.devices = run_.training.devices(),
                         .bubble_share = training_.bubble_share};
    result.gain = (totals.main_s - before_.main_s) / (device_s - bubble_s);
    result.extra_devices = (totals.alone_s - before_.alone_s) / seconds;
    if (bubble_s > 0) {
      result.filled_share = (totals.filled_s - before_.filled_s) / bubble_s;
      result.overrun_share = (totals.overrun_s - before_.overrun_s) / bubble_s;
    }
    result.slowdown_max = agents_.SlowdownMax();
    AddClasses(totals, device_s, result);
    result.bubble_mean_s = OfferedMeanS(training_);
    AddJobs(result);
    result.lanes = agents_.Lanes();
    result.events = said_ + agents_.actions();
    return result;
  }

  void AddClasses(const FillTotals& totals, double device_s, ClusterResult& result) const {
    for (const StageOffer& stage : training_.stages) {
      for (const auto& [bubble_class, share] : stage.bubble_shares) {
        result.classes[bubble_class].bubble_share +=
            share / static_cast<double>(training_.stages.size());
      }
    }
    for (auto& [bubble_class, figures] : result.classes) {
      const double filled_s = ValueOr0(totals.filled_by_class_s, bubble_class) -
                              ValueOr0(before_.filled_by_class_s, bubble_class);
      if (figures.bubble_share > 0) {
        figures.filled_share = filled_s / (device_s * figures.bubble_share);
      }
    }
  }

  void AddJobs(ClusterResult& result) {
    std::sort(completion_s_.begin(), completion_s_.end());
    result.jobs_submitted = static_cast<int64_t>(next_);
    result.jobs_completed = static_cast<int64_t>(completion_s_.size());
    if (completion_s_.empty()) return;
    result.completion_mean_s = std::accumulate(completion_s_.begin(), completion_s_.end(), 0.0) /
                               static_cast<double>(completion_s_.size());
    result.completion_p50_s = Quantile(completion_s_, 0.5);
    result.completion_p95_s = Quantile(completion_s_, 0.95);
    for (size_t i = 0; i < kCompletionQuantiles; ++i) {
      const double share = static_cast<double>(i) / static_cast<double>(kCompletionQuantiles - 1);
      result.completion_quantiles_s.push_back(Quantile(completion_s_, share));
    }
    result.last_end_s = absl::ToDoubleSeconds(last_end_ - start_);
  }

  const ClusterRun& run_;
  const LearnedTraining& training_;
  const std::vector<Arrival> arrivals_;
  size_t next_ = 0;
  VirtualTime time_;
  Instant start_;
  ForgetfulJournal journal_;
  scheduler::ViewBoard board_;
  SimAgents agents_;
  SchedulerLoop loop_;
  FillTotals before_;
  absl::flat_hash_map<JobId, Instant> submitted_;  // that have not completed
  std::vector<double> completion_s_;
  Instant last_end_;
  int64_t said_ = 0;
};

}  // namespace

absl::StatusOr<ClusterResult> RunCluster(const ClusterRun& run, const Policy& policy,
                                         const OnProgress& on_progress) {
  if (absl::Status status = CheckWorkload(run.workload); !status.ok()) return status;
  if (run.warm_up < absl::ZeroDuration() || run.horizon <= run.warm_up) {
    return absl::InvalidArgumentError("horizon must be longer than warm_up, which is 0 or more");
  }
  if (run.horizon > kHorizonMax) return absl::InvalidArgumentError("horizon: at most ten years");
  const double jobs = static_cast<double>(run.workload.jobs_at_start) +
                      static_cast<double>(run.workload.given.size()) +
                      run.workload.jobs_per_hour * absl::FDivDuration(run.horizon, absl::Hours(1));
  if (!(jobs <= static_cast<double>(kJobsMax))) {
    return absl::InvalidArgumentError(
        "jobs_at_start, jobs_per_hour and trace: more than 1,000,000 jobs");
  }
  const absl::StatusOr<LearnedTraining> training = LearnTraining(run.training);
  if (!training.ok()) return training.status();
  return SimCluster(run, *training, policy).Run(on_progress);
}

}  // namespace pipefill::simulator
