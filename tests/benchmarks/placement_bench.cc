// How fast jobs are placed on 8,192 devices with 100,000 jobs waiting; prints one JSON object.
//
// 8,192 devices with two seats, on 1,024 nodes, all taken; 100,000 waiting jobs of 64 sizes, five
// priorities and eight tenants with quotas. In each tick 512 jobs come in and, but for
// each eighth tick, as many tasks end, and what has changed is taken over, planned and carried out.
// Jobs of higher priority that find no seat have tasks evicted, which leave by the next tick. Each
// policy in turn, 200 ticks.
//
// Times are CPU time of one thread.
//
//   placements_per_s   placements per second of such ticks, the changes included; all policies
//   tick_ms_p50, tick_ms_p99, tick_ms_max
//   evictions          how many there were
//   policies           the same for each of them
//   idle_tick_ms_p99   a tick in which nothing has changed and nothing fits
//   load_ms            to begin with: all devices and jobs
//   state_tick_ms_p99  of a whole ClusterState with its checks, and the view of it, with as many
//                      devices and jobs: 512 attempts end, 64 agents report, plan, apply, publish
//   state_placements_per_s
//   simple_placements_per_s  the rules taken literally, for comparison: 256 devices, 2,000 jobs
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/platform/clock.h"
#include "planner/planner.h"
#include "planner/policies/by_name.h"
#include "planner/standing_planner.h"
#include "tests/benchmarks/placement_state.h"

namespace pipefill {
namespace {

constexpr int kDevices = 8'192;
constexpr int kJobs = 100'000;
constexpr int kTicks = 200;
constexpr int kChanges = 512;  // per tick
constexpr int64_t kMiB = int64_t{1} << 20;

constexpr const char* kScript =
    "function job(j) return j.priority, -(j.seconds_left or 1e6), -j.id end\n"
    "function device(d) return d.bubble_share - d.filled_share end\n";

double CpuMs() {
  const sdk::SystemClock clock;
  return static_cast<double>(clock.ProcessCpuNs()) * 1e-6;
}

double Quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1,
                         static_cast<size_t>(share * static_cast<double>(values.size())))];
}

// A cluster that carries out plans, for the planner alone.
class Cluster {
 public:
  Cluster(const Policy& policy, int devices, int jobs) : planner_(policy) {
    for (int i = 0; i < devices; ++i) devices_.push_back(NewDevice(i));
    for (int i = 0; i < devices; ++i) index_[devices_[i].key] = i;
    for (int i = 0; i < jobs; ++i) Submit();
    const double begin = CpuMs();
    for (const DeviceSnapshot& device : devices_) planner_.SetDevice(device);
    for (const auto& [id, job] : waiting_) planner_.SetJob(job);
    load_ms_ = CpuMs() - begin;
    // All seats are taken to begin with.
    while (!Tick(0, 0).placements.empty()) {
    }
    ms_.clear();
    placements_ = evictions_ = 0;
  }

  // So many tasks end, so many jobs come in, and a plan is made and carried out.
  Plan Tick(int ends, int submissions) {
    now_ = now_ + absl::Milliseconds(100);
    std::vector<PendingJob> come;
    std::vector<int> touched;
    for (int i = 0; i < ends; ++i) touched.push_back(EndOne());
    for (int i = 0; i < submissions; ++i) come.push_back(Submit());
    for (auto& [device, task] : std::exchange(leaving_, {})) touched.push_back(End(device, task));
    const double begin = CpuMs();
    for (int device : touched) {
      if (device >= 0) planner_.SetDevice(devices_[static_cast<size_t>(device)]);
    }
    for (PendingJob& job : come) planner_.SetJob(std::move(job));
    planner_.SetTenants(tenants_);
    Plan plan = planner_.MakePlan(now_);
    for (const Placement& placement : plan.placements) planner_.RemoveJob(placement.job);
    std::vector<int> changed;
    for (const Placement& placement : plan.placements) changed.push_back(Place(placement));
    for (const Eviction& eviction : plan.evictions) changed.push_back(Carry(eviction));
    for (int device : changed) planner_.SetDevice(devices_[static_cast<size_t>(device)]);
    ms_.push_back(CpuMs() - begin);
    placements_ += plan.placements.size();
    evictions_ += plan.evictions.size();
    return plan;
  }

