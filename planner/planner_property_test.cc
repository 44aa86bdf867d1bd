#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "planner/eviction.h"
#include "planner/feasibility.h"
#include "planner/planner.h"
#include "planner/policies/by_name.h"
#include "planner/policies/fifo.h"
#include "planner/standing_planner.h"

namespace pipefill {
namespace {

constexpr Instant kNow = Instant::FromNs(1000);

Instant AnyTime() { return Instant::FromNs(*rc::gen::inRange<int64_t>(900, 1100)); }
bool OneIn(int n) { return *rc::gen::inRange(0, n) == 0; }

// What jobs need of bubbles. Some have the same.
std::shared_ptr<const std::vector<UnitNeed>> AnyNeeds() {
  static const auto* const kShared = new std::shared_ptr<const std::vector<UnitNeed>>(
      std::make_shared<std::vector<UnitNeed>>(1, UnitNeed{.unit_ns = 3}));
  if (OneIn(2)) return nullptr;
  if (OneIn(2)) return *kShared;
  std::vector<UnitNeed> needs(*rc::gen::inRange<size_t>(1, 3));
  for (UnitNeed& need : needs) {
    need = {.unit_ns = *rc::gen::inRange<int64_t>(1, 5),
            .resident_bytes = 0,
            .peak_bytes = *rc::gen::inRange<int64_t>(0, 12)};
  }
  return std::make_shared<const std::vector<UnitNeed>>(std::move(needs));
}

BubbleRoom AnyRoom() {
  return {.longest_unit_ns = *rc::gen::inRange<int64_t>(0, 5),
          .most_bytes = *rc::gen::inRange<int64_t>(4, 12)};
}

DeviceSnapshot AnyDevice(int i) {
  const int64_t memory = *rc::gen::inRange<int64_t>(0, 20);
  DeviceSnapshot device{.key = {"n" + std::to_string(i / 2), "d" + std::to_string(i % 2)},
                        .memory_bytes = memory,
                        .memory_free_bytes = *rc::gen::inRange<int64_t>(0, memory + 1),
                        .resident = 0,
                        .resident_limit = *rc::gen::inRange(0, 4),
                        .main_job = OneIn(8) ? MainJobUse::kMeasured : MainJobUse::kFilled,
                        .is_quarantined = OneIn(8),
                        .bubble_share = *rc::gen::inRange(0, 5) / 10.0,
                        .load_seconds = *rc::gen::inRange(0, 3) * 1.0};
  if (!OneIn(3)) device.room = AnyRoom();
  device.resident = *rc::gen::inRange(0, device.resident_limit + 1);
  const int64_t used = memory - device.memory_free_bytes;
  for (int task = 0; task < device.resident; ++task) {
    device.residents.push_back({.job = JobId(1000 + 10 * i + task),
                                .priority = *rc::gen::inRange(-2, 3),
                                .memory_bytes = used / device.resident,
                                .is_evictable = !OneIn(4),
                                .evictable_at = AnyTime(),
                                .is_leaving = OneIn(6)});
  }
  return device;
}

PendingJob AnyJob(int i, const std::vector<DeviceSnapshot>& devices) {
  PendingJob job{.id = JobId(i * 3 + 1),
                 .memory_bytes = *rc::gen::inRange<int64_t>(0, 12),
                 .not_before = std::nullopt};
  job.priority = *rc::gen::inRange(-2, 4);
  job.tenant = *rc::gen::element<std::string>("a", "b", "default");
  if (OneIn(4)) job.not_before = AnyTime();
  if (OneIn(2)) job.seconds_left = *rc::gen::inRange(1, 4);
  if (OneIn(3)) job.deadline = AnyTime();
  job.needs = AnyNeeds();
  if (devices.empty()) return job;
  const DeviceKey& key = devices[*rc::gen::inRange<size_t>(0, devices.size())].key;
  if (OneIn(6)) job.preferred = key;
  if (OneIn(6)) job.reserved = Reservation{key, AnyTime()};
  return job;
}

ClusterSnapshot AnySnapshot() {
  ClusterSnapshot snapshot;
  snapshot.now = kNow;
  const int devices = *rc::gen::inRange(0, 6);
  for (int i = 0; i < devices; ++i) snapshot.devices.push_back(AnyDevice(i));
  const int jobs = *rc::gen::inRange(0, 14);
  for (int i = 0; i < jobs; ++i) snapshot.pending.push_back(AnyJob(i, snapshot.devices));
  for (const char* name : {"a", "b"}) {
    snapshot.tenants[name] = {.weight = *rc::gen::inRange(1, 4) * 1.0,
                              .used_seconds = *rc::gen::inRange(0, 30) * 1.0,
                              .resident = *rc::gen::inRange(0, 3),
                              .resident_max = *rc::gen::inRange(0, 5),
                              .may_borrow = OneIn(2)};
  }
  return snapshot;
}

const std::vector<std::unique_ptr<Policy>>& Policies() {
  static const auto* const kPolicies = [] {
    auto* policies = new std::vector<std::unique_ptr<Policy>>;
    for (const char* name : {"fifo", "sjf", "makespan", "edf", "fair", "throughput", "fair,sjf",
                             "sjf,fair", "lua:x"}) {
      policies->push_back(*MakePolicyByName(name, [](const std::string&) {
        return "function job(j) return j.memory_bytes % 3, j.priority end\n"
               "function device(d) return d.memory_free_bytes % 4 - d.resident * 4 end";
      }));
    }
    return policies;
  }();
  return *kPolicies;
}

void Load(const ClusterSnapshot& snapshot, StandingPlanner* planner) {
  for (const DeviceSnapshot& device : snapshot.devices) planner->SetDevice(device);
  for (const PendingJob& job : snapshot.pending) planner->SetJob(job);
  planner->SetTenants(snapshot.tenants);
}

void AssertSame(const Plan& a, const Plan& b) {
  RC_ASSERT(a.placements == b.placements);
  RC_ASSERT(a.evictions == b.evictions);
  RC_ASSERT(a.numbers == b.numbers);
  RC_ASSERT(a.next_plan == b.next_plan);
  RC_ASSERT(a.last_job == b.last_job);
  RC_ASSERT(a.misfits == b.misfits);
}

RC_GTEST_PROP(PlannerPropertyTest, StandingPlannerPlansAsTheRulesSay, ()) {
  const ClusterSnapshot snapshot = AnySnapshot();
  PlanLimits limits;
  if (OneIn(3)) limits = {.placements_max = *rc::gen::inRange(1, 4), .beneficiaries_max = 1};
  for (const auto& policy : Policies()) {
    StandingPlanner planner(*policy, limits);
    Load(snapshot, &planner);
    const Plan expected = MakePlan(snapshot, *policy, limits);
    AssertSame(planner.MakePlan(snapshot.now), expected);
    // A plan leaves nothing behind.
    AssertSame(planner.MakePlan(snapshot.now), expected);
  }
}

// Changes between plans lead to the same as beginning anew.
RC_GTEST_PROP(PlannerPropertyTest, StandingPlannerFollowsChanges, ()) {
  ClusterSnapshot snapshot = AnySnapshot();
  const Policy& policy = *Policies()[*rc::gen::inRange<size_t>(0, Policies().size())];
  StandingPlanner planner(policy);
  Load(snapshot, &planner);
  for (int round = 0; round < 4; ++round) {
    planner.MakePlan(snapshot.now);
    snapshot.now = snapshot.now + absl::Nanoseconds(*rc::gen::inRange(0, 60));
    std::erase_if(snapshot.pending, [&](PendingJob& job) {
      if (OneIn(4)) {
        planner.RemoveJob(job.id);
        return true;
      }
      if (OneIn(3)) {
        const JobId id = job.id;
        job = AnyJob(0, snapshot.devices);
        job.id = id;
        planner.SetJob(job);
      }
      return false;
    });
    std::erase_if(snapshot.devices, [&](DeviceSnapshot& device) {
      if (OneIn(6)) {
        planner.RemoveDevice(device.key);
        return true;
      }
      const DeviceKey key = device.key;
      device = AnyDevice(0);
      device.key = key;
      planner.SetDevice(device);
      return false;
    });
    AssertSame(planner.MakePlan(snapshot.now), MakePlan(snapshot, policy));
  }
}

RC_GTEST_PROP(PlannerPropertyTest, PlaceInLineIsTheOrderInWhichJobsAreLookedAt, ()) {
  ClusterSnapshot snapshot = AnySnapshot();
  for (PendingJob& job : snapshot.pending) {
    job.memory_bytes = 0;
    job.not_before = std::nullopt;
    job.preferred = std::nullopt;
    job.reserved = std::nullopt;
    job.needs = nullptr;
  }
  // Fair scores change with each placement; a place is told as of now.
  const Policy& policy = *Policies()[*rc::gen::inRange<size_t>(0, 4)];
  snapshot.tenants.clear();
  StandingPlanner planner(policy);
  Load(snapshot, &planner);
  planner.SetDevice({.key = {"z", "z"},
                     .memory_bytes = 1,
                     .memory_free_bytes = 1,
                     .resident_limit = 100,
                     .main_job = MainJobUse::kFilled});
  const std::vector<Placement> placements = planner.MakePlan(kNow).placements;
  RC_ASSERT(placements.size() == snapshot.pending.size());
  for (size_t i = 0; i < placements.size(); ++i) {
    const auto place = planner.PlaceOf(placements[i].job, {});
    RC_ASSERT(place->place == i + 1);
    RC_ASSERT(place->waiting == placements.size());
  }
}

RC_GTEST_PROP(PlannerPropertyTest, NeverOverfillsADeviceOrALimit, ()) {
  ClusterSnapshot snapshot = AnySnapshot();
  const Policy& policy = *Policies()[*rc::gen::inRange<size_t>(0, Policies().size())];
  const Plan plan = MakePlan(snapshot, policy);
  std::map<DeviceKey, DeviceSnapshot> left;
  for (const DeviceSnapshot& device : snapshot.devices) left[device.key] = device;
  std::map<JobId, PendingJob> jobs;
  for (const PendingJob& job : snapshot.pending) jobs[job.id] = job;
  std::set<JobId> seen;
  for (const Placement& placement : plan.placements) {
    DeviceSnapshot& device = left.at(placement.device);
    const PendingJob& job = jobs.at(placement.job);
    RC_ASSERT(device.main_job == MainJobUse::kFilled);
    RC_ASSERT(!device.is_quarantined);
    RC_ASSERT(!IsBackingOff(job, snapshot.now));
    device.resident += 1;
    device.memory_free_bytes -= job.memory_bytes;
    RC_ASSERT(device.resident <= device.resident_limit);
    RC_ASSERT(device.memory_free_bytes >= 0);
    RC_ASSERT(seen.insert(placement.job).second);
    TenantSnapshot& tenant = snapshot.tenants[job.tenant];
    // With reservations a tenant may have come to have more than its limit.
    if (HasReservation(job, snapshot.now)) continue;
    RC_ASSERT(!tenant.is_full() || tenant.may_borrow);
    ++tenant.resident;
  }
}

// A job of a lower priority never gets what one of a higher priority could have had.
RC_GTEST_PROP(PlannerPropertyTest, HigherPriorityGoesFirstUnderEveryPolicy, ()) {
  ClusterSnapshot snapshot = AnySnapshot();
  snapshot.tenants.clear();
  for (PendingJob& job : snapshot.pending) job.reserved = std::nullopt;
  // Places that are kept for others are none of this.
  for (DeviceSnapshot& device : snapshot.devices) device.residents.clear();
  const Policy& policy = *Policies()[*rc::gen::inRange<size_t>(0, Policies().size())];
  const Plan plan = MakePlan(snapshot, policy);
  std::map<JobId, PendingJob> waiting;
  for (const PendingJob& job : snapshot.pending) waiting[job.id] = job;
  std::map<DeviceKey, DeviceSnapshot> left;
  for (const DeviceSnapshot& device : snapshot.devices) left[device.key] = device;
  for (const Placement& placement : plan.placements) {
    const PendingJob placed = waiting.at(placement.job);
    waiting.erase(placement.job);
    for (const auto& [id, job] : waiting) {
      const bool is_higher = job.priority > placed.priority;
      if (!is_higher || IsBackingOff(job, snapshot.now)) continue;
      for (const auto& [key, device] : left) RC_ASSERT(!Fits(job, device));
    }
    PutOn(placed, &left.at(placement.device));
  }
}

// --- Evictions ---

RC_GTEST_PROP(EvictionPropertyTest, VictimsMayGoAreEnoughAndNoneIsInVain, ()) {
  const DeviceSnapshot device = AnyDevice(0);
  const PendingJob job = AnyJob(0, {});
  const auto choice = ChooseVictims(job, device, kNow);
  if (!choice.has_value()) return;
  const auto fits_without = [&](const std::vector<size_t>& gone) {
    DeviceSnapshot after = device;
    for (size_t i : gone) {
      --after.resident;
      after.memory_free_bytes += device.residents[i].memory_bytes;
    }
    after.residents.clear();
    return Fits(job, after);
  };
  RC_ASSERT(!fits_without({}));
  RC_ASSERT(fits_without(choice->victims));
  for (size_t victim : choice->victims) {
    RC_ASSERT(device.residents[victim].priority < job.priority);
    RC_ASSERT(device.residents[victim].is_evictable);
    RC_ASSERT(device.residents[victim].evictable_at <= kNow);
    std::vector<size_t> rest = choice->victims;
    std::erase(rest, victim);
    RC_ASSERT(!fits_without(rest));
  }
}

// Priorities of all jobs that have a place, or for which one is kept, the highest first.
using Potential = std::vector<int32_t>;

// A cluster that carries out what is planned. Evicted jobs wait again with what they had.
class World {
 public:
  explicit World(const Policy& policy) : policy_(policy) {}

