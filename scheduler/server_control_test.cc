// What users want of jobs, over gRPC: verbs for many at once, filters, history, restarts.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/server.h"
#include "scheduler/testing/scripted_agent.h"
#include "scheduler/testing/server_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ServerControlTest : public ServerFixture {
 protected:
  ServerControlTest() { Start(); }

  int64_t Submit(const std::string& team, const std::string& tenant = "default") {
    v1::SubmitJobRequest request;
    request.mutable_spec()->add_command("/bin/true");
    request.mutable_spec()->set_tenant(tenant);
    (*request.mutable_spec()->mutable_labels())["team"] = team;
    v1::SubmitJobResponse response;
    const grpc::Status status = Call(&Stub::SubmitJob, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job_id();
  }

  v1::ControlJobsResponse Control(const v1::ControlJobsRequest& request) {
    v1::ControlJobsResponse response;
    const grpc::Status status = Call(&Stub::ControlJobs, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  static v1::ControlJobsRequest ByTeam(v1::JobVerb verb, const std::string& team) {
    v1::ControlJobsRequest request;
    request.set_verb(verb);
    request.mutable_filter()->set_selector("team=" + team);
    return request;
  }

  std::vector<int64_t> List(const v1::ListJobsRequest& request) {
    v1::ListJobsResponse response;
    EXPECT_TRUE(Call(&Stub::ListJobs, request, &response).ok());
    std::vector<int64_t> ids;
    for (const v1::Job& job : response.jobs()) ids.push_back(job.id());
    return ids;
  }
};

std::vector<int64_t> IdsOf(const v1::ControlJobsResponse& response) {
  std::vector<int64_t> ids;
  for (const v1::JobOutcome& outcome : response.outcomes()) ids.push_back(outcome.job_id());
  return ids;
}

TEST_F(ServerControlTest, SelectorPicksTheJobsThatAreHeldAndTheyStayHeldOverARestart) {
  Submit("a");
  Submit("b");
  Submit("a");
  v1::ControlJobsRequest hold = ByTeam(v1::JOB_VERB_HOLD, "a");
  hold.set_reason("too early");
  EXPECT_THAT(IdsOf(Control(hold)), ElementsAre(1, 3));

  Start();
  EXPECT_TRUE(Get(1).held());
  EXPECT_FALSE(Get(2).held());
  EXPECT_EQ(Get(3).pending_reason(), v1::PENDING_REASON_HELD);
  EXPECT_EQ(Get(3).pending_text(), "held by a user: too early; `pipefill release 3` lets it start");
  v1::GetStatusResponse status;
  ASSERT_TRUE(Call(&Stub::GetStatus, v1::GetStatusRequest(), &status).ok());
  EXPECT_EQ(status.jobs_pending(), 3);
  EXPECT_EQ(status.jobs_held(), 2);
}

TEST_F(ServerControlTest, DryRunSaysWhatWouldBeAndChangesNothing) {
  Submit("a");
  v1::ControlJobsRequest cancel = ByTeam(v1::JOB_VERB_CANCEL, "a");
  cancel.set_dry_run(true);
  const v1::ControlJobsResponse response = Control(cancel);
  ASSERT_EQ(response.outcomes_size(), 1);
  EXPECT_EQ(response.outcomes(0).outcome(), v1::JOB_OUTCOME_DONE);
  EXPECT_EQ(response.outcomes(0).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(Get(1).state(), v1::JOB_STATE_PENDING);
}

TEST_F(ServerControlTest, EachJobHasItsOwnOutcome) {
  Submit("a");
  Submit("a");
  v1::ControlJobsRequest cancel;
  cancel.set_verb(v1::JOB_VERB_CANCEL);
  for (const int64_t id : {1, 7, 2}) cancel.add_job_ids(id);
  const v1::ControlJobsResponse response = Control(cancel);
  ASSERT_THAT(IdsOf(response), ElementsAre(1, 7, 2));
  EXPECT_EQ(response.outcomes(0).outcome(), v1::JOB_OUTCOME_DONE);
  EXPECT_EQ(response.outcomes(1).outcome(), v1::JOB_OUTCOME_REFUSED);
  EXPECT_EQ(response.outcomes(1).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(response.outcomes(1).state(), v1::JOB_STATE_UNSPECIFIED);
  EXPECT_EQ(Get(2).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(Control(cancel).outcomes(0).outcome(), v1::JOB_OUTCOME_UNCHANGED);
}

TEST_F(ServerControlTest, FilterLooksAtJobsThatAreNotOver) {
  Submit("a");
  Submit("a");
  v1::ControlJobsRequest cancel;
  cancel.set_verb(v1::JOB_VERB_CANCEL);
  cancel.add_job_ids(1);
  Control(cancel);
  EXPECT_THAT(IdsOf(Control(ByTeam(v1::JOB_VERB_CANCEL, "a"))), ElementsAre(2));
  v1::ControlJobsRequest bad = ByTeam(v1::JOB_VERB_CANCEL, "a b");
  v1::ControlJobsResponse ignored;
  const grpc::Status status = Call(&Stub::ControlJobs, bad, &ignored);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("selector: "));
}

TEST_F(ServerControlTest, RequeueStopsTheTaskAndTheHistoryTellsOfIt) {
  ScriptedAgent agent(server_->address(), {});
  Submit("a");
  const auto launch = agent.NextCommand();
  ASSERT_TRUE(launch.has_value() && launch->has_launch());
  agent.SendStarted(launch->launch().key());
  ASSERT_TRUE(agent.Settle());
  v1::ControlJobsRequest requeue = ByTeam(v1::JOB_VERB_REQUEUE, "a");
  requeue.set_reason("new data");
  EXPECT_EQ(Control(requeue).outcomes(0).text(),
            "is being requeued: attempt 1 on a/cpu0 is being stopped");

  const auto stop = agent.NextCommand();
  ASSERT_TRUE(stop.has_value() && stop->has_stop());
  EXPECT_EQ(stop->stop().cause(), v1::END_CAUSE_LOST);
  const v1::Job job = Get(1);
  ASSERT_EQ(job.history_size(), 4);
  EXPECT_EQ(job.history(2).kind(), v1::JOB_STEP_STARTED);
  EXPECT_EQ(job.history(2).actor(), v1::JOB_ACTOR_AGENT);
  EXPECT_EQ(job.history(2).node(), "a");
  EXPECT_EQ(job.history(3).kind(), v1::JOB_STEP_REQUEUE_REQUESTED);
  EXPECT_EQ(job.history(3).attempt(), 1);
  EXPECT_EQ(job.history(3).text(), "new data");
}

TEST_F(ServerControlTest, ListTakesByLabelsTenantAndState) {
  Submit("a");
  Submit("a", "vision");
  Submit("b", "vision");
  Control(ByTeam(v1::JOB_VERB_CANCEL, "b"));
  v1::ListJobsRequest request;
  request.set_selector("team=a");
  EXPECT_THAT(List(request), ElementsAre(2, 1));
  request.set_tenant("vision");
  EXPECT_THAT(List(request), ElementsAre(2));
  request.clear_selector();
  request.add_states(v1::JOB_STATE_CANCELLED);
  EXPECT_THAT(List(request), ElementsAre(3));
}

}  // namespace
}  // namespace pipefill::scheduler
