// Arrays and dependencies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/core/cluster_state.h"
#include "scheduler/core/explain.h"
#include "scheduler/core/reconcile.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ClusterLimits SmallWindow() {
  ClusterLimits limits;
  limits.array_window = 2;
  limits.array_history_max = 2;
  return limits;
}

class ClusterStateTiesTest : public testing::Test {
 protected:
  ClusterStateTiesTest() {
    EXPECT_TRUE(Admit(HelloFrom("a", 1, {FilledDevice("a", "cpu0", /*seats=*/8)})).ok());
  }

  absl::Status Admit(const Event& event) {
    const absl::Status status = state_.Check(event, AtSecond(0));
    if (status.ok()) state_.Apply(event, TimeAt(0));
    return status;
  }

  JobId Submit(JobSpec spec) {
    const JobId id = state_.next_job_id();
    const absl::Status status = Admit(JobSubmitted{id, "", std::move(spec)});
    EXPECT_TRUE(status.ok()) << status;
    return id;
  }

  JobId SubmitArray(int32_t tasks, int32_t throttle = 0, std::vector<Dependency> after = {}) {
    JobSpec spec = SpecThatNeeds(kMiB);
    spec.array = ArraySpec{.ranges = {{0, tasks - 1, 1}}, .throttle = throttle};
    spec.dependencies = std::move(after);
    return Submit(std::move(spec));
  }

  JobId SubmitAfter(std::vector<Dependency> after) {
    JobSpec spec = SpecThatNeeds(kMiB);
    spec.dependencies = std::move(after);
    return Submit(std::move(spec));
  }

