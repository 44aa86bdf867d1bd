#include "cli/report/trace_checker.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cli/report/synthetic_trace.h"
#include "cli/report/testing/trace_builder.h"
#include "cli/report/trace_reader.h"

namespace pipefill {
namespace {

// A sound run: one rank, iteration 1 at 0 ms and 2 at 100 ms, bubbles from 20 to 50 ms and 120 to
// 150; job 1 with a unit from 22 to 24 ms and one from 122 to 124.
class TraceCheckerTest : public ::testing::Test {
 protected:
  TraceCheckerTest() {
    rank = builder.AddRank("cpu0");
    task = builder.AddTask(1, "cpu0", 5);
    builder.Iteration(rank, 1, 0);
    first = builder.records().size();
    builder.AddUnit(task, rank, 22, 24);
    builder.Iteration(rank, 2, 100);
    second = builder.records().size();
    builder.AddUnit(task, rank, 122, 124);
    builder.AddSample(task, 130, 60);
  }

  v1::Unit& FirstUnit() { return *builder.records()[first].mutable_unit(); }
  v1::Unit& SecondUnit() { return *builder.records()[second].mutable_unit(); }

  CheckResult Check(const CheckOptions& options = {}) {
    return CheckTrace(builder.Read(), options);
  }

  // That rule is broken once, and no other.
  void ExpectOnly(Rule rule, const CheckOptions& options = {}) {
    const CheckResult result = Check(options);
    ASSERT_EQ(result.violation_count(), 1);
    ASSERT_EQ(result.violations.size(), 1u);
    EXPECT_EQ(result.violations[0].rule, rule) << result.violations[0].text;
    EXPECT_EQ(result.of(rule).violations, 1);
  }

  void ExpectClean(const CheckOptions& options = {}) {
    const CheckResult result = Check(options);
    EXPECT_EQ(result.violation_count(), 0)
        << (result.violations.empty() ? "" : result.violations[0].text);
  }

