#include "cli/main_job_summary.h"

#include <gtest/gtest.h>

#include <limits>

namespace pipefill {
namespace {

v1::MainRank& AddRank(v1::ListDevicesResponse& devices, v1::FillState state, double slowdown) {
  v1::Device& device = *devices.add_devices();
  device.set_resident(1);
  v1::MainRank& rank = *device.mutable_main_rank();
  rank.set_main_job("gpt");
  rank.set_ranks(2);
  rank.set_iterations(100);
  rank.set_iteration_p50_ns(20);
  rank.set_iteration_ns(1000);
  rank.set_bubble_ns(300);
  rank.mutable_control()->set_state(state);
  rank.mutable_control()->set_slowdown(slowdown);
  rank.mutable_control()->set_hold_outs(5);
  return rank;
}

TEST(MainJobSummaryTest, AddsUpRanksAndTasks) {
  v1::ListDevicesResponse devices;
  AddRank(devices, v1::FILL_STATE_FILLING, 0.001).set_iteration_p50_ns(30);
  AddRank(devices, v1::FILL_STATE_FILLING, 0.002);
  devices.add_devices()->set_resident(1);  // nobody's

  const auto summaries = SummariseMainJobs(devices);

  ASSERT_EQ(summaries.size(), 1u);
  const MainJobSummary& gpt = summaries.at("gpt");
  EXPECT_EQ(gpt.attached, 2);
  EXPECT_EQ(gpt.ranks, 2);
  EXPECT_EQ(gpt.tasks, 2);
  EXPECT_EQ(gpt.iterations, 100);
  EXPECT_EQ(gpt.iteration_p50_ns, 30);
  EXPECT_EQ(gpt.iteration_ns, 2000);
  EXPECT_EQ(gpt.bubble_ns, 600);
  EXPECT_EQ(gpt.control->slowdown(), 0.002);
  EXPECT_EQ(StateText(gpt), "filling");
}

TEST(MainJobSummaryTest, ShowsTheRankThatIsWorstOff) {
  v1::ListDevicesResponse devices;
  AddRank(devices, v1::FILL_STATE_BACKED_OFF, 0.03);
  AddRank(devices, v1::FILL_STATE_FILLING, std::numeric_limits<double>::quiet_NaN());

  const MainJobSummary gpt = SummariseMainJobs(devices).at("gpt");

  EXPECT_EQ(gpt.control->slowdown(), 0.03);
  EXPECT_EQ(StateText(gpt), "backed off: cost more than its budget (1 of 2 ranks)");
}

TEST(MainJobSummaryTest, OldAgentsSayNothingAboutTheState) {
  v1::ListDevicesResponse devices;
  AddRank(devices, v1::FILL_STATE_FILLING, 0).clear_control();

  const MainJobSummary gpt = SummariseMainJobs(devices).at("gpt");

  EXPECT_FALSE(gpt.control.has_value());
  EXPECT_EQ(StateText(gpt), "");
}

}  // namespace
}  // namespace pipefill
