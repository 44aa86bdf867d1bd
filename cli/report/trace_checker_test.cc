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

TEST_F(TraceCheckerTest, CatchesUnitsOfTwoTasksThatOverlap) {
  const int other = builder.AddTask(2, "cpu0", 90);
  builder.AddUnit(other, rank, 123, 125);
  ExpectOnly(Rule::kOneTurn);
  EXPECT_EQ(Check().violations[0].text,
            "one_turn: job 2 attempt 1 on cpu0: unit 1 at 123.000 ms: starts 1.000 ms before the "
            "end of unit 2 of job 1 attempt 1");
}

TEST_F(TraceCheckerTest, AllowsTasksThatTakeTurns) {
  const int other = builder.AddTask(2, "cpu0", 90);
  builder.AddUnit(other, rank, 124, 125);
  builder.AddUnit(task, rank, 125 - 0.01, 126);  // two clocks
  ExpectClean();
  EXPECT_EQ(Check().of(Rule::kOneTurn).checked, 4);
}

TEST_F(TraceCheckerTest, AllowsTwoDevicesAtTheSameTime) {
  const int other = builder.AddTask(2, "cpu1", 90);
  builder.AddUnit(other, rank, 123, 125);
  ExpectClean();
}

TEST_F(TraceCheckerTest, CountsAUnitBesideOneThatOutlivedItsBubble) {
  FirstUnit().set_end_ns(TraceBuilder::Ns(121));  // frozen since 55 ms
  const int other = builder.AddTask(2, "cpu0", 90);
  builder.AddUnit(other, rank, 120.5, 122);
  ExpectClean();
  EXPECT_EQ(Check().units_of_two_tasks, 1);
}

TEST_F(TraceCheckerTest, AllowsAUnitInATailThatGoesOnAsTheNextHead) {
  builder.BeginIteration(rank, 3, 200);
  builder.BeginBubble(rank, 0, 280);
  builder.EndIteration(rank, 300);
  builder.AddUnit(task, rank, 282, 284);
  builder.BeginIteration(rank, 4, 301);
  builder.AddUnit(task, rank, 302, 303);  // its gate saw iteration 4
  builder.EndBubble(rank, 320);
  builder.EndIteration(rank, 400);
  ExpectClean();
}

TEST_F(TraceCheckerTest, CatchesAUnitThatNamesAnIterationBeforeItBegan) {
  builder.BeginIteration(rank, 3, 200);
  builder.BeginBubble(rank, 0, 280);
  builder.EndIteration(rank, 300);
  builder.AddUnit(task, rank, 282, 284).set_iteration(4);
  builder.BeginIteration(rank, 4, 301);
  builder.EndBubble(rank, 320);
  builder.EndIteration(rank, 400);
  ExpectOnly(Rule::kUnitInWindow);
}

TEST_F(TraceCheckerTest, AllowsUnitsWhileTheMainJobStandsStill) {
  builder.SetHoldOut({.block_iterations = 1, .one_in = 1});  // hold-outs do not apply
  builder.records().erase(builder.records().begin() + static_cast<std::ptrdiff_t>(second));
  builder.records().erase(builder.records().begin() + static_cast<std::ptrdiff_t>(first));
  builder.BeginFailure(rank, 5000);
  builder.AddFailureUnit(task, rank, 5010, 5020);
  builder.AddFailureUnit(task, rank, 5021, 5040);
  builder.BeginIteration(rank, 3, 5030);
  builder.EndFailure(rank, 5032);
  ExpectClean();
  EXPECT_EQ(Check().of(Rule::kFailureUnits).checked, 2);
}

TEST_F(TraceCheckerTest, CatchesAUnitAfterTheMainJobMovedAgain) {
  builder.BeginFailure(rank, 5000);
  builder.BeginIteration(rank, 3, 5030);
  builder.AddFailureUnit(task, rank, 5033, 5040);
  ExpectOnly(Rule::kFailureUnits);
  EXPECT_EQ(Check().violations[0].text,
            "failure_units: job 1 attempt 1 on cpu0: unit 3 at 5033.000 ms: starts 3.000 ms after "
            "the main job moved again");
}

