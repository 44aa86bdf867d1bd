// Each policy does what its name says, on instances that are small enough to try all orders.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "planner/feasibility.h"
#include "planner/planner.h"
#include "planner/policies/by_name.h"
#include "planner/policies/edf.h"
#include "planner/policies/fair.h"
#include "planner/policies/fifo.h"
#include "planner/policies/makespan.h"
#include "planner/policies/sjf.h"
#include "planner/policies/throughput.h"

namespace pipefill {
namespace {

DeviceSnapshot Device(int i, int seats) {
  return {.key = {"a", "cpu" + std::to_string(i)},
          .memory_bytes = 1000,
          .memory_free_bytes = 1000,
          .resident = 0,
          .resident_limit = seats,
          .main_job = MainJobUse::kFilled,
          .bubble_share = 0.5};
}

std::vector<PendingJob> AnyJobs() {
  std::vector<PendingJob> jobs;
  const int count = *rc::gen::inRange(1, 7);
  for (int i = 0; i < count; ++i) {
    PendingJob job{.id = JobId(i + 1), .memory_bytes = 1, .not_before = std::nullopt};
    job.seconds_left = *rc::gen::inRange(1, 30);
    job.deadline = Instant::FromNs(*rc::gen::inRange<int64_t>(1, 90) * 1'000'000'000);
    jobs.push_back(job);
  }
  return jobs;
}

// The jobs in the order in which the policy lets them onto one device.
std::vector<PendingJob> OrderOf(const std::vector<PendingJob>& jobs, const Policy& policy) {
  ClusterSnapshot snapshot;
  snapshot.devices = {Device(0, 100)};
  snapshot.pending = jobs;
  std::vector<PendingJob> order;
  for (const Placement& placement : MakePlan(snapshot, policy).placements) {
    order.push_back(jobs[static_cast<size_t>(placement.job.value()) - 1]);
  }
  return order;
}

// Over all orders of the jobs.
template <typename Cost>
double LeastCost(std::vector<PendingJob> jobs, const Cost& cost) {
  double least = INFINITY;
  do {
    least = std::min(least, cost(jobs));
  } while (std::next_permutation(jobs.begin(), jobs.end(),
                                 [](const auto& a, const auto& b) { return a.id < b.id; }));
  return least;
}

double TotalCompletion(const std::vector<PendingJob>& order) {
  double now = 0;
  double total = 0;
  for (const PendingJob& job : order) total += now += *job.seconds_left;
  return total;
}

double Missed(const std::vector<PendingJob>& order) {
  double now = 0;
  double missed = 0;
  for (const PendingJob& job : order) {
    now += *job.seconds_left;
    if (now * 1e9 > static_cast<double>(job.deadline->ns())) ++missed;
  }
  return missed;
}

RC_GTEST_PROP(PolicyTest, FifoKeepsTheOrderOfSubmission, ()) {
  const std::vector<PendingJob> order = OrderOf(AnyJobs(), FifoPolicy());
  RC_ASSERT(std::is_sorted(order.begin(), order.end(),
                           [](const auto& a, const auto& b) { return a.id < b.id; }));
}

RC_GTEST_PROP(PolicyTest, SjfHasTheLeastMeanCompletion, ()) {
  const std::vector<PendingJob> jobs = AnyJobs();
  RC_ASSERT(TotalCompletion(OrderOf(jobs, SjfPolicy())) == LeastCost(jobs, TotalCompletion));
}

RC_GTEST_PROP(PolicyTest, EdfMeetsAllDeadlinesIfAnyOrderDoes, ()) {
  const std::vector<PendingJob> jobs = AnyJobs();
  if (LeastCost(jobs, Missed) == 0) RC_ASSERT(Missed(OrderOf(jobs, EdfPolicy())) == 0);
}

// The least time until all jobs are done, over all ways to spread them over equal devices.
double BestMakespan(const std::vector<PendingJob>& jobs, size_t devices) {
  double best = INFINITY;
  const auto ways = static_cast<size_t>(std::pow(devices, jobs.size()));
  for (size_t way = 0; way < ways; ++way) {
    std::vector<double> loads(devices, 0);
    size_t rest = way;
    for (const PendingJob& job : jobs) {
      loads[rest % devices] += *job.seconds_left;
      rest /= devices;
    }
    best = std::min(best, *std::max_element(loads.begin(), loads.end()));
  }
  return best;
}

RC_GTEST_PROP(PolicyTest, MakespanIsWithinFourThirdsOfTheBest, ()) {
  const std::vector<PendingJob> jobs = AnyJobs();
  const int devices = *rc::gen::inRange(1, 4);
  ClusterSnapshot snapshot;
  for (int i = 0; i < devices; ++i) snapshot.devices.push_back(Device(i, 100));
  snapshot.pending = jobs;
  std::map<DeviceKey, double> loads;
  for (const Placement& placement : MakePlan(snapshot, MakespanPolicy()).placements) {
    loads[placement.device] += *jobs[static_cast<size_t>(placement.job.value()) - 1].seconds_left;
  }
  double makespan = 0;
  for (const auto& [key, load] : loads) makespan = std::max(makespan, load);
  const double bound = 4.0 / 3 - 1.0 / (3 * devices);
  RC_ASSERT(makespan <= BestMakespan(jobs, static_cast<size_t>(devices)) * bound + 1e-9);
}

// Of each placement: bubble seconds that it fills within the horizon.
double Recovered(const std::vector<PendingJob>& order, const std::vector<DeviceSnapshot>& devices) {
  double sum = 0;
  for (size_t i = 0; i < std::min(order.size(), devices.size()); ++i) {
    sum += std::min(*order[i].seconds_left, 600.0) * devices[i].bubble_share;
  }
  return sum;
}

RC_GTEST_PROP(PolicyTest, ThroughputRecoversTheMost, ()) {
  std::vector<PendingJob> jobs = AnyJobs();
  for (PendingJob& job : jobs) *job.seconds_left *= 40;
  ClusterSnapshot snapshot;
  const int devices = *rc::gen::inRange(1, 5);
  for (int i = 0; i < devices; ++i) {
    snapshot.devices.push_back(Device(i, 1));
    snapshot.devices.back().bubble_share = *rc::gen::inRange(1, 60) / 100.0;
  }
  snapshot.pending = jobs;
  double recovered = 0;
  for (const Placement& placement : MakePlan(snapshot, ThroughputPolicy()).placements) {
    const PendingJob& job = jobs[static_cast<size_t>(placement.job.value()) - 1];
    for (const DeviceSnapshot& device : snapshot.devices) {
      if (device.key == placement.device) recovered += Recovered({job}, {device});
    }
  }
  const double best = -LeastCost(jobs, [&](const std::vector<PendingJob>& order) {
    double most = 0;
    std::vector<DeviceSnapshot> orders = snapshot.devices;
    do {
      most = std::max(most, Recovered(order, orders));
    } while (std::next_permutation(orders.begin(), orders.end(),
                                   [](const auto& a, const auto& b) { return a.key < b.key; }));
    return -most;
  });
  RC_ASSERT(std::abs(recovered - best) < 1e-9);
}

// Rounds in which one seat is free; who gets it uses a second of device time.
std::map<std::string, double> SharesAfter(int rounds, const TenantMap& tenants) {
  ClusterSnapshot snapshot;
  snapshot.devices = {Device(0, 1)};
  snapshot.tenants = tenants;
  int64_t id = 0;
  for (const auto& [name, tenant] : tenants) {
    snapshot.pending.push_back(
        {.id = JobId(++id), .memory_bytes = 1, .not_before = std::nullopt, .tenant = name});
  }
  for (int i = 0; i < rounds; ++i) {
    const Plan plan = MakePlan(snapshot, FairPolicy());
    const size_t job = static_cast<size_t>(plan.placements[0].job.value()) - 1;
    snapshot.tenants[snapshot.pending[job].tenant].used_seconds += 1;
  }
  std::map<std::string, double> shares;
  for (const auto& [name, tenant] : snapshot.tenants) shares[name] = tenant.used_seconds / rounds;
  return shares;
}

RC_GTEST_PROP(PolicyTest, FairGivesSharesByWeight, ()) {
  TenantMap tenants;
  double weights = 0;
  const int count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i) {
    const double weight = *rc::gen::inRange(1, 9);
    tenants["t" + std::to_string(i)].weight = weight;
    weights += weight;
  }
  constexpr int kRounds = 400;
  for (const auto& [name, share] : SharesAfter(kRounds, tenants)) {
    RC_ASSERT(std::abs(share - tenants[name].weight / weights) < 10.0 / kRounds);
  }
}

TEST(PolicyTest, FairAlternatesInsideOnePlan) {
  ClusterSnapshot snapshot;
  snapshot.devices = {Device(0, 3)};
  for (int64_t id = 1; id <= 6; ++id) {
    snapshot.pending.push_back({.id = JobId(id),
                                .memory_bytes = 1,
                                .not_before = std::nullopt,
                                .tenant = id <= 3 ? "a" : "b"});
  }
  const Plan plan = MakePlan(snapshot, FairPolicy());
  ASSERT_EQ(plan.placements.size(), 3U);
  EXPECT_EQ(plan.placements[0].job, JobId(1));
  EXPECT_EQ(plan.placements[1].job, JobId(4));
  EXPECT_EQ(plan.placements[2].job, JobId(2));
}

TEST(PolicyTest, JobsOfWhichNothingIsKnownGoWhereTheHeaderSays) {
  PendingJob unknown{.id = JobId(1), .memory_bytes = 1, .not_before = std::nullopt};
  PendingJob known = unknown;
  known.seconds_left = 1e6;
  known.deadline = Instant::FromNs(int64_t{1} << 60);
  EXPECT_LT(SjfPolicy().ScoreJob(unknown, {}), SjfPolicy().ScoreJob(known, {}));
  EXPECT_GT(MakespanPolicy().ScoreJob(unknown, {}), MakespanPolicy().ScoreJob(known, {}));
  EXPECT_LT(EdfPolicy().ScoreJob(unknown, {}), EdfPolicy().ScoreJob(known, {}));
  EXPECT_EQ(ThroughputPolicy().ScoreJob(unknown, {}), ThroughputPolicy().ScoreJob(known, {}));
}

RC_GTEST_PROP(PolicyTest, NoScoreRisesByAPlacementAndOrdersOfOneTenantStay, ()) {
  DeviceSnapshot device = Device(0, 100);
  device.bubble_share = *rc::gen::inRange(0, 100) / 100.0;
  device.filled_share = device.bubble_share * *rc::gen::inRange(0, 101) / 100.0;
  device.load_seconds = *rc::gen::inRange(0, 50);
  device.resident = *rc::gen::inRange(0, 4);
  PendingJob job{.id = JobId(1), .memory_bytes = *rc::gen::inRange(0, 50), .not_before = {}};
  PendingJob other{.id = JobId(2), .memory_bytes = 1, .not_before = {}};
  if (*rc::gen::arbitrary<bool>()) job.seconds_left = *rc::gen::inRange(0, 900);
  if (*rc::gen::arbitrary<bool>()) other.seconds_left = *rc::gen::inRange(0, 900);
  DeviceSnapshot device_after = device;
  PutOn(job, &device_after);
  TenantSnapshot tenant;
  tenant.used_seconds = *rc::gen::inRange(0, 1000);
  TenantSnapshot tenant_after = tenant;
  CountFor(&tenant_after);
  for (const char* name : {"fifo", "sjf", "makespan", "edf", "fair", "throughput", "edf,sjf"}) {
    const auto policy = *MakePolicyByName(name, nullptr);
    RC_ASSERT(policy->ScoreDevice(device_after) <= policy->ScoreDevice(device));
    RC_ASSERT(FullScore(device_after, *policy) < FullScore(device, *policy));
    RC_ASSERT(policy->ScoreJob(other, tenant_after) <= policy->ScoreJob(other, tenant));
    RC_ASSERT((policy->ScoreJob(job, tenant) < policy->ScoreJob(other, tenant)) ==
              (policy->ScoreJob(job, tenant_after) < policy->ScoreJob(other, tenant_after)));
  }
}

}  // namespace
}  // namespace pipefill
