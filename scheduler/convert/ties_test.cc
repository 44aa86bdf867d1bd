#include "scheduler/convert/ties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/convert/convert.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

// Array 1 with ten tasks, of which two become jobs at a time.
class AddTiesTest : public testing::Test {
 protected:
  AddTiesTest() : state_(Limits()) {
    JobSpec spec = SpecThatNeeds(kMiB);
    spec.array = ArraySpec{.ranges = {{0, 18, 2}}, .throttle = 5};
    state_.Apply(JobSubmitted{JobId(1), "", spec}, TimeAt(0));
  }

  static ClusterLimits Limits() {
    ClusterLimits limits;
    limits.array_window = 2;
    return limits;
  }

  void AdmitDue() {
    for (const ArrayAdmitted& due : state_.DueTasks(100)) state_.Apply(due, TimeAt(0));
  }

  v1::Job Get(int64_t id) {
    const Job& job = **state_.FindJob(JobId(id));
    Plan plan;
    plan.last_job = state_.jobs().last_id();
    v1::Job to = ToProto(job, plan, AtSecond(0));
    AddTies(job, state_.jobs(), plan, AtSecond(0), &to);
    return to;
  }

  v1::Job GetTask(int64_t place) {
    return ToProto(*FindTask(state_.jobs(), JobId(2 + place)), state_.jobs());
  }

  void Run(int64_t id, int32_t exit_code) {
    state_.Apply(AttemptPlaced{state_.NextAttempt(JobId(id)), {"a", "cpu0"}}, TimeAt(0));
    state_.Apply(ExitOf((*state_.FindJob(JobId(id)))->live_key(), exit_code), TimeAt(0));
  }

  ClusterState state_;
};

TEST_F(AddTiesTest, ArrayWaitsForWhatItsFirstTaskWaitsFor) {
  EXPECT_EQ(Get(1).pending_reason(), v1::PENDING_REASON_NOT_PLANNED_YET);
  AdmitDue();
  EXPECT_EQ(Get(1).state(), v1::JOB_STATE_PENDING);
  EXPECT_EQ(Get(1).pending_reason(), v1::PENDING_REASON_NO_AGENT);
  EXPECT_THAT(Get(1).pending_text(), HasSubstr("its first task: no agent"));
  EXPECT_EQ(Get(3).array_id(), 1);
  EXPECT_EQ(Get(3).array_index(), 2);
}

TEST_F(AddTiesTest, ArrayRunsFromItsFirstPlacementOn) {
  AdmitDue();
  Run(2, 1);
  EXPECT_EQ(Get(1).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(Get(1).pending_text(), "");
  EXPECT_EQ(Get(1).array().tasks(), 10);
  EXPECT_EQ(Get(1).array().failed(), 1);
  EXPECT_EQ(Get(1).array().waiting(), 1);
  EXPECT_EQ(Get(1).array().later(), 8);
}

TEST_F(AddTiesTest, TaskWithoutARecordSaysWhatComesBeforeIt) {
  AdmitDue();
  const v1::Job task = GetTask(6);
  EXPECT_EQ(task.id(), 8);
  EXPECT_EQ(task.array_index(), 12);
  EXPECT_EQ(task.pending_reason(), v1::PENDING_REASON_ARRAY_THROTTLE);
  EXPECT_EQ(task.pending_text(),
            "4 tasks of array 1 come before it; 0 run and 2 wait for a device, at most 5 at the "
            "same time");
}

TEST_F(AddTiesTest, TaskThatLeftTheHistoryKeepsItsState) {
  AdmitDue();
  Run(2, 1);
  state_.Apply(HistoryDropped{{JobId(2)}}, TimeAt(1));
  EXPECT_EQ(GetTask(0).state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(GetTask(0).end_text(), HasSubstr("left the history"));
}

TEST_F(AddTiesTest, DependentSaysForWhichJobItWaits) {
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.dependencies = {{JobId(1), DependencyCondition::kNotOk}};
  state_.Apply(JobSubmitted{JobId(12), "", spec}, TimeAt(0));
  EXPECT_EQ(Get(12).pending_reason(), v1::PENDING_REASON_DEPENDENCY);
  EXPECT_EQ(Get(12).pending_text(), "waits for job 1 (pending), which has to fail or be cancelled");
}

}  // namespace
}  // namespace pipefill::scheduler