  const std::vector<double>& ms() const { return ms_; }
  size_t placements() const { return placements_; }
  size_t evictions() const { return evictions_; }
  double load_ms() const { return load_ms_; }

 private:
  int Draw(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }

  DeviceSnapshot NewDevice(int i) {
    return {.key = {absl::StrFormat("node%04d", i / 8), absl::StrCat("gpu", i % 8)},
            .memory_bytes = 20'480 * kMiB,
            .memory_free_bytes = 20'480 * kMiB,
            .resident_limit = 2,
            .main_job = MainJobUse::kFilled,
            .bubble_share = 0.2 + 0.01 * Draw(40)};
  }

  PendingJob Submit() {
    PendingJob job{.id = JobId(++last_id_),
                   .memory_bytes = (1 + Draw(64)) * 256 * kMiB,
                   .not_before = std::nullopt};
    job.priority = std::max(0, Draw(100) - 95);
    job.tenant = absl::StrCat("tenant", Draw(8));
    if (Draw(4) > 0) job.seconds_left = 1 + Draw(10'000);
    if (Draw(2) > 0) job.deadline = now_ + absl::Seconds(Draw(100'000));
    TenantSnapshot& tenant = tenants_[job.tenant];
    tenant.resident_max = kDevices;
    tenant.may_borrow = true;
    waiting_[job.id] = job;
    return job;
  }

  int EndOne() {
    const int device = Draw(static_cast<int>(devices_.size()));
    const auto& residents = devices_[static_cast<size_t>(device)].residents;
    if (residents.empty() || residents[0].is_leaving) return -1;
    return End(device, residents[0].job);
  }

  int End(int index, JobId job) {
    DeviceSnapshot& device = devices_[static_cast<size_t>(index)];
    for (size_t i = 0; i < device.residents.size(); ++i) {
      if (device.residents[i].job != job) continue;
      --device.resident;
      device.memory_free_bytes += device.residents[i].memory_bytes;
      device.residents.erase(device.residents.begin() + static_cast<ptrdiff_t>(i));
      TenantSnapshot& tenant = tenants_[tenant_of_[job]];
      --tenant.resident;
      tenant.used_seconds += 10;
      return index;
    }
    return -1;
  }

  int Place(const Placement& placement) {
    auto it = waiting_.find(placement.job);
    const PendingJob& job = it->second;
    const int index = index_[placement.device];
    DeviceSnapshot& device = devices_[static_cast<size_t>(index)];
    ++device.resident;
    device.memory_free_bytes -= job.memory_bytes;
    device.residents.push_back({.job = job.id,
                                .priority = job.priority,
                                .memory_bytes = job.memory_bytes,
                                .is_evictable = true,
                                .evictable_at = now_ + absl::Milliseconds(500)});
    tenant_of_[job.id] = job.tenant;
    ++tenants_[job.tenant].resident;
    waiting_.erase(it);
    return index;
  }

  int Carry(const Eviction& eviction) {
    const int index = index_[eviction.device];
    for (ResidentTask& task : devices_[static_cast<size_t>(index)].residents) {
      if (task.job == eviction.victim) task.is_leaving = true;
    }
    leaving_.emplace_back(index, eviction.victim);
    PendingJob& job = waiting_.at(eviction.beneficiary);
    job.reserved = Reservation{eviction.device, now_ + absl::Seconds(30)};
    planner_.SetJob(job);
    return index;
  }

  std::mt19937_64 random_{7};
  Instant now_ = Instant::FromNs(1'000'000'000);
  int64_t last_id_ = 0;
  StandingPlanner planner_;
  std::vector<DeviceSnapshot> devices_;
  std::map<DeviceKey, int> index_;
  std::map<JobId, PendingJob> waiting_;
  std::map<JobId, std::string> tenant_of_;
  TenantMap tenants_;
  std::vector<std::pair<int, JobId>> leaving_;
  std::vector<double> ms_;
  size_t placements_ = 0;
  size_t evictions_ = 0;
  double load_ms_ = 0;
};

struct Sums {
  std::vector<double> ms;
  std::vector<double> idle_ms;
  size_t placements = 0;
  size_t evictions = 0;
  double load_ms = 0;
  std::vector<std::string> policies;
};

double Total(const std::vector<double>& values) {
  double total = 0;
  for (double value : values) total += value;
  return total;
}

void Measure(const std::string& name, Sums* sums) {
  const auto policy = *MakePolicyByName(
      name, [](const std::string&) { return absl::StatusOr<std::string>(kScript); });
  Cluster cluster(*policy, kDevices, kJobs);
  for (int tick = 0; tick < kTicks; ++tick) {
    cluster.Tick(tick % 8 == 7 ? 0 : kChanges, kChanges);
  }
  const std::vector<double> ms = cluster.ms();
  sums->ms.insert(sums->ms.end(), ms.begin(), ms.end());
  sums->placements += cluster.placements();
  sums->evictions += cluster.evictions();
  sums->load_ms = std::max(sums->load_ms, cluster.load_ms());
  sums->policies.push_back(absl::StrFormat(
      "\"%s\": {\"placements_per_s\": %.0f, \"tick_ms_p99\": %.2f}", name,
      static_cast<double>(cluster.placements()) / Total(ms) * 1e3, Quantile(ms, 0.99)));
  std::fprintf(stderr, "placement: %s: %zu placements, %zu evictions, p99 %.2f ms\n", name.c_str(),
               cluster.placements(), cluster.evictions(), Quantile(ms, 0.99));
  while (!cluster.Tick(0, 0).placements.empty()) {
  }
  const size_t begin = cluster.ms().size();
  for (int tick = 0; tick < 50; ++tick) cluster.Tick(0, 0);
  sums->idle_ms.insert(sums->idle_ms.end(), cluster.ms().begin() + static_cast<ptrdiff_t>(begin),
                       cluster.ms().end());
}

// The rules taken literally.
double SimplePlacementsPerS() {
  std::mt19937_64 random(7);
  ClusterSnapshot snapshot;
  for (int i = 0; i < 256; ++i) {
    snapshot.devices.push_back({.key = {absl::StrFormat("node%04d", i), "gpu0"},
                                .memory_bytes = 20'480 * kMiB,
                                .memory_free_bytes = 20'480 * kMiB,
                                .resident_limit = 2,
                                .main_job = MainJobUse::kFilled});
  }
  for (int i = 0; i < 2'000; ++i) {
    snapshot.pending.push_back(
        {.id = JobId(i + 1),
         .memory_bytes = static_cast<int64_t>(1 + random() % 64) * 256 * kMiB,
         .not_before = std::nullopt});
  }
  const auto policy = *MakePolicyByName("fifo", nullptr);
  const double begin = CpuMs();
  const size_t placements = MakePlan(snapshot, *policy).placements.size();
  return static_cast<double>(placements) / (CpuMs() - begin) * 1e3;
}

void Run() {
  Sums sums;
  for (const char* name : {"fifo", "sjf", "makespan", "edf", "fair", "throughput", "edf,sjf",
                           "fair,sjf", "lua:script"}) {
    Measure(name, &sums);
  }
  const StateFigures state = MeasureState(kDevices, kJobs, CpuMs);
  std::fprintf(stderr, "placement: state: p99 %.2f ms\n", Quantile(state.ms, 0.99));
  std::vector<std::string> phases;
  for (const auto& [phase, ms] : state.phases_ms) {
    phases.push_back(absl::StrFormat("\"%s\": %.2f", phase, Quantile(ms, 0.5)));
  }
  std::printf(
      "{\"placements_per_s\": %.0f, \"tick_ms_p50\": %.2f, \"tick_ms_p99\": %.2f, "
      "\"tick_ms_max\": %.2f, \"evictions\": %zu, \"idle_tick_ms_p99\": %.3f, \"load_ms\": %.0f, "
      "\"state_tick_ms_p99\": %.2f, \"state_tick_ms_p50\": {%s}, \"state_placements_per_s\": %.0f, "
      "\"simple_placements_per_s\": %.0f, \"policies\": {%s}}\n",
      static_cast<double>(sums.placements) / Total(sums.ms) * 1e3, Quantile(sums.ms, 0.5),
      Quantile(sums.ms, 0.99), Quantile(sums.ms, 1), sums.evictions, Quantile(sums.idle_ms, 0.99),
      sums.load_ms, Quantile(state.ms, 0.99), absl::StrJoin(phases, ", ").c_str(),
      static_cast<double>(state.placements) / Total(state.ms) * 1e3, SimplePlacementsPerS(),
      absl::StrJoin(sums.policies, ", ").c_str());
}

}  // namespace
}  // namespace pipefill

int main() {
  pipefill::Run();
  return 0;
}
