#include "simulator/cluster/trace_arrivals.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "simulator/cluster/scenario.h"
#include "simulator/traces/testing/memory_files.h"

namespace pipefill::simulator {
namespace {

JobClass ClassOf(const std::string& name, double weight) {
  JobClass job_class;
  job_class.name = name;
  job_class.memory_bytes = 1;
  job_class.weight = weight;
  Configuration configuration;
  configuration.name = "default";
  configuration.chain = {{.time_ns = 1'000'000'000}};
  job_class.profile.configurations = {configuration};
  return job_class;
}

TraceJob JobOf(double submitted_h, double hours, double gpus = 1, uint32_t status = 1) {
  return {.submitted = absl::Hours(submitted_h),
          .device_time = absl::Hours(hours),
          .gpus = gpus,
          .user = 2,
          .status = status};
}

Trace TraceWith(const std::vector<TraceJob>& jobs) {
  Trace trace;
  trace.names = {"", "Pass", "ann", "Failed"};
  trace.jobs = jobs;
  trace.begin = jobs.front().submitted;
  trace.rows.source = "t";
  trace.rows.rows = static_cast<int64_t>(jobs.size());
  return trace;
}

TraceRules RulesOf(std::vector<TraceSize> sizes = {{.classes = {0, 1}}}) {
  return {.sizes = std::move(sizes), .horizon = absl::Hours(10)};
}

class TraceArrivalsTest : public testing::Test {
 protected:
  TraceArrivalsTest() { workload_.classes = {ClassOf("a", 3), ClassOf("b", 1)}; }

  std::string Add(const Trace& trace, const TraceRules& rules) {
    const absl::Status status = AddTraceArrivals(trace, rules, workload_);
    return status.ok() ? RowsText(workload_.trace_rows.at(0)) : std::string(status.message());
  }

  Workload workload_;
};

TEST_F(TraceArrivalsTest, JobsComeAfterTheFirstOneAndAskForWhatTheyTook) {
  EXPECT_EQ(Add(TraceWith({JobOf(100, 2), JobOf(104, 0.5)}), RulesOf()), "t: 2 rows, 2 used");
  EXPECT_EQ(workload_.given[0].at, absl::ZeroDuration());
  EXPECT_EQ(workload_.given[0].samples, 7200) << "two hours of a second each";
  EXPECT_EQ(workload_.given[0].tenant, "ann");
  EXPECT_EQ(workload_.given[1].at, absl::Hours(4));
}

TEST_F(TraceArrivalsTest, BeginAndSpeedUpSayWhichPartIsSimulated) {
  TraceRules rules = RulesOf();
  rules.begin = absl::Hours(3);
  rules.speed_up = 2;
  EXPECT_EQ(Add(TraceWith({JobOf(100, 2), JobOf(104, 1), JobOf(123, 1), JobOf(124, 1)}), rules),
            "t: 4 rows, 2 used; skipped: 2 outside the hours simulated");
  EXPECT_EQ(workload_.given[0].at, absl::Minutes(30));
  EXPECT_EQ(workload_.given[1].at, absl::Hours(10));
}

TEST_F(TraceArrivalsTest, FiltersCountWhatTheyLeaveOut) {
  TraceRules rules = RulesOf();
  rules.statuses = {"Pass", "Killed"};
  rules.device_hours_min = 0.5;
  rules.device_hours_max = 4;
  EXPECT_EQ(Add(TraceWith({JobOf(0, 1), JobOf(0, 1, 1, 3), JobOf(0, 1, 1, 0), JobOf(0, 4),
                           JobOf(0, 4.5), JobOf(0, 0.1), JobOf(0, 1, 1.5), JobOf(0, 1, 0.2)}),
                rules),
            "t: 8 rows, 3 used; skipped: 2 of another status, 1 beyond gpus_max, 1 below "
            "device_hours_min, 1 beyond device_hours_max");
}

TEST_F(TraceArrivalsTest, SizesDecideTheClassAndWeightsOnlyWithinOne) {
  std::vector<TraceJob> jobs;
  for (int i = 0; i < 2000; ++i) jobs.push_back(JobOf(0.001 * i, i % 2 == 0 ? 0.5 : 3));
  jobs.push_back(JobOf(3, 9));
  EXPECT_EQ(Add(TraceWith(jobs), RulesOf({{.device_hours_max = 1, .classes = {1}},
                                          {.device_hours_max = 8, .classes = {0, 1}}})),
            "t: 2001 rows, 2000 used; skipped: 1 beyond device_hours_max");
  double of_a = 0;
  for (size_t i = 0; i < 2000; ++i) {
    if (i % 2 == 0) {
      EXPECT_EQ(workload_.given[i].job_class, 1U);
    } else {
      of_a += workload_.given[i].job_class == 0 ? 1 : 0;
    }
  }
  EXPECT_NEAR(of_a / 1000, 0.75, 0.05);
}

TEST_F(TraceArrivalsTest, OneSeedIsOneSequence) {
  std::vector<TraceJob> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(JobOf(0.01 * i, 1));
  const auto classes_with = [&](uint64_t seed) {
    TraceRules rules = RulesOf();
    rules.seed = seed;
    EXPECT_EQ(Add(TraceWith(jobs), rules), "t: 100 rows, 100 used");
    std::vector<size_t> classes;
    for (const Arrival& arrival : workload_.given) classes.push_back(arrival.job_class);
    return classes;
  };
  EXPECT_EQ(classes_with(1), classes_with(1));
  EXPECT_NE(classes_with(1), classes_with(2));
}

TEST_F(TraceArrivalsTest, ATraceOfWhichNothingIsLeftIsRefused) {
  EXPECT_EQ(Add(TraceWith({JobOf(0, 1, 8)}), RulesOf()),
            "t: 1 row, 0 used; skipped: 1 beyond gpus_max; set workload.trace so that some are "
            "left");
}

TEST_F(TraceArrivalsTest, MoreJobsThanASimulationHoldsAreRefused) {
  const Trace trace = TraceWith(std::vector<TraceJob>(kTraceArrivalsMax + 1, JobOf(0, 1)));
  const absl::Status status = AddTraceArrivals(trace, RulesOf(), workload_);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "t: more than 1000000 of its jobs arrive; set horizon or device_hours_max lower");
}

TEST_F(TraceArrivalsTest, GivenArrivalsLieBetweenThoseThatAreDrawn) {
  Add(TraceWith({JobOf(0, 1), JobOf(5, 1), JobOf(9, 1)}), RulesOf());
  workload_.jobs_at_start = 2;
  workload_.jobs_per_hour = 10;
  const std::vector<Arrival> arrivals = DrawArrivals(workload_, absl::Hours(6), 1);
  int given = 0;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    EXPECT_LE(arrivals[i].at, absl::Hours(6));
    EXPECT_GE(arrivals[i].at, arrivals[i > 0 ? i - 1 : 0].at);
    given += arrivals[i].tenant == "ann" ? 1 : 0;
  }
  EXPECT_EQ(given, 2) << "the third comes after the end";
  EXPECT_GT(arrivals.size(), 30U);
}

v1::Scenario ScenarioWithTrace() {
  v1::Scenario scenario;
  v1::TrainingScenario& training = *scenario.mutable_training();
  training.set_pipeline("4x4@gpipe");
  training.set_forward("20ms");
  training.set_memory_free("4GiB");
  for (const char* name : {"small", "large"}) {
    v1::JobClassScenario& job_class = *scenario.mutable_workload()->add_classes();
    job_class.set_name(name);
    job_class.set_unit("2ms");
    job_class.set_resident("1GiB");
  }
  scenario.mutable_workload()->mutable_trace()->set_format("swf");
  scenario.mutable_workload()->mutable_trace()->set_file("log.swf");
  return scenario;
}

absl::StatusOr<std::shared_ptr<const Trace>> ReadLog(const TraceSpec& spec) {
  auto trace = ReadTrace(spec, absl::UTCTimeZone(),
                         MemoryFiles({{"log.swf",
                                       "1 0 0 600 1 -1 -1 1 -1 -1 1 7 -1 -1 -1 -1 -1 -1\n"
                                       "2 0 0 9000 1 -1 -1 1 -1 -1 1 7 -1 -1 -1 -1 -1 -1\n"}}));
  if (!trace.ok()) return trace.status();
  return std::make_shared<const Trace>(*std::move(trace));
}

TEST(TraceScenarioTest, FieldsBecomeRules) {
  v1::Scenario scenario = ScenarioWithTrace();
  v1::TraceScenario& trace = *scenario.mutable_workload()->mutable_trace();
  v1::TraceSizeScenario& small = *trace.add_sizes();
  small.set_device_hours_max(1);
  small.add_classes("small");
  trace.add_sizes()->add_classes("large");
  const auto run = RunOf(scenario, ReadLog);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->workload.given.size(), 2U);
  EXPECT_EQ(run->workload.given[0].job_class, 0U);
  EXPECT_EQ(run->workload.given[1].job_class, 1U);
  EXPECT_EQ(run->workload.given[1].tenant, "7");
}

TEST(TraceScenarioTest, BadFieldsAreNamedInOneLine) {
  const auto message = [](const std::string& field, const v1::Scenario& changed) {
    const auto run = RunOf(changed, ReadLog);
    EXPECT_EQ(run.status().code(), absl::StatusCode::kInvalidArgument) << field;
    EXPECT_EQ(run.status().message().find('\n'), absl::string_view::npos);
    return std::string(run.status().message());
  };
  v1::Scenario scenario = ScenarioWithTrace();
  v1::TraceScenario& trace = *scenario.mutable_workload()->mutable_trace();
  trace.set_format("pai");
  EXPECT_EQ(message("format", scenario).substr(0, 30), "workload.trace: format: \"pai\" ");
  trace.set_format("swf");
  trace.set_speed_up(-2);
  EXPECT_EQ(message("speed_up", scenario),
            "workload.trace: speed_up: must be 0 (the default) to 1e9");
  trace.set_speed_up(1);
  trace.set_begin("soon");
  EXPECT_EQ(message("begin", scenario).substr(0, 22), "workload.trace: begin:");
  trace.clear_begin();
  trace.add_sizes()->add_classes("huge");
  EXPECT_EQ(message("sizes", scenario), "workload.trace: sizes[0]: there is no job class \"huge\"");
  trace.mutable_sizes(0)->clear_classes();
  EXPECT_EQ(message("sizes", scenario), "workload.trace: sizes[0]: classes: name one at least");
}

TEST(TraceScenarioTest, NothingIsReadWhereNothingReads) {
  EXPECT_EQ(RunOf(ScenarioWithTrace()).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace pipefill::simulator