  Potential potential() const {
    Potential priorities;
    for (const DeviceSnapshot& device : snapshot_.devices) {
      for (const ResidentTask& task : device.residents) {
        if (!task.is_leaving) priorities.push_back(task.priority);
      }
    }
    for (const PendingJob& job : snapshot_.pending) {
      if (HasReservation(job, snapshot_.now)) priorities.push_back(job.priority);
    }
    std::sort(priorities.rbegin(), priorities.rend());
    return priorities;
  }

  ClusterSnapshot& snapshot() { return snapshot_; }

  // Plans, carries it out; true if anything was done.
  bool Step() {
    snapshot_.now = snapshot_.now + absl::Nanoseconds(10);
    const Plan plan = MakePlan(snapshot_, policy_);
    const Potential before = potential();
    for (const Eviction& eviction : plan.evictions) Carry(eviction);
    // One eviction may take several victims for one beneficiary; together they must gain.
    if (!plan.evictions.empty()) RC_ASSERT(potential() > before);
    for (const Placement& placement : plan.placements) Carry(placement);
    return !plan.evictions.empty() || !plan.placements.empty() || LetLeave();
  }

 private:
  DeviceSnapshot& DeviceOf(const DeviceKey& key) {
    return *std::find_if(snapshot_.devices.begin(), snapshot_.devices.end(),
                         [&](const DeviceSnapshot& device) { return device.key == key; });
  }

