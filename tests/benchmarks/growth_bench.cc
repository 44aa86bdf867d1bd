// What each decision of schedulerd costs with so many jobs and devices: growth_bench JOBS DEVICES.
// `./run bench growth` calls it for one size after the other; prints one JSON object.
//
// The real core, and a real store on the disk. A tenth of the jobs wait; the others have run, but
// for one on each device that is filled, and there are at most a quarter as many of those as jobs.
// Nothing that waits fits until a task ends. In each round one job is submitted, one ends, a plan
// gives its place to another, one is cancelled, and users ask. What changes the state is checked,
// applied, written to the journal and published, each by itself.
//
// Times are CPU time: the wait for a sync is not in them.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/platform/clock.h"
#include "common/check.h"
#include "common/environment.h"
#include "planner/policies/fifo.h"
#include "scheduler/core/cluster_planner.h"
#include "scheduler/core/reconcile.h"
#include "scheduler/core/view.h"
#include "scheduler/core/why.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/snapshot_store.h"
#include "scheduler/journal/sqlite_journal.h"

namespace pipefill {
namespace {

using namespace scheduler;  // NOLINT: the nouns of this file are its

constexpr int kRounds = 200;
constexpr int kDevicesPerNode = 8;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kBudgetBytes = 20'480 * kMiB;
// Two of them do not fit one device.
constexpr int64_t kJobBytes = 12'288 * kMiB;

double CpuUs() {
  const sdk::SystemClock clock;
  return static_cast<double>(clock.ProcessCpuNs()) * 1e-3;
}

ClusterLimits LimitsFor(int64_t jobs) {
  ClusterLimits limits;
  limits.jobs_max = 2 * jobs + kRounds;
  limits.history_jobs_max = limits.jobs_max;
  limits.agent_lease = absl::Hours(1);
  limits.agent_lost_after = absl::Hours(10);
  return limits;
}

class GrowthBench {
 public:
  GrowthBench(std::string folder, int64_t jobs, int devices)
      : folder_(std::move(folder)), jobs_(jobs), state_(LimitsFor(jobs)) {
    const auto filled = static_cast<int>(std::min<int64_t>(devices, jobs / 4));
    for (int node = 0; node * kDevicesPerNode < devices; ++node) AddNode(node, devices, filled);
    while (state_.next_job_id().value() <= jobs) AddJob();
    view_ = MakeView();
    planner_.MakePlan(&state_, time_);
  }

  void Run() {
    WriteSnapshot();
    // Some go on waiting.
    const int64_t rounds = std::min<int64_t>(kRounds, jobs_ / 20);
    for (int64_t round = 0; round < rounds; ++round) RunRound();
    journal_ = nullptr;
    Restart();
  }

  std::string Json() const {
    std::vector<std::string> entries;
    for (const auto& [name, values] : us_) {
      std::vector<double> sorted = values;
      std::sort(sorted.begin(), sorted.end());
      entries.push_back(absl::StrFormat("\"%s\": {\"p50\": %.2f, \"p99\": %.2f}", name,
                                        sorted[sorted.size() / 2],
                                        sorted[sorted.size() * 99 / 100]));
    }
    return absl::StrCat("{\"us\": {", absl::StrJoin(entries, ", "), "}}");
  }

 private:
  template <typename Work>
  void Time(const std::string& name, const Work& work) {
    const double begin = CpuUs();
    work();
    us_[name].push_back(CpuUs() - begin);
  }

  void AddNode(int node, int devices, int filled) {
    AgentRegistered hello = {SessionId(static_cast<uint64_t>(node) + 1),
                             absl::StrFormat("node%04d", node),
                             "boot",
                             "bench",
                             {},
                             {}};
    for (int i = 0; i < kDevicesPerNode && node * kDevicesPerNode + i < devices; ++i) {
      Device device;
      device.key = {hello.node, absl::StrCat("gpu", i)};
      device.memory_bytes = device.memory_free_bytes = kBudgetBytes;
      device.resident_limit = 2;
      device.main_rank.emplace();
      device.main_rank->main_job = "gpt";
      const bool is_filled = node * kDevicesPerNode + i < filled;
      device.main_rank->mode = is_filled ? FillMode::kFill : FillMode::kReport;
      if (is_filled) filled_.push_back(device.key);
      hello.devices.push_back(std::move(device));
    }
    state_.Apply(hello, time_);
  }

  JobSubmitted NewJob() const {
    JobSpec spec;
    spec.name = "embed";
    spec.command = {"python3", "embed.py", "--shard", absl::StrCat(state_.next_job_id().value())};
    spec.memory_bytes = kJobBytes;
    spec.tenant = absl::StrCat("tenant", state_.next_job_id().value() % 8);
    return {state_.next_job_id(), absl::StrCat("key-", state_.next_job_id().value()),
            std::move(spec)};
  }

