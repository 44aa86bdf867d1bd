#include "simulator/faults/fault_run.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/virtual_time.h"
#include "planner/policies/by_name.h"
#include "simulator/faults/checker.h"
#include "simulator/faults/draw.h"
#include "simulator/faults/nuisances.h"
#include "simulator/faults/sim_network.h"
#include "simulator/faults/sim_node.h"
#include "simulator/faults/sim_scheduler.h"
#include "simulator/faults/sim_users.h"
#include "simulator/faults/state_text.h"

namespace pipefill::simulator {
namespace {

constexpr int64_t kDeviceBytes = int64_t{1} << 30;
constexpr int kSeats = 2;
constexpr int kDevices = 2;
constexpr int kNodesMost = 4;
// Longer than it takes to notice that a stream is dead, to dial again, and to be given up.
constexpr absl::Duration kMend = absl::Minutes(2);
constexpr absl::Duration kPauseTakes = absl::Seconds(10);
constexpr absl::Duration kPauseLook = absl::Seconds(1);
constexpr int kJobsForPause = 8;
constexpr absl::Duration kSettleMost = absl::Hours(24);
constexpr absl::Duration kLook = absl::Seconds(5);

// The policies that a run may have.
constexpr const char* kPolicies[] = {"fifo", "sjf", "edf,sjf", "fair", "throughput", "makespan"};

// As scheduler/settings.cc takes them.
constexpr absl::Duration kSilenceLeast = absl::Seconds(3);
constexpr absl::Duration kReportSlack = absl::Seconds(1);

absl::Duration DrawReportPeriod(Draw& draw) {
  return absl::Seconds(draw.Chance(0.3) ? draw.Between(2, 6) : 1);
}

scheduler::ClusterLimits DrawLimits(Draw& draw, absl::Duration report_period) {
  scheduler::ClusterLimits limits;
  limits.agent_lease = draw.Between(kSilenceLeast, absl::Seconds(12));
  if (report_period > limits.agent_lease / 3) {
    limits.agent_lease = std::max(limits.agent_lease, (report_period + kReportSlack) * 4 / 3);
  }
  limits.agent_lost_after =
      limits.agent_lease + std::max(kSilenceLeast, report_period + kReportSlack);
  // Half of the runs have no more than is needed.
  if (draw.Chance(0.5)) {
    limits.agent_lost_after += draw.Between(absl::ZeroDuration(), absl::Seconds(6));
  }
  // Small ones: what is rare with large ones happens in each run.
  limits.history_jobs_max = draw.Between(5, 200);
  limits.array_window = draw.Between(2, 16);
  limits.array_history_max = draw.Between(2, 16);
  limits.tenants = {{.name = "research", .resident_max = 3, .may_borrow = draw.Chance(0.5)}};
  return limits;
}

std::unique_ptr<Policy> DrawPolicy(Draw& draw) {
  const auto count = static_cast<int64_t>(std::size(kPolicies));
  auto policy = MakePolicyByName(kPolicies[draw.Between(int64_t{0}, count - 1)],
                                 [](const std::string&) -> absl::StatusOr<std::string> {
                                   return absl::NotFoundError("no files here");
                                 });
  CHECK(policy.ok());
  return *std::move(policy);
}

class FaultRun {
 public:
  explicit FaultRun(const FaultRunOptions& options)
      : options_(options),
        draw_(options.seed),
        report_period_(DrawReportPeriod(draw_)),
        limits_(DrawLimits(draw_, report_period_)),
        policy_(DrawPolicy(draw_)),
        checker_(world_, {.cluster = limits_, .device_bytes = kDeviceBytes, .seats = kSeats},
                 options.on_event),
        nodes_count_(static_cast<int>(draw_.Between(int64_t{1}, int64_t{kNodesMost}))),
        network_(world_, {.nodes = nodes_count_,
                          .seed = draw_.Seed() ^ options.other_chance,
                          .note = [this](const std::string& line) { checker_.Note(line); }}),
        scheduler_({world_, network_, *policy_, checker_}, SchedulerOptions()),
        users_({world_, network_, scheduler_, checker_}, UserOptions()) {
    const uint64_t behaviour_seed = draw_.Seed();
    for (int i = 0; i < nodes_count_; ++i) {
      nodes_.push_back(std::make_unique<SimNode>(SimNode::Surroundings{world_, network_, checker_},
                                                 SimNode::Options{.index = i,
                                                                  .devices = kDevices,
                                                                  .seats = kSeats,
                                                                  .device_bytes = kDeviceBytes,
                                                                  .seed = draw_.Seed(),
                                                                  .behaviour_seed = behaviour_seed,
                                                                  .plant = options.plant}));
    }
    nuisances_ = std::make_unique<Nuisances>(
        Nuisances::Surroundings{world_, network_, scheduler_, nodes_, checker_}, draw_.Seed());
  }