  void Carry(const Eviction& eviction) {
    for (ResidentTask& task : DeviceOf(eviction.device).residents) {
      if (task.job == eviction.victim) task.is_leaving = true;
    }
    for (PendingJob& job : snapshot_.pending) {
      if (job.id != eviction.beneficiary) continue;
      job.reserved = Reservation{eviction.device, snapshot_.now + absl::Nanoseconds(50)};
    }
  }

  void Carry(const Placement& placement) {
    DeviceSnapshot& device = DeviceOf(placement.device);
    std::erase_if(snapshot_.pending, [&](const PendingJob& job) {
      if (job.id != placement.job) return false;
      PutOn(job, &device);
      device.residents.push_back({.job = job.id,
                                  .priority = job.priority,
                                  .memory_bytes = job.memory_bytes,
                                  .is_evictable = true,
                                  .evictable_at = snapshot_.now + absl::Nanoseconds(15)});
      return true;
    });
  }

  // Those that are being stopped end some time, and wait again.
  bool LetLeave() {
    bool is_any_leaving = false;
    for (DeviceSnapshot& device : snapshot_.devices) {
      std::erase_if(device.residents, [&](const ResidentTask& task) {
        is_any_leaving = is_any_leaving || task.is_leaving;
        if (!task.is_leaving || OneIn(3)) return false;
        --device.resident;
        device.memory_free_bytes += task.memory_bytes;
        PendingJob job{.id = task.job, .memory_bytes = task.memory_bytes, .not_before = {}};
        job.priority = task.priority;
        snapshot_.pending.push_back(job);
        return true;
      });
    }
    std::sort(snapshot_.pending.begin(), snapshot_.pending.end(),
              [](const PendingJob& a, const PendingJob& b) { return a.id < b.id; });
    return is_any_leaving;
  }