  TraceBuilder builder;
  int rank = 0;
  int task = 0;
  size_t first = 0;
  size_t second = 0;
};

TEST_F(TraceCheckerTest, PassesASoundRun) {
  builder.EndTask(task, 190);
  const CheckResult result = Check();
  EXPECT_EQ(result.violation_count(), 0);
  EXPECT_EQ(result.of(Rule::kUnitInWindow).checked, 2);
  EXPECT_EQ(result.of(Rule::kUnitBeforeEnd).checked, 2);
  EXPECT_EQ(result.of(Rule::kNoUnitInHoldOut).checked, 2);
  EXPECT_EQ(result.of(Rule::kUnitsInOrder).checked, 1);
  EXPECT_EQ(result.of(Rule::kMemoryBelowCap).checked, 1);
  EXPECT_EQ(result.of(Rule::kAttemptEndsOnce).checked, 1);
  EXPECT_EQ(result.of(Rule::kOneLiveAttempt).checked, 1);
}

TEST_F(TraceCheckerTest, CatchesAUnitLaterThanItsLatestStart) {
  SecondUnit().set_latest_start_ns(1'000'000);
  ExpectOnly(Rule::kUnitInWindow);
  EXPECT_EQ(
      Check().violations[0].text,
      "unit_in_window: job 1 attempt 1 on cpu0: unit 2 at 122.000 ms: starts 2.000 ms into its "
      "bubble, later than the latest start 1.000 ms");
}

TEST_F(TraceCheckerTest, CatchesAUnitThatMayNotStartAtAll) {
  SecondUnit().set_latest_start_ns(-1);
  ExpectOnly(Rule::kUnitInWindow);
}

TEST_F(TraceCheckerTest, CatchesAUnitBeforeItsBubble) {
  SecondUnit().set_start_ns(TraceBuilder::Ns(119));
  ExpectOnly(Rule::kUnitInWindow);
}

TEST_F(TraceCheckerTest, CatchesAUnitWhoseBubbleNeverWas) {
  SecondUnit().set_seq(99);
  SecondUnit().set_seq_after(99);
  ExpectOnly(Rule::kUnitInWindow);
}

TEST_F(TraceCheckerTest, CatchesAUnitThatSawNoOpenBubble) {
  SecondUnit().set_seq(4);
  SecondUnit().set_seq_after(4);
  ExpectOnly(Rule::kUnitInWindow);
}

TEST_F(TraceCheckerTest, CatchesAUnitThatNamesAnotherSlot) {
  SecondUnit().set_slot(7);
  ExpectOnly(Rule::kUnitInWindow);
}

TEST_F(TraceCheckerTest, CatchesAUnitThatNamesAnotherBegin) {
  SecondUnit().set_bubble_begin_ns(TraceBuilder::Ns(121));
  ExpectOnly(Rule::kUnitInWindow);
}

TEST_F(TraceCheckerTest, CatchesAUnitThatNamesAnotherIteration) {
  SecondUnit().set_iteration(1);
  ExpectOnly(Rule::kUnitInWindow);
}

TEST_F(TraceCheckerTest, CatchesAUnitWhoseGateSawTheBubbleEnd) {
  SecondUnit().set_seq_after(SecondUnit().seq() + 1);
  ExpectOnly(Rule::kUnitBeforeEnd);
}

TEST_F(TraceCheckerTest, CatchesAUnitAfterTheEndOfItsBubble) {
  SecondUnit().set_latest_start_ns(60'000'000);
  SecondUnit().set_start_ns(TraceBuilder::Ns(153));
  SecondUnit().set_end_ns(TraceBuilder::Ns(154));
  ExpectOnly(Rule::kUnitBeforeEnd);
}

TEST_F(TraceCheckerTest, CountsAUnitThatStartedWhileTheEndWasOnItsWay) {
  SecondUnit().set_latest_start_ns(60'000'000);
  SecondUnit().set_start_ns(TraceBuilder::Ns(151));
  SecondUnit().set_end_ns(TraceBuilder::Ns(154));
  ExpectClean();
  EXPECT_EQ(Check().units_within_slack, 1);
}

TEST_F(TraceCheckerTest, CatchesAUnitInAHoldOut) {
  // One of two iterations is held out; whichever it is, units ran in it.
  builder.SetHoldOut({.block_iterations = 1, .one_in = 2});
  const CheckResult result = Check();
  EXPECT_GE(result.of(Rule::kNoUnitInHoldOut).violations, 1);
  EXPECT_EQ(result.violation_count(), result.of(Rule::kNoUnitInHoldOut).violations);
}

TEST_F(TraceCheckerTest, CatchesUnitsThatOverlap) {
  FirstUnit().set_end_ns(TraceBuilder::Ns(123));
  ExpectOnly(Rule::kUnitsInOrder);
}

TEST_F(TraceCheckerTest, CatchesUnitsOutOfOrder) {
  std::swap(builder.records()[first], builder.records()[second]);
  ExpectOnly(Rule::kUnitsInOrder);
}

TEST_F(TraceCheckerTest, CatchesMemoryAboveTheCap) {
  builder.AddSample(task, 140, 101);
  ExpectOnly(Rule::kMemoryBelowCap);
}

TEST_F(TraceCheckerTest, AllowsTheSampleThatGotATaskKilled) {
  builder.AddSample(task, 140, 101);
  builder.EndTask(task, 150).set_cause(v1::END_CAUSE_OUT_OF_MEMORY);
  ExpectClean();
  EXPECT_EQ(Check().samples_enforced, 1);
}

TEST_F(TraceCheckerTest, CatchesMemoryAboveTheCapThatWasToleratedForLong) {
  builder.AddSample(task, 140, 101);
  builder.EndTask(task, 5000).set_cause(v1::END_CAUSE_OUT_OF_MEMORY);
  ExpectOnly(Rule::kMemoryBelowCap);
}

TEST_F(TraceCheckerTest, CatchesAnAttemptThatEndsTwice) {
  builder.EndTask(task, 160);
  builder.EndTask(task, 170);
  ExpectOnly(Rule::kAttemptEndsOnce);
}

TEST_F(TraceCheckerTest, SaysThatALiveAttemptIsNotChecked) {
  const CheckResult result = Check();
  EXPECT_EQ(result.violation_count(), 0);
  EXPECT_EQ(result.of(Rule::kAttemptEndsOnce).unchecked, 1);
  EXPECT_EQ(result.of(Rule::kAttemptEndsOnce).unchecked_reasons,
            std::vector<std::string>{"attempts that had not ended when the trace does: 1"});
}

TEST_F(TraceCheckerTest, CatchesTwoLiveAttemptsOfAJob) {
  builder.AddTask(1, "cpu1", 150);
  builder.records().back().mutable_task_attached()->mutable_attempt()->set_attempt(2);
  builder.EndTask(task, 160);
  ExpectOnly(Rule::kOneLiveAttempt);
}

TEST_F(TraceCheckerTest, AllowsASecondAttemptAfterTheFirst) {
  builder.EndTask(task, 160);
  builder.AddTask(1, "cpu1", 165);
  builder.records().back().mutable_task_attached()->mutable_attempt()->set_attempt(2);
  ExpectClean();
}

TEST_F(TraceCheckerTest, CatchesAFenceThatDoesNotGrow) {
  builder.EndTask(task, 160);
  builder.AddTask(1, "cpu1", 165);
  builder.records().back().mutable_task_attached()->mutable_attempt()->set_attempt(2);
  builder.records().back().mutable_task_attached()->mutable_attempt()->set_fence(1);
  ExpectOnly(Rule::kOneLiveAttempt);
}

TEST_F(TraceCheckerTest, CountsUnitsOfTwoTasksThatOverlap) {
  const int other = builder.AddTask(2, "cpu0", 90);
  builder.AddUnit(other, rank, 123, 125);
  ExpectClean();
  EXPECT_EQ(Check().units_of_two_tasks, 1);
}

TEST_F(TraceCheckerTest, DoesNotBlameAUnitWhoseBubbleMayHaveBeenDropped) {
  builder.DropEdges(rank, 4);
  SecondUnit().set_seq(99);
  SecondUnit().set_seq_after(99);
  ExpectClean();
  EXPECT_EQ(Check().of(Rule::kUnitInWindow).unchecked, 1);
}

TEST_F(TraceCheckerTest, DoesNotBlameAUnitFromBeforeTheTrace) {
  FirstUnit().set_seq(99);
  FirstUnit().set_seq_after(99);
  FirstUnit().set_start_ns(TraceBuilder::Ns(-10));
  FirstUnit().set_bubble_begin_ns(TraceBuilder::Ns(-11));
  ExpectClean();
}

TEST_F(TraceCheckerTest, SaysThatDroppedUnitsAreNotChecked) {
  v1::RecordsDropped& dropped = *builder.Add().mutable_dropped();
  dropped.set_task_key(task);
  dropped.set_count(12);
  EXPECT_EQ(Check().of(Rule::kUnitsInOrder).unchecked, 12);
}

TEST_F(TraceCheckerTest, KeepsAFewViolationsAndCountsAll) {
  for (int i = 0; i < 300; ++i) builder.AddSample(task, 140 + i, 101);
  const CheckResult result = Check();
  EXPECT_EQ(result.of(Rule::kMemoryBelowCap).violations, 300);
  EXPECT_EQ(result.violations.size(), kViolationsKept);
}

JobRecord Succeeded(int64_t id) {
  return {.id = id,
          .state = "succeeded",
          .is_terminal = true,
          .is_succeeded = true,
          .attempts = 1,
          .attempts_succeeded = 1,
          .last_succeeded = true};
}

CheckOptions WithJobs(std::vector<JobRecord> jobs) {
  CheckOptions options;
  options.jobs = std::move(jobs);
  return options;
}

TEST_F(TraceCheckerTest, PassesJobsThatEndedOnce) {
  const CheckOptions options = WithJobs({Succeeded(1), Succeeded(2)});
  ExpectClean(options);
  EXPECT_EQ(Check(options).of(Rule::kJobEndsOnce).checked, 2);
}

TEST_F(TraceCheckerTest, CatchesAJobThatTheSchedulerLost) {
  ExpectOnly(Rule::kJobEndsOnce, WithJobs({Succeeded(2)}));
}

TEST_F(TraceCheckerTest, CatchesAJobThatIsListedTwice) {
  ExpectOnly(Rule::kJobEndsOnce, WithJobs({Succeeded(1), Succeeded(1)}));
}

TEST_F(TraceCheckerTest, CatchesATerminalJobWithALiveAttempt) {
  JobRecord job = Succeeded(1);
  job.attempts_live = 1;
  ExpectOnly(Rule::kJobEndsOnce, WithJobs({job}));
}

TEST_F(TraceCheckerTest, CatchesAJobThatSucceededTwice) {
  JobRecord job = Succeeded(1);
  job.attempts_succeeded = 2;
  ExpectOnly(Rule::kJobEndsOnce, WithJobs({job}));
}

TEST_F(TraceCheckerTest, CatchesAFailedJobOneOfWhoseAttemptsSucceeded) {
  JobRecord job = Succeeded(1);
  job.is_succeeded = false;
  ExpectOnly(Rule::kJobEndsOnce, WithJobs({job}));
}

TEST_F(TraceCheckerTest, HoldsARunningJobAgainstNobodyUnlessAllMustHaveEnded) {
  JobRecord job;
  job.id = 1;
  job.state = "running";
  CheckOptions options = WithJobs({job});
  ExpectClean(options);
  EXPECT_EQ(Check(options).of(Rule::kJobEndsOnce).unchecked, 1);
  options.all_jobs_ended = true;
  ExpectOnly(Rule::kJobEndsOnce, options);
}

RC_GTEST_PROP(TraceCheckerPropertyTest, PassesEveryRunThatKeepsTheRules, (uint64_t seed)) {
  SyntheticOptions options;
  options.seed = seed;
  options.iterations = *rc::gen::inRange(1, 50);
  options.stages = *rc::gen::inRange(1, 5);
  options.micro_batches = *rc::gen::inRange(1, 7);
  options.is_one_forward_one_backward = *rc::gen::arbitrary<bool>();
  options.noise = *rc::gen::inRange(0, 60) / 100.0;
  options.fill_to = *rc::gen::inRange(50, 150) / 100.0;
  options.hold_out = {.block_iterations = *rc::gen::inRange<uint32_t>(1, 5),
                      .one_in = *rc::gen::inRange<uint32_t>(0, 9)};
  options.jobs.clear();
  const int jobs = *rc::gen::inRange(0, 6);
  for (int i = 0; i < jobs; ++i) {
    options.jobs.push_back({.id = i + 1,
                            .name = "job",
                            .device = *rc::gen::inRange(0, options.stages),
                            .unit_ns = *rc::gen::inRange<int64_t>(100'000, 9'000'000),
                            .units_max = *rc::gen::inRange(1, 400),
                            .launched_at = *rc::gen::inRange(0, 30),
                            .start_up_iterations = *rc::gen::inRange(0, 9)});
  }
  const Trace trace = ReadTraces({{"n1", SerializeTrace(SyntheticRecords(options))}});
  RC_ASSERT(trace.counts.malformed == 0);
  const CheckResult result = CheckTrace(trace, {});
  if (!result.violations.empty()) RC_LOG(result.violations[0].text);
  RC_ASSERT(result.violation_count() == 0);
  RC_ASSERT(result.of(Rule::kUnitInWindow).unchecked == 0);
}

}  // namespace
}  // namespace pipefill
