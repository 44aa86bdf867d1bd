// The whole server over gRPC, with a scripted agent on a real stream.
#include "scheduler/server.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "common/clock.h"
#include "common/owner_thread.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/testing/scripted_agent.h"
#include "scheduler/testing/server_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

TEST_F(ServerTest, JobGoesFromSubmissionThroughAgentToItsEnd) {
  ScriptedAgent agent(server_->address(), {});
  const int64_t id = Submit("/bin/true");

  const auto launch = agent.NextCommand();
  ASSERT_TRUE(launch.has_value() && launch->has_launch());
  EXPECT_EQ(launch->launch().device(), "cpu0");
  EXPECT_EQ(launch->launch().spec().command(0), "/bin/true");
  EXPECT_EQ(launch->launch().spec().memory_bytes(), int64_t{1} << 30);
  const v1::AttemptKey key = launch->launch().key();
  agent.SendStarted(key);
  ASSERT_TRUE(agent.Settle());
  EXPECT_EQ(Get(id).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(Get(id).attempts(0).state(), v1::ATTEMPT_STATE_RUNNING);

  agent.SendExited(key, 0);
  const auto acknowledged = agent.NextCommand();
  ASSERT_TRUE(acknowledged.has_value() && acknowledged->has_end_acknowledged());
  EXPECT_EQ(acknowledged->end_acknowledged().key().fence(), key.fence());
  EXPECT_EQ(Get(id).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Get(id).attempts(0).progress().units(), 12);
}

TEST_F(ServerTest, ArrayIsOneLineAndItsTasksAreListedByItsId) {
  ScriptedAgent agent(server_->address(), {});
  v1::SubmitJobRequest request = RequestFor("/bin/true");
  request.mutable_spec()->mutable_array()->set_throttle(1);
  v1::IndexRange* range = request.mutable_spec()->mutable_array()->add_ranges();
  range->set_first(5);
  range->set_last(7);
  v1::SubmitJobResponse submitted;
  ASSERT_TRUE(Call(&v1::SchedulerService::Stub::SubmitJob, request, &submitted).ok());
  const auto launch = agent.NextCommand();
  ASSERT_TRUE(launch.has_value() && launch->has_launch());
  EXPECT_EQ(launch->launch().spec().env().at("PIPEFILL_ARRAY_INDEX"), "5");
  agent.SendStarted(launch->launch().key());
  ASSERT_TRUE(agent.Settle());
  Restart();

  v1::ListJobsRequest list;
  v1::ListJobsResponse response;
  ASSERT_TRUE(Call(&v1::SchedulerService::Stub::ListJobs, list, &response).ok());
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(response.jobs(0).array().running(), 1);
  EXPECT_EQ(response.jobs(0).array().later(), 2);
  list.set_array_id(submitted.job_id());
  ASSERT_TRUE(Call(&v1::SchedulerService::Stub::ListJobs, list, &response).ok());
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).array_index(), 5);

  const v1::Job later = Get(submitted.job_id() + 3);
  EXPECT_EQ(later.array_index(), 7);
  EXPECT_EQ(later.pending_reason(), v1::PENDING_REASON_ARRAY_THROTTLE);
  v1::Job cancelled;
  ASSERT_TRUE(Cancel(later.id(), &cancelled).ok());
  EXPECT_EQ(cancelled.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(Get(submitted.job_id()).array().cancelled(), 1);
}

// --- Users ---

TEST_F(ServerTest, SameKeyGivesTheSameJob) {
  EXPECT_EQ(Submit("/bin/true", "k"), 1);
  v1::SubmitJobResponse response;
  ASSERT_TRUE(
      Call(&v1::SchedulerService::Stub::SubmitJob, RequestFor("/bin/true", "k"), &response).ok());
  EXPECT_EQ(response.job_id(), 1);
  EXPECT_TRUE(response.already_existed());
  const grpc::Status other =
      Call(&v1::SchedulerService::Stub::SubmitJob, RequestFor("/bin/false", "k"), &response);
  EXPECT_EQ(other.error_code(), grpc::StatusCode::ALREADY_EXISTS);
}