  const Policy& policy_;
  ClusterSnapshot snapshot_;
};

RC_GTEST_PROP(EvictionPropertyTest, EvictionsEndByThemselves, ()) {
  const Policy& policy = *Policies()[*rc::gen::inRange<size_t>(0, Policies().size())];
  World world(policy);
  const int devices = *rc::gen::inRange(1, 4);
  for (int i = 0; i < devices; ++i) {
    world.snapshot().devices.push_back({.key = {"n", "d" + std::to_string(i)},
                                        .memory_bytes = 10,
                                        .memory_free_bytes = 10,
                                        .resident_limit = *rc::gen::inRange(1, 3),
                                        .main_job = MainJobUse::kFilled});
  }
  int64_t id = 0;
  for (int wave = 0; wave < 3; ++wave) {
    const int jobs = *rc::gen::inRange(1, 5);
    for (int i = 0; i < jobs; ++i) {
      PendingJob job{.id = JobId(1'000'000 + ++id),
                     .memory_bytes = *rc::gen::inRange<int64_t>(1, 11),
                     .not_before = std::nullopt};
      job.priority = *rc::gen::inRange(0, 3);
      world.snapshot().pending.push_back(job);
    }
    int quiet = 0;
    for (int step = 0; quiet < 8; ++step) {
      RC_ASSERT(step < 400);
      quiet = world.Step() ? 0 : quiet + 1;
    }
  }
}

}  // namespace
}  // namespace pipefill
