// Whole clusters in virtual time, and the figures of PipeFill's paper.
#include "simulator/cluster/sim_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/config.h"
#include "planner/policies/fair.h"
#include "planner/policies/fifo.h"
#include "planner/policies/sjf.h"
#include "simulator/cluster/scenario.h"
#include "simulator/cluster/set_field.h"
#include "simulator/traces/read_trace.h"
#include "simulator/traces/testing/memory_files.h"

namespace pipefill::simulator {
namespace {

v1::Scenario Read(const std::string& name) {
  v1::Scenario scenario;
  const absl::Status status =
      ReadJsonFile(absl::StrCat("simulator/scenarios/", name, ".json"), &scenario);
  EXPECT_TRUE(status.ok()) << status;
  return scenario;
}

absl::StatusOr<std::shared_ptr<const Trace>> ReadOf(const TraceSpec& spec) {
  auto trace = ReadTrace(
      spec, absl::UTCTimeZone(), [](const std::string& file) -> absl::StatusOr<TraceFile> {
        auto bytes = std::make_unique<std::filebuf>();
        bytes->open(absl::StrCat("simulator/scenarios/", file), std::ios::in);
        return TraceFile{.bytes = std::move(bytes), .status = [] { return absl::OkStatus(); }};
      });
  if (!trace.ok()) return trace.status();
  return std::make_shared<const Trace>(*std::move(trace));
}

ClusterResult Simulate(const v1::Scenario& scenario, const Policy& policy) {
  const auto run = RunOf(scenario, ReadOf);
  EXPECT_TRUE(run.ok()) << run.status();
  const auto result = RunCluster(*run, policy);
  EXPECT_TRUE(result.ok()) << result.status();
  return *result;
}

// PipeFill (arXiv 2410.07192): a gain of 63 % at 8K GPUs, 2.6K GPUs' worth of work; the smaller
// sizes follow from e (p - 1) / m with the same e.
TEST(SimClusterTest, GainsAreThoseOfThePaper) {
  struct Size {
    const char* pipeline;
    int replicas;
    double gain;
  };
  for (const Size& size : {Size{"16x64@gpipe", 8, 0.079}, Size{"16x32@gpipe", 16, 0.158},
                           Size{"16x16@gpipe", 32, 0.315}, Size{"16x8@gpipe", 64, 0.63}}) {
    v1::Scenario scenario = Read("scale");
    scenario.mutable_training()->set_pipeline(size.pipeline);
    scenario.mutable_training()->set_replicas(size.replicas);
    scenario.set_horizon("90m");
    scenario.set_warm_up("30m");
    const ClusterResult result = Simulate(scenario, FifoPolicy());
    EXPECT_NEAR(result.gain / size.gain, 1, 0.05) << size.pipeline;
    if (result.devices == 8192) {
      EXPECT_NEAR(result.extra_devices / 2600, 1, 0.05);
    }
    EXPECT_LE(result.slowdown_max, 0.02);
  }
}

v1::Scenario SmallQueue() {
  v1::Scenario scenario = Read("policies");
  scenario.mutable_training()->set_replicas(1);
  scenario.mutable_workload()->set_jobs_at_start(400);
  scenario.set_horizon("400h");
  return scenario;
}

TEST(SimClusterTest, EveryJobCompletesOnceAndOneSeedIsOneRun) {
  const ClusterResult first = Simulate(SmallQueue(), FifoPolicy());
  EXPECT_EQ(first.jobs_submitted, 400);
  EXPECT_EQ(first.jobs_completed, 400);
  const ClusterResult again = Simulate(SmallQueue(), FifoPolicy());
  EXPECT_EQ(again.completion_mean_s, first.completion_mean_s);
  EXPECT_EQ(again.last_end_s, first.last_end_s);
  EXPECT_EQ(again.events, first.events);
  v1::Scenario other = SmallQueue();
  other.set_seed(2);
  EXPECT_NE(Simulate(other, FifoPolicy()).completion_mean_s, first.completion_mean_s);
}

TEST(SimClusterTest, FiguresOfClassesAddUpToTheWhole) {
  const ClusterResult result = Simulate(SmallQueue(), FifoPolicy());
  double bubble_share = 0;
  double filled_share = 0;
  for (const auto& [bubble_class, figures] : result.classes) {
    bubble_share += figures.bubble_share;
    filled_share += figures.bubble_share * figures.filled_share;
  }
  EXPECT_EQ(result.classes.size(), 4U);
  EXPECT_NEAR(bubble_share, result.bubble_share, 1e-6);
  EXPECT_NEAR(filled_share, result.bubble_share * result.filled_share, 1e-6);
}

TEST(SimClusterTest, QuantilesOfCompletionGrowFromTheFirstToTheLast) {
  const ClusterResult result = Simulate(SmallQueue(), FifoPolicy());
  const std::vector<double>& quantiles = result.completion_quantiles_s;
  ASSERT_EQ(quantiles.size(), kCompletionQuantiles);
  EXPECT_TRUE(std::is_sorted(quantiles.begin(), quantiles.end()));
  EXPECT_EQ(quantiles[50], result.completion_p50_s);
  EXPECT_EQ(quantiles[100], result.last_end_s);  // all were there at the start
}

TEST(SimClusterTest, JobsOfALaneComeOneAfterTheOther) {
  const ClusterResult result = Simulate(SmallQueue(), FifoPolicy());
  ASSERT_EQ(result.lanes.size(), kLanesMax);
  EXPECT_EQ(result.lanes[3].device, "r0000-s003/gpu0");
  for (const Lane& lane : result.lanes) {
    ASSERT_FALSE(lane.spans.empty());
    for (size_t i = 0; i < lane.spans.size(); ++i) {
      EXPECT_GE(lane.spans[i].begin_s, i == 0 ? 0 : lane.spans[i - 1].end_s);
      EXPECT_LT(lane.spans[i].begin_s, lane.spans[i].end_s);
    }
  }
}

TEST(SimClusterTest, ShortestFirstHasTheShorterMean) {
  const ClusterResult fifo = Simulate(SmallQueue(), FifoPolicy());
  const ClusterResult sjf = Simulate(SmallQueue(), SjfPolicy());
  EXPECT_EQ(sjf.jobs_completed, 400);
  EXPECT_LT(sjf.completion_mean_s, 0.9 * fifo.completion_mean_s);
}

TEST(SimClusterTest, JobsThatNeverFitWaitAndHugeOnesGoOn) {
  v1::Scenario scenario = SmallQueue();
  scenario.set_horizon("24h");
  scenario.mutable_training()->set_memory_free("3GiB");
  scenario.mutable_workload()->mutable_classes(0)->set_device_hours(1e9);
  const ClusterResult result = Simulate(scenario, FifoPolicy());
  EXPECT_EQ(result.jobs_completed, 0);
}

TEST(SimClusterTest, RunsThatMakeNoSenseAreRefusedInOneLine) {
  v1::Scenario scenario = SmallQueue();
  scenario.set_warm_up("3000h");
  EXPECT_EQ(RunCluster(*RunOf(scenario), FifoPolicy()).status().code(),
            absl::StatusCode::kInvalidArgument);
  scenario.clear_warm_up();
  scenario.set_horizon("1000000h");
  EXPECT_EQ(RunCluster(*RunOf(scenario), FifoPolicy()).status().message(),
            "horizon: at most ten years");
  scenario.set_horizon("1h");
  scenario.mutable_workload()->set_jobs_per_hour(1e12);
  EXPECT_EQ(RunCluster(*RunOf(scenario), FifoPolicy()).status().code(),
            absl::StatusCode::kInvalidArgument);
  scenario.mutable_workload()->mutable_classes(1)->set_name("inference");
  scenario.mutable_workload()->set_jobs_per_hour(1);
  EXPECT_EQ(RunCluster(*RunOf(scenario), FifoPolicy()).status().message(),
            "job class \"inference\" is there twice");
  scenario.mutable_training()->clear_forward();
  EXPECT_EQ(RunOf(scenario).status().message().substr(0, 17), "training.forward:");
}

TEST(SimClusterTest, JobsOfATraceCountAsOthersDo) {
  v1::Scenario scenario = Read("trace_mix");
  ClusterRun run = *RunOf(scenario, ReadOf);
  run.workload.jobs_at_start = 1'000'000;
  EXPECT_EQ(RunCluster(run, FifoPolicy()).status().message(),
            "jobs_at_start, jobs_per_hour and trace: more than 1,000,000 jobs");
}

TEST(SimClusterTest, OneTraceAndSeedIsOneRun) {
  v1::Scenario scenario = Read("trace_mix");
  const ClusterResult first = Simulate(scenario, FifoPolicy());
  EXPECT_EQ(first.jobs_submitted,
            static_cast<int64_t>(RunOf(scenario, ReadOf)->workload.given.size()));
  EXPECT_GT(first.jobs_completed, first.jobs_submitted / 2);
  const ClusterResult again = Simulate(scenario, FifoPolicy());
  EXPECT_EQ(again.completion_mean_s, first.completion_mean_s);
  EXPECT_EQ(again.gain, first.gain);
  EXPECT_EQ(again.events, first.events);
  scenario.set_seed(2);
  EXPECT_NE(Simulate(scenario, FifoPolicy()).gain, first.gain) << "classes are drawn";
  scenario.set_seed(1);
  scenario.mutable_workload()->mutable_trace()->set_speed_up(20);
  EXPECT_GT(Simulate(scenario, FifoPolicy()).completion_mean_s, first.completion_mean_s);
}

// 100 long jobs of one user, then 20 short ones of `other`.
ClusterResult SimulateUsers(const std::string& other, const Policy& policy) {
  std::string log;
  for (int i = 0; i < 120; ++i) {
    absl::StrAppend(&log, i + 1, " ", i / 100, " 0 ", i < 100 ? 36'000 : 600, " 1 -1 -1 1 -1 -1 1 ",
                    i < 100 ? "ann" : other, " -1 -1 -1 -1 -1 -1\n");
  }
  v1::Scenario scenario = Read("trace_mix");
  v1::TraceScenario& trace = *scenario.mutable_workload()->mutable_trace();
  trace.set_format("swf");
  scenario.set_horizon("1000h");
  const auto run = RunOf(scenario, [&](const TraceSpec& spec) {
    return absl::StatusOr<std::shared_ptr<const Trace>>(
        std::make_shared<const Trace>(*ReadText(spec, log)));
  });
  EXPECT_TRUE(run.ok()) << run.status();
  return *RunCluster(*run, policy);
}

TEST(SimClusterTest, UsersOfATraceShareAsTenants) {
  const ClusterResult alone = SimulateUsers("ann", FairPolicy());
  const ClusterResult shared = SimulateUsers("bob", FairPolicy());
  EXPECT_EQ(alone.jobs_completed, 120);
  EXPECT_EQ(shared.jobs_completed, 120);
  EXPECT_LT(shared.completion_mean_s, 0.95 * alone.completion_mean_s);
}

TEST(SetFieldTest, SetsByPathAndSaysWhatThereIs) {
  v1::Scenario scenario = Read("policies");
  ASSERT_TRUE(SetField("training.replicas=7", &scenario).ok());
  ASSERT_TRUE(SetField("workload.classes[1].unit=9ms", &scenario).ok());
  EXPECT_EQ(scenario.training().replicas(), 7);
  EXPECT_EQ(scenario.workload().classes(1).unit(), "9ms");
  for (const char* bad : {"training.replica=7", "training=3", "replicas", "workload.classes.unit=1",
                          "workload.classes[9].unit=1", "training.replicas=many"}) {
    const absl::Status status = SetField(bad, &scenario);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_EQ(status.message().find('\n'), absl::string_view::npos) << bad;
  }
  EXPECT_EQ(scenario.training().replicas(), 7);
}

}  // namespace
}  // namespace pipefill::simulator
