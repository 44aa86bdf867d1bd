#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "planner/feasibility.h"
#include "planner/planner.h"
#include "planner/policies/fifo.h"

namespace pipefill {
namespace {

ClusterSnapshot AnySnapshot() {
  ClusterSnapshot snapshot;
  snapshot.now = Instant::FromNs(1000);
  const int devices = *rc::gen::inRange(0, 6);
  for (int i = 0; i < devices; ++i) {
    const int64_t memory = *rc::gen::inRange<int64_t>(0, 20);
    snapshot.devices.push_back(
        {.key = {"n", "d" + std::to_string(i)},
         .memory_bytes = memory,
         .memory_free_bytes = *rc::gen::inRange<int64_t>(0, memory + 1),
         .resident = *rc::gen::inRange(0, 3),
         .resident_limit = *rc::gen::inRange(0, 4),
         .main_job =
             *rc::gen::element(MainJobUse::kNone, MainJobUse::kMeasured, MainJobUse::kFilled)});
  }
  const int jobs = *rc::gen::inRange(0, 12);
  for (int i = 0; i < jobs; ++i) {
    PendingJob job{.id = JobId(i * 3 + 1),
                   .memory_bytes = *rc::gen::inRange<int64_t>(0, 12),
                   .not_before = std::nullopt};
    if (*rc::gen::inRange(0, 4) == 0) {
      job.not_before = Instant::FromNs(*rc::gen::inRange<int64_t>(900, 1100));
    }
    snapshot.pending.push_back(job);
  }
  return snapshot;
}

// The rule of planner.h taken literally: try all pairs before each placement.
std::vector<Placement> PlaceByTryingAllPairs(ClusterSnapshot snapshot, const Policy& policy,
                                             absl::BitGenRef random) {
  const ClusterSnapshot before = snapshot;
  std::vector<Placement> placements;
  while (true) {
    Score best;
    PendingJob* best_job = nullptr;
    DeviceSnapshot* best_device = nullptr;
    for (PendingJob& job : snapshot.pending) {
      if (IsBackingOff(job, snapshot.now)) continue;
      for (DeviceSnapshot& device : snapshot.devices) {
        if (!Fits(job, device)) continue;
        const Score score = policy.ScorePair(job, device, before, random);
        if (best_job != nullptr && score <= best) continue;
        best = score;
        best_job = &job;
        best_device = &device;
      }
    }
    if (best_job == nullptr) return placements;
    placements.push_back({best_job->id, best_device->key});
    best_device->resident += 1;
    best_device->memory_free_bytes -= best_job->memory_bytes;
    snapshot.pending.erase(snapshot.pending.begin() + (best_job - snapshot.pending.data()));
  }
}

// Looks at devices first, so that jobs of different ids compete for the emptiest one.
class EmptiestDeviceFirst : public Policy {
 public:
  std::string name() const override { return "emptiest"; }
  Score ScorePair(const PendingJob& job, const DeviceSnapshot& device, const ClusterSnapshot&,
                  absl::BitGenRef) const override {
    return {static_cast<double>(device.memory_free_bytes), -static_cast<double>(device.resident),
            static_cast<double>(job.memory_bytes % 3)};
  }
};

RC_GTEST_PROP(PlannerPropertyTest, AgreesWithTryingAllPairs, ()) {
  const ClusterSnapshot snapshot = AnySnapshot();
  std::mt19937_64 random(1);
  const FifoPolicy fifo;
  const EmptiestDeviceFirst emptiest;
  for (const Policy* policy :
       {static_cast<const Policy*>(&fifo), static_cast<const Policy*>(&emptiest)}) {
    RC_ASSERT(MakePlan(snapshot, *policy, random).placements ==
              PlaceByTryingAllPairs(snapshot, *policy, random));
  }
}

RC_GTEST_PROP(PlannerPropertyTest, NeverOverfillsDeviceAndForgetsNoJob, ()) {
  const ClusterSnapshot snapshot = AnySnapshot();
  std::mt19937_64 random(1);

  const Plan plan = MakePlan(snapshot, FifoPolicy(), random);

  std::map<DeviceKey, DeviceSnapshot> left;
  for (const DeviceSnapshot& device : snapshot.devices) left[device.key] = device;
  std::map<JobId, PendingJob> jobs;
  for (const PendingJob& job : snapshot.pending) jobs[job.id] = job;
  std::set<JobId> seen;
  for (const Placement& placement : plan.placements) {
    DeviceSnapshot& device = left.at(placement.device);
    RC_ASSERT(device.main_job == MainJobUse::kFilled);
    device.resident += 1;
    device.memory_free_bytes -= jobs.at(placement.job).memory_bytes;
    RC_ASSERT(device.resident <= device.resident_limit);
    RC_ASSERT(device.memory_free_bytes >= 0);
    RC_ASSERT(seen.insert(placement.job).second);
  }
  for (const WaitingJob& waiting : plan.waiting) {
    RC_ASSERT(waiting.reason < plan.reasons.size());
    RC_ASSERT(seen.insert(waiting.job).second);
  }
  RC_ASSERT(seen.size() == snapshot.pending.size());
}

}  // namespace
}  // namespace pipefill