TEST_F(TraceCheckerTest, CatchesAUnitBeforeTheMainJobStoodStill) {
  builder.BeginFailure(rank, 5000);
  builder.AddFailureUnit(task, rank, 4999, 5040);
  ExpectOnly(Rule::kFailureUnits);
}

TEST_F(TraceCheckerTest, CatchesAUnitOfAFailureThatNeverWas) {
  builder.AddFailureUnit(task, rank, 160, 161).set_bubble_begin_ns(TraceBuilder::Ns(155));
  ExpectOnly(Rule::kFailureUnits);
}

TEST_F(TraceCheckerTest, CatchesAUnitOfAFailureWhoseGateSawItMove) {
  builder.BeginFailure(rank, 5000);
  v1::Unit& unit = builder.AddFailureUnit(task, rank, 5010, 5020);
  unit.set_seq_after(unit.seq() + 1);
  ExpectOnly(Rule::kFailureUnits);
}

// Bubbles of 30 ms with two units of 1 ms each, the second of which overruns by `overrun_ms` in
// every `one_in`-th bubble.
class OverrunPromiseTest : public ::testing::Test {
 protected:
  OverrunPromiseTest() {
    rank = builder.AddRank("cpu0");
    task = builder.AddTask(1, "cpu0", 5);
  }

  void Run(int bubbles, double overrun_ms, int one_in) {
    for (int i = 0; i < bubbles; ++i, at_ms += 100) {
      builder.Iteration(rank, ++number, at_ms);
      builder.AddUnit(task, rank, at_ms + 21, at_ms + 22);
      const double late_ms = i % one_in == 0 ? overrun_ms : 0;
      v1::Unit& unit = builder.AddUnit(task, rank, at_ms + 49, at_ms + 50 + late_ms);
      unit.set_latest_start_ns(29'500'000);
    }
  }

  RuleResult Check() { return CheckTrace(builder.Read(), {}).of(Rule::kOverrunPromise); }

  TraceBuilder builder;
  int rank = 0;
  int task = 0;
  uint64_t number = 0;
  double at_ms = 10;
};

TEST_F(OverrunPromiseTest, HoldsWhereUnitsOverrunAsPromised) {
  Run(100, 0.7, 2);               // 0.35 ms a bubble; promised 0.2 * (1 + about 1.35)
  EXPECT_EQ(Check().checked, 2);  // the bubble id, and over all
  EXPECT_EQ(Check().violations, 0);
}

TEST_F(OverrunPromiseTest, IsBrokenByOverrunBeyondThePromise) {
  Run(100, 0.9, 1);  // 0.9 ms a bubble; promised 0.2 * (1 + 1.9)
  EXPECT_EQ(Check().violations, 2);
  EXPECT_EQ(CheckTrace(builder.Read(), {}).violations[0].text,
            "overrun_promise: head 0 of rank 0 on cpu0: 200 units in 100 bubbles overran by 90.000 "
            "ms; promised were 58.000 ms, and 3 standard errors are 0.000 ms");
}

TEST_F(OverrunPromiseTest, FollowsWhatTheControllerPromised) {
  builder.AddControl(rank, 1, 0.4);
  Run(100, 0.9, 1);  // promised 0.4 * 2.9
  EXPECT_EQ(Check().violations, 0);
  builder.AddControl(rank, at_ms - 5, 0.05);
  Run(100, 0.9, 1);  // and 0.05 * 2.9 from here on
  EXPECT_EQ(Check().violations, 2);
}

TEST_F(OverrunPromiseTest, AllowsWhatChanceExplains) {
  // Two late bubbles of a hundred, so long that the sum is above the promise, prove nothing.
  Run(100, 45, 50);
  EXPECT_EQ(Check().violations, 0);
}

TEST_F(OverrunPromiseTest, IsNotAppliedToAFewUnits) {
  Run(20, 0.9, 1);
  EXPECT_EQ(Check().checked, 0);
  EXPECT_EQ(Check().unchecked, 40);
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
  options.overrun_ratio = 1;  // latest starts of the model promise nothing
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
