// The whole server over gRPC, with a scripted agent on a real stream.
#include "scheduler/server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/clock.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/testing/scripted_agent.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

class ServerTest : public testing::Test {
 protected:
  ServerTest() : folder_(std::filesystem::path(testing::TempDir()) / NameOfTest()) {
    std::filesystem::remove_all(folder_);
    config_.set_listen("127.0.0.1:0");
    config_.set_state_dir((folder_ / "state").string());
    Start();
  }

  ~ServerTest() override {
    server_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  static std::string NameOfTest() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }

  void Start() {
    auto server = Server::Create(config_, {SystemClock()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    users_ = v1::SchedulerService::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }

  void Restart() {
    server_ = nullptr;
    Start();
  }

  // Submits `program` and returns the id.
  int64_t Submit(const std::string& program, const std::string& key = "") {
    v1::SubmitJobRequest request;
    request.mutable_spec()->add_command(program);
    request.set_key(key);
    v1::SubmitJobResponse response;
    grpc::ClientContext context;
    SetTestDeadline(&context);
    const grpc::Status status = users_->SubmitJob(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job_id();
  }

  grpc::Status TrySubmit(const v1::SubmitJobRequest& request, v1::SubmitJobResponse* response) {
    grpc::ClientContext context;
    SetTestDeadline(&context);
    return users_->SubmitJob(&context, request, response);
  }

  v1::Job Get(int64_t id) {
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::Job job;
    grpc::ClientContext context;
    SetTestDeadline(&context);
    const grpc::Status status = users_->GetJob(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }

  grpc::Status Cancel(int64_t id, v1::Job* job) {
    v1::CancelJobRequest request;
    request.set_job_id(id);
    grpc::ClientContext context;
    SetTestDeadline(&context);
    return users_->CancelJob(&context, request, job);
  }

  const std::filesystem::path folder_;
  v1::SchedulerConfig config_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<v1::SchedulerService::Stub> users_;
};

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

}  // namespace
}  // namespace pipefill::scheduler