TEST_F(ServerTest, BadRequestsAreRefusedWithTheFieldOrTheLimit) {
  v1::SubmitJobResponse response;
  const grpc::Status bad =
      Call(&v1::SchedulerService::Stub::SubmitJob, v1::SubmitJobRequest(), &response);
  EXPECT_EQ(bad.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(bad.error_message(), "spec.command: is missing; name the program to run");

  ScriptedAgent agent(server_->address(), {});
  ASSERT_TRUE(agent.Settle());
  v1::SubmitJobRequest large = RequestFor("/bin/true");
  large.mutable_spec()->set_memory_bytes(int64_t{64} << 30);
  const grpc::Status refused = Call(&v1::SchedulerService::Stub::SubmitJob, large, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(),
            "memory 64 GiB is more than any device has: largest is 2 GiB (node a, cpu0); ask for "
            "less, or let it wait for a larger one with --allow-infeasible");
}

TEST_F(ServerTest, OversizedMessageIsRefusedAndTheServerStays) {
  v1::SubmitJobRequest huge = RequestFor("/bin/true");
  huge.mutable_spec()->add_command(std::string(5 << 20, 'x'));
  v1::SubmitJobResponse response;
  EXPECT_EQ(Call(&v1::SchedulerService::Stub::SubmitJob, huge, &response).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Submit("/bin/true"), 1);
}

TEST_F(ServerTest, PendingJobSaysWhy) {
  const int64_t id = Submit("/bin/true");
  // The plan follows the answer: whatever is asked next on the loop comes after it.
  v1::Job ignored;
  EXPECT_EQ(Cancel(99, &ignored).error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(Get(id).pending_reason(), v1::PENDING_REASON_NO_AGENT);
  EXPECT_THAT(Get(id).pending_text(), HasSubstr("1 of 1 in line"));
}

TEST_F(ServerTest, PlanOfAJobSaysWhereItWouldStartAndStartsNothing) {
  ScriptedAgent agent(server_->address(), {});
  ASSERT_TRUE(agent.Settle());
  v1::PlanJobRequest request;
  request.mutable_spec()->add_command("/bin/true");
  v1::PlanJobResponse plan;
  const grpc::Status status = Call(&v1::SchedulerService::Stub::PlanJob, request, &plan);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(plan.node(), "a");
  EXPECT_EQ(plan.device(), "cpu0");
  EXPECT_EQ(plan.job().pending_reason(), v1::PENDING_REASON_UNSPECIFIED);
  EXPECT_EQ(plan.job().pending().place(), 1);
  ASSERT_EQ(plan.candidates_size(), 1);
  EXPECT_EQ(plan.candidates(0).devices_free(), 1);
  EXPECT_THAT(plan.candidates(0).forecast().text(), HasSubstr("no profile"));

  // Ids are given in order, so the next job is the first one.
  EXPECT_EQ(Submit("/bin/true"), 1);
  StartNext(agent);
  ASSERT_TRUE(Call(&v1::SchedulerService::Stub::PlanJob, request, &plan).ok());
  EXPECT_EQ(plan.node(), "");
  EXPECT_EQ(plan.job().pending_reason(), v1::PENDING_REASON_RESIDENT_LIMIT);
  EXPECT_EQ(plan.candidates(0).neighbours(0).job_id(), 1);
  EXPECT_THAT(plan.candidates(0).text(), HasSubstr("1 of 1 seats"));

  request.mutable_spec()->set_memory_bytes(int64_t{64} << 30);
  EXPECT_EQ(Call(&v1::SchedulerService::Stub::PlanJob, request, &plan).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServerTest, ListGoesPageByPageFromTheNewest) {
  for (int i = 0; i < 3; ++i) Submit("/bin/true");
  v1::ListJobsRequest request;
  request.set_limit(2);
  v1::ListJobsResponse response;
  ASSERT_TRUE(Call(&v1::SchedulerService::Stub::ListJobs, request, &response).ok());
  ASSERT_EQ(response.jobs_size(), 2);
  EXPECT_EQ(response.jobs(0).id(), 3);
  request.set_cursor(response.next_cursor());
  ASSERT_TRUE(Call(&v1::SchedulerService::Stub::ListJobs, request, &response).ok());
  ASSERT_EQ(response.jobs_size(), 1);
  EXPECT_EQ(response.jobs(0).id(), 1);
  EXPECT_EQ(response.next_cursor(), 0);
}

TEST_F(ServerTest, PageOfLargeJobsEndsBeforeTheMessageLimit) {
  v1::SubmitJobRequest large = RequestFor("/bin/true");
  large.mutable_spec()->add_command(std::string(60 << 10, 'x'));
  v1::SubmitJobResponse submitted;
  for (int i = 0; i < 80; ++i) {
    ASSERT_TRUE(Call(&v1::SchedulerService::Stub::SubmitJob, large, &submitted).ok());
  }
  v1::ListJobsRequest request;
  int jobs = 0;
  int pages = 0;
  do {
    v1::ListJobsResponse response;
    ASSERT_TRUE(Call(&v1::SchedulerService::Stub::ListJobs, request, &response).ok());
    jobs += response.jobs_size();
    ++pages;
    request.set_cursor(response.next_cursor());
  } while (request.cursor() != 0);
  EXPECT_EQ(jobs, 80);
  EXPECT_GT(pages, 1);
}

TEST_F(ServerTest, CancelledJobIsStoppedAndStaysCancelled) {
  ScriptedAgent agent(server_->address(), {});
  const int64_t id = Submit("/bin/true");
  const v1::AttemptKey key = StartNext(agent);

  v1::Job job;
  ASSERT_TRUE(Cancel(id, &job).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_RUNNING);
  EXPECT_TRUE(job.cancel_requested());
  const auto stop = agent.NextCommand();
  ASSERT_TRUE(stop.has_value() && stop->has_stop());
  EXPECT_EQ(stop->stop().cause(), v1::END_CAUSE_CANCELLED);
  v1::AgentMessage message;
  *message.mutable_attempt_ended()->mutable_key() = key;
  message.mutable_attempt_ended()->set_cause(v1::END_CAUSE_CANCELLED);
  agent.Send(message);
  ASSERT_TRUE(agent.Settle());

  EXPECT_EQ(Get(id).state(), v1::JOB_STATE_CANCELLED);
  ASSERT_TRUE(Cancel(id, &job).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(ServerTest, WaitAnswersWhenTheJobEnds) {
  ScriptedAgent agent(server_->address(), {});
  const int64_t id = Submit("/bin/true");
  const v1::AttemptKey key = StartNext(agent);
  v1::WaitJobRequest request;
  request.set_job_id(id);
  v1::Job job;
  grpc::Status status;
  {
    OwnerThread waiter("waiter",
                       [&] { status = Call(&v1::SchedulerService::Stub::WaitJob, request, &job); });
    agent.SendExited(key, 3);
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(job.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job.end_text(), "exit code 3");
}

TEST_F(ServerTest, WaitEndsAtItsDeadline) {
  v1::WaitJobRequest request;
  request.set_job_id(Submit("/bin/true"));
  grpc::ClientContext context;
  context.set_deadline(gpr_time_from_millis(50, GPR_TIMESPAN));
  v1::Job job;
  EXPECT_EQ(users_->WaitJob(&context, request, &job).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(ServerTest, ShutdownEndsCallsThatWait) {
  v1::WaitJobRequest request;
  request.set_job_id(Submit("/bin/true"));
  grpc::ClientContext context;
  SetTestDeadline(&context);
  v1::Job job;
  grpc::Status status;
  {
    OwnerThread waiter("waiter", [&] { status = users_->WaitJob(&context, request, &job); });
    server_->Shutdown();
  }
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
}

TEST_F(ServerTest, DevicesBubblesAndStatusAreThoseOfTheAgent) {
  ScriptedAgent agent(server_->address(), {});
  v1::AgentMessage message;
  *message.mutable_report()->add_devices() = FilledDevice("cpu0", int64_t{1} << 30);
  message.mutable_report()->add_bubbles()->set_main_job("gpt");
  agent.Send(message);
  ASSERT_TRUE(agent.Settle());

  v1::ListDevicesResponse devices;
  ASSERT_TRUE(
      Call(&v1::SchedulerService::Stub::ListDevices, v1::ListDevicesRequest(), &devices).ok());
  ASSERT_EQ(devices.devices_size(), 1);
  EXPECT_EQ(devices.devices(0).node(), "a");
  EXPECT_EQ(devices.devices(0).memory_bytes(), int64_t{1} << 30);
  v1::ListBubblesResponse bubbles;
  ASSERT_TRUE(
      Call(&v1::SchedulerService::Stub::ListBubbles, v1::ListBubblesRequest(), &bubbles).ok());
  EXPECT_EQ(bubbles.bubbles_size(), 1);
  v1::GetStatusResponse status;
  ASSERT_TRUE(Call(&v1::SchedulerService::Stub::GetStatus, v1::GetStatusRequest(), &status).ok());
  EXPECT_EQ(status.policy(), "fifo");
  ASSERT_EQ(status.nodes_size(), 1);
  EXPECT_EQ(status.nodes(0), "a");
}

TEST_F(ServerTest, SettingsOfAMainJobReachItsAgentAndSurviveARestart) {
  v1::UpdateMainJobRequest request;
  request.set_main_job("gpt");
  request.set_paused(true);
  request.set_budget_ppm(5'000);
  v1::MainJobSettings settings;
  EXPECT_EQ(Call(&v1::SchedulerService::Stub::UpdateMainJob, request, &settings).error_code(),
            grpc::StatusCode::NOT_FOUND);
  {
    ScriptedAgent agent(server_->address(), {});
    ASSERT_TRUE(agent.Settle());
    const grpc::Status status =
        Call(&v1::SchedulerService::Stub::UpdateMainJob, request, &settings);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(settings.budget_ppm(), 5'000U);
    const auto command = agent.NextCommand();
    ASSERT_TRUE(command.has_value() && command->has_main_job_settings());
    EXPECT_TRUE(command->main_job_settings().paused());
  }
  Restart();
  ScriptedAgent agent(server_->address(), {});
  const auto command = agent.NextCommand();
  ASSERT_TRUE(command.has_value() && command->has_main_job_settings());
  EXPECT_TRUE(command->main_job_settings().paused());
  v1::ListMainJobsResponse listed;
  ASSERT_TRUE(
      Call(&v1::SchedulerService::Stub::ListMainJobs, v1::ListMainJobsRequest(), &listed).ok());
  ASSERT_EQ(listed.main_jobs_size(), 1);
  EXPECT_EQ(listed.main_jobs(0).main_job(), "gpt");
  EXPECT_TRUE(listed.main_jobs(0).paused());
}

TEST_F(ServerTest, BadSettingsAreRefusedWithTheField) {
  v1::UpdateMainJobRequest request;
  request.set_main_job("gpt");
  v1::MainJobSettings settings;
  grpc::Status status = Call(&v1::SchedulerService::Stub::UpdateMainJob, request, &settings);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("nothing to change"));
}

TEST_F(ServerTest, HealthServiceServes) {
  grpc::GenericStub stub(
      grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  SetTestDeadline(&context);
  const grpc::ByteBuffer request(nullptr, 0);
  grpc::ByteBuffer response;
  grpc::Status status;
  absl::Notification done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &request, &response,
                 [&](grpc::Status result) {
                   status = std::move(result);
                   done.Notify();
                 });
  done.WaitForNotification();
  ASSERT_TRUE(status.ok()) << status.error_message();
  grpc::Slice slice;
  ASSERT_TRUE(response.DumpToSingleSlice(&slice).ok());
  // HealthCheckResponse with status SERVING.
  EXPECT_EQ(std::string(slice.begin(), slice.end()), "\x08\x01");
}

// --- Content ---

TEST_F(ServerTest, LogIsReadFromTheAgentOfTheLatestAttempt) {
  ScriptedAgent agent(server_->address(), {});
  const int64_t id = Submit("/bin/true");
  StartNext(agent);
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_STDOUT);
  request.set_job_id(id);
  v1::ReadContentResponse response;
  grpc::Status status;
  {
    OwnerThread reader("reader", [&] {
      status = Call(&v1::SchedulerService::Stub::ReadContent, request, &response);
    });
    const auto question = agent.NextCommand();
    ASSERT_TRUE(question.has_value() && question->has_content());
    EXPECT_EQ(question->content().request().attempt(), 1);
    v1::AgentMessage message;
    message.mutable_content_reply()->set_request_id(question->content().request_id());
    message.mutable_content_reply()->mutable_content()->set_data("hello");
    agent.Send(message);
  }
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(response.data(), "hello");
}

TEST_F(ServerTest, ErrorOfTheAgentReachesTheReader) {
  ScriptedAgent agent(server_->address(), {});
  ASSERT_TRUE(agent.Settle());
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_TRACE);
  request.set_node("a");
  v1::ReadContentResponse response;
  grpc::Status status;
  {
    OwnerThread reader("reader", [&] {
      status = Call(&v1::SchedulerService::Stub::ReadContent, request, &response);
    });
    const auto question = agent.NextCommand();
    ASSERT_TRUE(question.has_value() && question->has_content());
    v1::AgentMessage message;
    message.mutable_content_reply()->set_request_id(question->content().request_id());
    message.mutable_content_reply()->set_error_code(grpc::StatusCode::NOT_FOUND);
    message.mutable_content_reply()->set_error_text("no trace is kept");
    agent.Send(message);
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no trace is kept");
}

TEST_F(ServerTest, ReaderIsToldWhenTheAgentGoesOrIsAway) {
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_TRACE);
  request.set_node("a");
  v1::ReadContentResponse response;
  EXPECT_EQ(Call(&v1::SchedulerService::Stub::ReadContent, request, &response).error_code(),
            grpc::StatusCode::UNAVAILABLE);

  auto agent = std::make_unique<ScriptedAgent>(server_->address(), ScriptedAgent::Options());
  ASSERT_TRUE(agent->Settle());
  grpc::Status status;
  {
    OwnerThread reader("reader", [&] {
      status = Call(&v1::SchedulerService::Stub::ReadContent, request, &response);
    });
    ASSERT_TRUE(agent->NextCommand().has_value());
    agent = nullptr;
  }
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(ServerTest, JobThatNeverStartedHasNoLog) {
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_STDOUT);
  request.set_job_id(Submit("/bin/true"));
  v1::ReadContentResponse response;
  EXPECT_EQ(Call(&v1::SchedulerService::Stub::ReadContent, request, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

// --- Restart ---

TEST_F(ServerTest, RestartKeepsJobsAndGoesOnWithRunningAttempts) {
  const int64_t pending = Submit("/bin/one", "k");
  int64_t running = 0;
  v1::AttemptKey key;
  {
    ScriptedAgent agent(server_->address(), {});
    key = StartNext(agent);
    running = Submit("/bin/two");
    EXPECT_EQ(key.job_id(), pending);
    Restart();
    EXPECT_EQ(agent.WaitForEnd().ok(), false);
  }
  EXPECT_EQ(Submit("/bin/one", "k"), pending);
  EXPECT_EQ(Get(pending).state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(Get(running).state(), v1::JOB_STATE_PENDING);
  EXPECT_EQ(Submit("/bin/three"), 3);

  ScriptedAgent::Options options;
  options.live_attempts = {key};
  ScriptedAgent agent(server_->address(), options);
  agent.SendExited(key, 0);
  ASSERT_TRUE(agent.NextCommand()->has_end_acknowledged());
  EXPECT_EQ(Get(pending).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(Get(pending).attempts_size(), 1);
  EXPECT_EQ(StartNext(agent).job_id(), running);
}

// --- Start ---

TEST_F(ServerTest, AddressInUseIsRefused) {
  v1::SchedulerConfig config = config_;
  config.set_listen(server_->address());
  config.set_state_dir((folder_ / "other").string());
  const auto second = Server::Create(config, {SystemClock()});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.status().message()), HasSubstr(server_->address()));
}

TEST_F(ServerTest, StateFolderInUseIsRefused) {
  EXPECT_EQ(Server::Create(config_, {SystemClock()}).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(ServerTest, AddressFileHoldsTheBoundAddress) {
  config_.set_address_file((folder_ / "address").string());
  Restart();
  std::ifstream file(folder_ / "address");
  std::string address;
  std::getline(file, address);
  EXPECT_EQ(address, server_->address());
  EXPECT_THAT(address, testing::MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
}

}  // namespace
}  // namespace pipefill::scheduler