  // As many as are due; returns how many there were.
  int64_t AdmitDue() {
    int64_t count = 0;
    for (const ArrayAdmitted& admitted : state_.DueTasks(1'000)) {
      const absl::Status status = Admit(admitted);
      EXPECT_TRUE(status.ok()) << status;
      count += admitted.end - admitted.first;
    }
    return count;
  }

  void Place(JobId job) {
    const absl::Status status = Admit(AttemptPlaced{state_.NextAttempt(job), {"a", "cpu0"}});
    EXPECT_TRUE(status.ok()) << status;
  }

  void End(JobId job, int32_t exit_code = 0) {
    EXPECT_TRUE(Admit(ExitOf(Get(job).live_key(), exit_code)).ok());
  }

  void Run(JobId job, int32_t exit_code = 0) {
    Place(job);
    End(job, exit_code);
  }

  const Job& Get(JobId id) {
    EXPECT_TRUE(state_.FindJob(id).ok()) << id.value();
    return **state_.FindJob(id);
  }
  std::vector<int64_t> InLine() {
    std::vector<int64_t> ids;
    for (const PendingJob& job : state_.Snapshot(TimeAt(0)).pending) ids.push_back(job.id.value());
    return ids;
  }

  ClusterState state_{SmallWindow()};
};

// --- Arrays ---

TEST_F(ClusterStateTiesTest, ArrayIsOneJobUntilTasksAreDue) {
  const JobId array = SubmitArray(100'000);
  EXPECT_EQ(state_.jobs().size(), 1);
  EXPECT_EQ(state_.next_job_id(), JobId(100'002)) << "ids of its tasks are set aside";
  EXPECT_EQ(state_.counts().arrays, 1);
  EXPECT_EQ(state_.counts().pending, 0);
  EXPECT_THAT(InLine(), IsEmpty());

  EXPECT_EQ(AdmitDue(), 2);
  EXPECT_EQ(AdmitDue(), 0) << "the window is full";
  EXPECT_THAT(InLine(), ElementsAre(2, 3));
  EXPECT_EQ(Get(JobId(3)).array_of, array);
  EXPECT_EQ(Get(JobId(3)).array_index, 1);
  EXPECT_EQ(Get(JobId(3)).spec, Get(array).spec) << "not a copy";
}

TEST_F(ClusterStateTiesTest, PlacedTaskMakesRoomForAnother) {
  SubmitArray(10);
  AdmitDue();
  Place(JobId(2));
  EXPECT_EQ(AdmitDue(), 1);
  EXPECT_THAT(InLine(), ElementsAre(3, 4));
}

TEST_F(ClusterStateTiesTest, ThrottleCountsTasksUntilTheyEnd) {
  SubmitArray(10, /*throttle=*/1);
  EXPECT_EQ(AdmitDue(), 1);
  Place(JobId(2));
  EXPECT_EQ(AdmitDue(), 0);
  End(JobId(2));
  EXPECT_EQ(AdmitDue(), 1);
}

TEST_F(ClusterStateTiesTest, ArraySucceedsWithItsLastTask) {
  const JobId array = SubmitArray(3);
  for (int64_t task = 2; task <= 4; ++task) {
    EXPECT_EQ(Get(array).phase, JobPhase::kPending);
    AdmitDue();
    Run(JobId(task));
  }
  EXPECT_EQ(Get(array).phase, JobPhase::kSucceeded);
  EXPECT_EQ(ExplainJobEnd(Get(array)), "all 3 tasks succeeded");
  EXPECT_EQ(state_.counts().arrays, 0);
}

TEST_F(ClusterStateTiesTest, ArrayFailsAfterItsLastTaskAndNamesTheFailedOnes) {
  const JobId array = SubmitArray(3);
  AdmitDue();
  Run(JobId(2), /*exit_code=*/1);
  EXPECT_EQ(Get(array).phase, JobPhase::kPending) << "the others go on";
  AdmitDue();
  Run(JobId(3));
  Run(JobId(4));
  EXPECT_EQ(Get(array).phase, JobPhase::kFailed);
  EXPECT_EQ(ExplainJobEnd(Get(array)), "1 of 3 tasks failed: index 0");
}

TEST_F(ClusterStateTiesTest, TaskIsTriedAgainAsAnyJob) {
  JobSpec spec = SpecThatNeeds(kMiB, /*retries=*/1);
  spec.array = ArraySpec{.ranges = {{7, 7, 1}}};
  const JobId array = Submit(spec);
  AdmitDue();
  Run(JobId(2), /*exit_code=*/1);
  EXPECT_EQ(Get(JobId(2)).phase, JobPhase::kPending);
  EXPECT_EQ(Get(array).tasks->waiting(), 1);
  Run(JobId(2));
  EXPECT_EQ(Get(array).phase, JobPhase::kSucceeded);
}

TEST_F(ClusterStateTiesTest, CancelOfAnArrayStopsWhatRunsAndAdmitsNoMore) {
  const JobId array = SubmitArray(10);
  AdmitDue();
  Place(JobId(2));
  ASSERT_TRUE(Admit(CancelRequested{array}).ok());
  EXPECT_EQ(AdmitDue(), 0);
  EXPECT_EQ(Get(JobId(2)).phase, JobPhase::kStopping);
  EXPECT_EQ(Get(JobId(3)).phase, JobPhase::kCancelled);
  EXPECT_EQ(Get(array).phase, JobPhase::kPending) << "a task is being stopped";
  const std::vector<Action> actions = ActionsForStop(state_, array);
  ASSERT_EQ(actions.size(), 1U);
  EXPECT_EQ(std::get<StopAttempt>(actions[0]).attempt.job, JobId(2));

  ASSERT_TRUE(Admit(EndOf(Get(JobId(2)).live_key(), EndCause::kCancelled)).ok());
  EXPECT_EQ(Get(array).phase, JobPhase::kCancelled);
  EXPECT_EQ(ExplainJobEnd(Get(array)), "10 of 10 tasks were cancelled");
}

TEST_F(ClusterStateTiesTest, TaskThatIsNoJobYetCanBeCancelled) {
  const JobId array = SubmitArray(4);
  ASSERT_TRUE(Admit(CancelRequested{JobId(4)}).ok());
  EXPECT_EQ(Admit(CancelRequested{JobId(4)}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(state_.TakeEnded(), ElementsAre(JobId(4)));
  for (int i = 0; i < 3; ++i) {
    AdmitDue();
    Run(JobId(std::vector<int64_t>{2, 3, 5}[static_cast<size_t>(i)]));
  }
  EXPECT_FALSE(state_.FindJob(JobId(4)).ok()) << "it never was";
  EXPECT_EQ(Get(array).phase, JobPhase::kCancelled);
  EXPECT_EQ(ExplainJobEnd(Get(array)), "1 of 4 tasks was cancelled");
}

TEST_F(ClusterStateTiesTest, ArrayIsNeverPlacedNorAreTasksAdmittedTwice) {
  const JobId array = SubmitArray(4);
  EXPECT_EQ(Admit(AttemptPlaced{state_.NextAttempt(array), {"a", "cpu0"}}).code(),
            absl::StatusCode::kAborted);
  AdmitDue();
  EXPECT_EQ(Admit(ArrayAdmitted{array, 0, 2}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Admit(ArrayAdmitted{array, 2, 5}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Admit(ArrayAdmitted{array, 2, 2}).code(), absl::StatusCode::kAborted);
}

TEST_F(ClusterStateTiesTest, SucceededTasksLeaveFirstAndTheArrayTakesTheRest) {
  const JobId array = SubmitArray(5);
  for (int64_t task = 2; task <= 6; ++task) {
    AdmitDue();
    Run(JobId(task), /*exit_code=*/task == 3 ? 1 : 0);
  }
  EXPECT_THAT(state_.ExpiredJobs(TimeAt(1).wall, 100), ElementsAre(JobId(2), JobId(4), JobId(5)));
  ASSERT_TRUE(Admit(HistoryDropped{state_.ExpiredJobs(TimeAt(1).wall, 100)}).ok());
  EXPECT_THAT(state_.ExpiredJobs(TimeAt(1).wall, 100), IsEmpty());
  EXPECT_EQ(Get(array).tasks->succeeded(), 4) << "the result stays";

  ASSERT_TRUE(Admit(HistoryDropped{{array}}).ok());
  EXPECT_EQ(state_.jobs().size(), 0);
  EXPECT_THAT(state_.ExpiredJobs(absl::InfiniteFuture(), 100), IsEmpty());
}

TEST_F(ClusterStateTiesTest, FullStoreAdmitsNoTasks) {
  ClusterLimits limits;
  limits.jobs_max = 3;
  ClusterState small(limits);
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.array = ArraySpec{.ranges = {{0, 9, 1}}};
  small.Apply(JobSubmitted{JobId(1), "", spec}, TimeAt(0));
  const std::vector<ArrayAdmitted> due = small.DueTasks(100);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_EQ(due[0].end, 2);
  small.Apply(due[0], TimeAt(0));
  EXPECT_THAT(small.DueTasks(100), IsEmpty());
}

// --- Dependencies ---

TEST_F(ClusterStateTiesTest, JobStandsInLineOnceThatOneHasSucceeded) {
  const JobId first = Submit(SpecThatNeeds(kMiB));
  const JobId second = SubmitAfter({{first, DependencyCondition::kOk}});
  EXPECT_THAT(InLine(), ElementsAre(1));
  const absl::Status early = Admit(AttemptPlaced{state_.NextAttempt(second), {"a", "cpu0"}});
  EXPECT_EQ(early.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(early.message()), HasSubstr("waits for job 1 (pending)"));
  Run(first);
  EXPECT_THAT(InLine(), ElementsAre(2));
}

TEST_F(ClusterStateTiesTest, EveryConditionIsDecidedByTheEnd) {
  struct Case {
    DependencyCondition condition;
    int32_t exit_code;
    JobPhase phase;
  };
  for (const Case& c : {Case{DependencyCondition::kOk, 0, JobPhase::kPending},
                        Case{DependencyCondition::kOk, 1, JobPhase::kCancelled},
                        Case{DependencyCondition::kAny, 0, JobPhase::kPending},
                        Case{DependencyCondition::kAny, 1, JobPhase::kPending},
                        Case{DependencyCondition::kNotOk, 0, JobPhase::kCancelled},
                        Case{DependencyCondition::kNotOk, 1, JobPhase::kPending}}) {
    const JobId first = Submit(SpecThatNeeds(kMiB));
    const JobId before = SubmitAfter({{first, c.condition}});
    Run(first, c.exit_code);
    const JobId after = SubmitAfter({{first, c.condition}});
    EXPECT_EQ(Get(before).phase, c.phase) << ConditionName(c.condition) << " " << c.exit_code;
    EXPECT_EQ(Get(after).phase, c.phase) << "submitted when it was over";
  }
}

TEST_F(ClusterStateTiesTest, EndNamesTheDependency) {
  const JobId first = Submit(SpecThatNeeds(kMiB));
  const JobId second = SubmitAfter({{first, DependencyCondition::kOk}});
  Run(first, /*exit_code=*/1);
  EXPECT_EQ(ExplainJobEnd(Get(second)), "cancelled: job 1, which had to succeed, failed");
}

TEST_F(ClusterStateTiesTest, AllOfSeveralMustHold) {
  const JobId a = Submit(SpecThatNeeds(kMiB));
  const JobId b = Submit(SpecThatNeeds(kMiB));
  const JobId after = SubmitAfter({{a, DependencyCondition::kOk}, {b, DependencyCondition::kAny}});
  Run(a);
  EXPECT_THAT(InLine(), ElementsAre(2));
  ASSERT_TRUE(Admit(CancelRequested{b}).ok());
  EXPECT_THAT(InLine(), ElementsAre(after.value()));
}

TEST_F(ClusterStateTiesTest, LongChainEndsWithItsFirstLink) {
  constexpr int kLinks = 10'000;
  JobId last = Submit(SpecThatNeeds(kMiB));
  const JobId first = last;
  for (int i = 0; i < kLinks; ++i) last = SubmitAfter({{last, DependencyCondition::kOk}});
  ASSERT_TRUE(Admit(CancelRequested{first}).ok());
  EXPECT_EQ(Get(last).phase, JobPhase::kCancelled);
  EXPECT_EQ(state_.TakeEnded().size(), static_cast<size_t>(kLinks) + 1);
  EXPECT_EQ(state_.counts().pending, 0);
}

TEST_F(ClusterStateTiesTest, UnknownAndDroppedJobsAreRefused) {
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.dependencies = {{JobId(9), DependencyCondition::kAny}};
  const absl::Status unknown = Admit(JobSubmitted{JobId(1), "", spec});
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("job 9 not found"));
  EXPECT_FALSE(state_.CheckSpec(spec).ok()) << "nor as one of many";

  const JobId dropped = Submit(SpecThatNeeds(kMiB));
  ASSERT_TRUE(Admit(CancelRequested{dropped}).ok());
  ASSERT_TRUE(Admit(HistoryDropped{{dropped}}).ok());
  spec.dependencies = {{dropped, DependencyCondition::kAny}};
  const absl::Status gone = Admit(JobSubmitted{state_.next_job_id(), "", spec});
  EXPECT_THAT(std::string(gone.message()), HasSubstr("leave it out"));

  spec.dependencies = {{state_.next_job_id(), DependencyCondition::kAny}};
  EXPECT_FALSE(Admit(JobSubmitted{state_.next_job_id(), "", spec}).ok()) << "nor itself";
}

TEST_F(ClusterStateTiesTest, JobMayDependOnAnArrayAndAnArrayOnAJob) {
  const JobId first = Submit(SpecThatNeeds(kMiB));
  const JobId array = SubmitArray(2, /*throttle=*/0, {{first, DependencyCondition::kOk}});
  const JobId after = SubmitAfter({{array, DependencyCondition::kOk}});
  EXPECT_EQ(AdmitDue(), 0);
  Run(first);
  EXPECT_EQ(AdmitDue(), 2);
  Run(TaskIdOf(array, 0));
  Run(TaskIdOf(array, 1));
  EXPECT_THAT(InLine(), ElementsAre(after.value()));
}

TEST_F(ClusterStateTiesTest, ArrayEndsWithWhatItDependsOn) {
  const JobId first = Submit(SpecThatNeeds(kMiB));
  const JobId array = SubmitArray(5, /*throttle=*/0, {{first, DependencyCondition::kOk}});
  const JobId after = SubmitAfter({{array, DependencyCondition::kNotOk}});
  ASSERT_TRUE(Admit(CancelRequested{first}).ok());
  EXPECT_EQ(Get(array).phase, JobPhase::kCancelled);
  EXPECT_EQ(ExplainJobEnd(Get(array)), "cancelled: job 1, which had to succeed, was cancelled");
  EXPECT_THAT(InLine(), ElementsAre(after.value()));
}

TEST_F(ClusterStateTiesTest, TaskWithoutARecordIsNotDependedUpon) {
  const JobId array = SubmitArray(5);
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.dependencies = {{TaskIdOf(array, 3), DependencyCondition::kAny}};
  const absl::Status refused = Admit(JobSubmitted{state_.next_job_id(), "", spec});
  EXPECT_EQ(refused.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the whole array, 1"));
}

}  // namespace
}  // namespace pipefill::scheduler