  FaultRunResult Run() {
    scheduler_.Start();
    for (const auto& node : nodes_) node->StartAgent();
    users_.Start();
    nuisances_->Start();
    world_.AdvanceBy(options_.trouble);
    nuisances_->Calm();
    users_.Calm();
    world_.AdvanceBy(kMend);
    CheckPause();
    Settle();
    if (checker_.violations().empty()) StartAgain();
    return Result();
  }

 private:
  SimScheduler::Options SchedulerOptions() {
    SimScheduler::Options options{.cluster = limits_, .loop = {}, .terms = {}};
    options.terms.lease = limits_.agent_lease;
    options.terms.report_period = report_period_;
    options.loop.keep_alive_period = limits_.agent_lease / 3;
    options.loop.report_period = report_period_;
    options.loop.compaction.snapshot_every = draw_.Between(20, 400);
    options.loop.compaction.slice = draw_.Between(5, 200);
    options.seed = draw_.Seed();
    options.plant = options_.plant;
    return options;
  }

  SimUsers::Options UserOptions() {
    return {.seed = draw_.Seed(),
            .job_bytes_max = kDeviceBytes,
            .loss = draw_.Chance(0.5) ? 0.3 * draw_.Share() : 0,
            .pause_most = draw_.Between(absl::Milliseconds(200), absl::Seconds(5)),
            .plant = options_.plant};
  }

  // Users stop the filling; no unit may run soon after.
  void CheckPause() {
    users_.SubmitSome(kJobsForPause);
    world_.AdvanceBy(kPauseTakes);
    users_.SetPaused(true);
    world_.AdvanceBy(kPauseTakes);
    for (absl::Duration passed; passed < kPauseTakes; passed += kPauseLook) {
      for (const auto& node : nodes_) {
        if (node->has_gated_work()) {
          checker_.Fail("units run, though filling the main job was paused");
        }
      }
      world_.AdvanceBy(kPauseLook);
    }
    users_.SetPaused(false);
  }

  void Settle() {
    users_.ReleaseAll();
    const Instant give_up_at = world_.Now() + kSettleMost;
    while (!is_settled() && world_.Now() < give_up_at) world_.AdvanceBy(kLook);
    // Ends are told again until they are acknowledged.
    world_.AdvanceBy(kMend);
    if (!users_.is_answered()) checker_.Fail("a user is never answered");
    CheckJobs();
    CheckNodes();
  }

  // All daemons once more: nothing that is over comes back.
  void StartAgain() {
    const int64_t attempts = checker_.attempts();
    const std::string state = StateBytes(checker_.DurableState());
    scheduler_.Kill();
    for (const auto& node : nodes_) node->KillAgent();
    scheduler_.Start();
    for (const auto& node : nodes_) node->StartAgent();
    world_.AdvanceBy(kMend);
    CheckNodes();
    const std::string now = StateBytes(checker_.DurableState());
    if (checker_.attempts() != attempts) checker_.Fail("a restart starts what was over");
    if (now != state) {
      checker_.Fail(absl::StrCat("a restart changes what was over: ", FirstDifference(now, state)));
    }
  }

  bool is_settled() const {
    const scheduler::JobCounts counts = checker_.state().counts();
    return users_.is_answered() && counts.pending == 0 && counts.running == 0 && counts.arrays == 0;
  }

  void CheckJobs() {
    const scheduler::JobTableView& jobs = checker_.state().jobs();
    for (const scheduler::Job* job = jobs.FindAtOrAbove(JobId(1)); job != nullptr;
         job = jobs.FindAtOrAbove(JobId(job->id.value() + 1))) {
      if (scheduler::IsTerminal(job->phase)) continue;
      checker_.Fail(absl::StrCat("job ", job->id.value(), " is ", scheduler::PhaseName(job->phase),
                                 ", long after all is well again"));
    }
  }

  void CheckNodes() {
    for (const auto& node : nodes_) {
      for (const AttemptKey& key : node->processes()) {
        checker_.Fail(absl::StrCat("a task is left that nobody knows: ", Describe(key)));
      }
      if (!node->is_settled()) checker_.Fail("an agent still has ends to tell, or attempts");
    }
  }

  FaultRunResult Result() const {
    return {.violations = checker_.violations(),
            .moves = checker_.moves(),
            .events = checker_.events(),
            .jobs = checker_.state().next_job_id().value() - 1,
            .attempts = checker_.attempts(),
            .fingerprint = checker_.fingerprint()};
  }

  const FaultRunOptions options_;
  Draw draw_;
  VirtualTime world_;
  const absl::Duration report_period_;
  const scheduler::ClusterLimits limits_;
  const std::unique_ptr<Policy> policy_;
  Checker checker_;
  const int nodes_count_;
  SimNetwork network_;
  SimScheduler scheduler_;
  SimUsers users_;
  std::vector<std::unique_ptr<SimNode>> nodes_;
  std::unique_ptr<Nuisances> nuisances_;
};

}  // namespace

FaultRunResult RunFaults(const FaultRunOptions& options) { return FaultRun(options).Run(); }

}  // namespace pipefill::simulator