  // One of those that are there to begin with.
  void AddJob() {
    const JobId id = state_.next_job_id();
    state_.Apply(NewJob(), time_);
    if (id.value() > jobs_ - jobs_ / 10) return;  // waits
    const size_t number = running_.size();
    const bool is_live = number < filled_.size() &&
                         id.value() > jobs_ - jobs_ / 10 - static_cast<int64_t>(filled_.size());
    const AttemptKey attempt = state_.NextAttempt(id);
    const size_t device = is_live ? number : static_cast<size_t>(id.value()) % filled_.size();
    state_.Apply(AttemptPlaced{attempt, filled_[device]}, time_);
    state_.Apply(AttemptStarted{attempt}, time_);
    if (is_live) {
      running_.push_back(attempt);
    } else {
      state_.Apply(EndOf(attempt), time_);
    }
  }

  static AttemptEnded EndOf(const AttemptKey& attempt) {
    AttemptEnded ended;
    ended.attempt = attempt;
    ended.end.cause = EndCause::kExited;
    return ended;
  }

  void Admit(const Event& event) {
    CHECK(state_.Check(event, time_.now).ok());
    state_.Apply(event, time_);
    CHECK(journal_->Append({EncodeRecord(event, time_.wall)}).ok());
    view_ = MakeView();
  }

  std::shared_ptr<const ClusterView> MakeView() {
    auto view = std::make_shared<ClusterView>();
    view->jobs = state_.SnapshotJobs();
    view->nodes = state_.nodes().Snapshot();
    view->plan = plan_;
    view->counts = state_.counts();
    view->tenants = state_.tenants().List(time_.wall);
    view->quarantines = state_.refusals().Snapshot();
    view->main_jobs = state_.main_jobs().Snapshot();
    return view;
  }

  void RunRound() {
    time_.now = time_.now + absl::Milliseconds(50);
    time_.wall += absl::Milliseconds(50);
    const JobSubmitted submitted = NewJob();
    Time("submit", [&] { Admit(submitted); });
    Time("complete", [&] {
      const AttemptEnded ended = EndOf(running_.front());
      const std::string node = (*state_.FindJob(ended.attempt.job))->live_attempt().device.node;
      for (const Event& event : ReconcileEnd(state_, node, ended).events) Admit(event);
    });
    running_.pop_front();
    Time("tick", [&] { plan_ = std::make_shared<Plan>(planner_.MakePlan(&state_, time_)); });
    CHECK(plan_->placements.size() == 1);
    const Placement& placement = plan_->placements[0];
    const AttemptPlaced placed{state_.NextAttempt(placement.job), placement.device, ""};
    Time("place", [&] { Admit(placed); });
    running_.push_back(placed.attempt);
    Time("cancel", [&] { Admit(CancelRequested{submitted.job}); });
    // The oldest that waits.
    const JobId waiting(placement.job.value() + 1);
    Time("why", [&] {
      CHECK(DetailWaiting(planner_.planner(), *plan_, waiting, *view_->quarantines, time_.now)
                .has_value());
    });
    Time("list", [&] { CHECK(ListJobs(*view_, {}).jobs.size() == 100); });
  }

  void WriteSnapshot() {
    auto journal = SqliteJournal::Open(folder_);
    CHECK(journal.ok());
    journal_ = *std::move(journal);
    FileSnapshotStore snapshots(folder_);
    const SnapshotStamp stamp = {.sequence = 1, .wall = time_.wall};
    std::optional<DurableState> durable;
    Time("snapshot_pause", [&] { durable = state_.Durable(); });
    Time("snapshot", [&] {
      CHECK(snapshots
                .Write(FrameWriter(SnapshotEncoder(*std::move(durable), stamp)),
                       std::atomic<bool>(false))
                .ok());
    });
    journal_->SkipTo(stamp.sequence);
  }

  void Restart() {
    Time("restart", [&] {
      auto journal = SqliteJournal::Open(folder_);
      CHECK(journal.ok());
      const auto recovered =
          RecoverStore(**journal, FileSnapshotStore(folder_), LimitsFor(jobs_), time_.now);
      CHECK(recovered.ok());
      CHECK(recovered->state.next_job_id() == state_.next_job_id());
    });
  }

  const std::string folder_;
  const int64_t jobs_;
  EventTime time_ = {Instant::FromNs(1), absl::FromUnixSeconds(1'800'000'000)};
  ClusterState state_;
  const FifoPolicy policy_;
  ClusterPlanner planner_{policy_};
  std::shared_ptr<const Plan> plan_ = std::make_shared<const Plan>();
  std::vector<DeviceKey> filled_;
  std::deque<AttemptKey> running_;
  std::unique_ptr<SqliteJournal> journal_;
  std::shared_ptr<const ClusterView> view_;
  std::map<std::string, std::vector<double>> us_;
};

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: growth_bench JOBS DEVICES; at least 1000 and 1\n");
    return 2;
  }
  const std::filesystem::path folder =
      std::filesystem::path(pipefill::EnvironmentOr("TMPDIR", "/tmp")) /
      absl::StrCat("pipefill-growth-bench-", getpid());
  pipefill::GrowthBench bench(folder.string(), std::atoll(argv[1]), std::atoi(argv[2]));
  bench.Run();
  std::filesystem::remove_all(folder);
  std::printf("%s\n", bench.Json().c_str());
}
