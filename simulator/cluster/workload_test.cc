#include "simulator/cluster/workload.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace pipefill::simulator {
namespace {

JobClass ClassOf(const std::string& name, double weight) {
  JobClass job_class;
  job_class.name = name;
  job_class.memory_bytes = 1;
  job_class.weight = weight;
  job_class.device_hours = 2;
  Configuration configuration;
  configuration.name = "default";
  configuration.chain = {{.time_ns = 1'000'000}};
  job_class.profile.configurations = {configuration};
  return job_class;
}

Workload TwoClasses() {
  Workload workload;
  workload.classes = {ClassOf("a", 3), ClassOf("b", 1)};
  workload.jobs_at_start = 5;
  workload.jobs_per_hour = 100;
  return workload;
}

TEST(WorkloadTest, ArrivalsComeAtTheirRateAndInTheirShares) {
  const auto arrivals = DrawArrivals(TwoClasses(), absl::Hours(100), 1);
  EXPECT_NEAR(static_cast<double>(arrivals.size()), 10'005, 300);
  size_t of_a = 0;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    EXPECT_EQ(arrivals[i].at == absl::ZeroDuration(), i < 5);
    EXPECT_LE(arrivals[i].at, absl::Hours(100));
    EXPECT_GE(arrivals[i].at, arrivals[i > 0 ? i - 1 : 0].at);
    of_a += arrivals[i].job_class == 0 ? 1 : 0;
    EXPECT_EQ(arrivals[i].samples, 2 * 3600 * 1000) << "two hours of a millisecond each";
  }
  EXPECT_NEAR(static_cast<double>(of_a) / static_cast<double>(arrivals.size()), 0.75, 0.03);
}

TEST(WorkloadTest, OneSeedIsOneSequence) {
  const auto first = DrawArrivals(TwoClasses(), absl::Hours(1), 7);
  const auto again = DrawArrivals(TwoClasses(), absl::Hours(1), 7);
  const auto other = DrawArrivals(TwoClasses(), absl::Hours(1), 8);
  ASSERT_EQ(first.size(), again.size());
  EXPECT_EQ(first.back().at, again.back().at);
  EXPECT_NE(first.back().at, other.back().at);
}

TEST(WorkloadTest, BadClassesAreNamed) {
  Workload workload = TwoClasses();
  workload.classes[1].weight = 0;
  EXPECT_EQ(CheckWorkload(workload).message(), "job class b: weight must be above 0");
  workload.classes.clear();
  EXPECT_EQ(CheckWorkload(workload).message(), "there is no job class");
}

}  // namespace
}  // namespace pipefill::simulator
