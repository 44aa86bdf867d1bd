#include "tests/benchmarks/placement_state.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/check.h"
#include "planner/policies/fifo.h"
#include "scheduler/core/cluster_planner.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/view.h"

namespace pipefill {
namespace {

using namespace scheduler;  // NOLINT: the nouns of this file are its

constexpr int kTicks = 200;
constexpr int kEnds = 512;
constexpr int kReports = 64;
constexpr int kDevicesPerNode = 8;
constexpr int64_t kMiB = int64_t{1} << 20;

ClusterLimits NoSilence() {
  ClusterLimits limits;
  limits.agent_lease = absl::Hours(1);
  limits.agent_lost_after = absl::Hours(10);
  return limits;
}

class StateBench {
 public:
  StateBench(int devices, int jobs, const std::function<double()>& cpu_ms) : cpu_ms_(cpu_ms) {
    for (int node = 0; node < devices / kDevicesPerNode; ++node) {
      names_.push_back(absl::StrFormat("node%04d", node));
      Apply(HelloOf(node));
    }
    for (int i = 0; i < jobs; ++i) Submit();
    while (true) {
      const pipefill::Plan plan = planner_.MakePlan(&state_, time_);
      if (plan.placements.empty()) break;
      Carry(plan);
      Advance();
    }
  }

  // Returns the number of placements.
  size_t Tick() {
    Advance();
    const size_t ends = std::min<size_t>(kEnds, running_.size());
    Time("ends", [&] {
      for (size_t i = 0; i < ends; ++i) End();
    });
    Time("submissions", [&] {
      for (size_t i = 0; i < ends; ++i) Submit();
    });
    Time("reports", [&] {
      for (int i = 0; i < kReports; ++i) Report();
    });
    pipefill::Plan plan;
    Time("plan", [&] { plan = planner_.MakePlan(&state_, time_); });
    Time("placements", [&] { Carry(plan); });
    Time("view", [&] { Publish(); });
    return plan.placements.size();
  }

  const std::map<std::string, std::vector<double>>& phases_ms() const { return phases_ms_; }

 private:
  template <typename Work>
  void Time(const std::string& phase, const Work& work) {
    const double begin = cpu_ms_();
    work();
    phases_ms_[phase].push_back(cpu_ms_() - begin);
  }

  void Advance() {
    time_.now = time_.now + absl::Milliseconds(50);
    time_.wall += absl::Milliseconds(50);
  }

  void Apply(const Event& event) {
    CHECK(state_.Check(event, time_.now).ok());
    state_.Apply(event, time_);
  }

  std::vector<Device> DevicesOf(int node) const {
    std::vector<Device> devices;
    for (int i = 0; i < kDevicesPerNode; ++i) {
      Device device;
      device.key = {names_[static_cast<size_t>(node)], absl::StrCat("gpu", i)};
      device.memory_bytes = device.memory_free_bytes = 20'480 * kMiB;
      device.resident_limit = 2;
      device.main_rank.emplace();
      device.main_rank->main_job = "gpt";
      device.main_rank->mode = FillMode::kFill;
      devices.push_back(std::move(device));
    }
    return devices;
  }

  AgentRegistered HelloOf(int node) const {
    return {SessionId(static_cast<uint64_t>(node) + 1),
            names_[static_cast<size_t>(node)],
            "boot",
            "bench",
            DevicesOf(node),
            {}};
  }

  // In turn: silence is none of this benchmark.
  void Report() {
    const int node = next_report_++ % static_cast<int>(names_.size());
    Apply(AgentReported{SessionId(static_cast<uint64_t>(node) + 1), DevicesOf(node), {}, {}});
  }

  void Submit() {
    JobSpec spec;
    spec.name = "embed";
    spec.command = {"python3", "embed.py"};
    spec.memory_bytes = static_cast<int64_t>(1 + random_() % 64) * 256 * kMiB;
    spec.tenant = absl::StrCat("tenant", random_() % 8);
    Apply(JobSubmitted{state_.next_job_id(), "", std::move(spec)});
  }

  void End() {
    AttemptEnded ended;
    ended.attempt = running_.front();
    ended.end.cause = EndCause::kExited;
    running_.pop_front();
    Apply(ended);
  }

  void Carry(const pipefill::Plan& plan) {
    for (const Placement& placement : plan.placements) {
      const AttemptPlaced placed{state_.NextAttempt(placement.job), placement.device, ""};
      Apply(placed);
      running_.push_back(placed.attempt);
    }
  }

  void Publish() {
    auto view = std::make_shared<ClusterView>();
    view->jobs = state_.SnapshotJobs();
    view->nodes = state_.nodes().Snapshot();
    view->counts = state_.counts();
    view->tenants = state_.tenants().List(time_.wall);
    view_ = std::move(view);
  }

  const std::function<double()>& cpu_ms_;
  std::map<std::string, std::vector<double>> phases_ms_;
  std::mt19937_64 random_{7};
  EventTime time_ = {Instant::FromNs(1), absl::FromUnixSeconds(1'800'000'000)};
  std::vector<std::string> names_;
  ClusterState state_{NoSilence()};
  const FifoPolicy policy_;
  ClusterPlanner planner_{policy_};
  std::deque<AttemptKey> running_;
  std::shared_ptr<const ClusterView> view_;
  int next_report_ = 0;
};

}  // namespace

StateFigures MeasureState(int devices, int jobs, const std::function<double()>& cpu_ms) {
  StateBench bench(devices, jobs, cpu_ms);
  StateFigures figures;
  for (int tick = 0; tick < kTicks; ++tick) {
    const double begin = cpu_ms();
    figures.placements += bench.Tick();
    figures.ms.push_back(cpu_ms() - begin);
  }
  figures.phases_ms = bench.phases_ms();
  return figures;
}

}  // namespace pipefill
