// A whole schedulerd on a free port, and a user of it, for tests over gRPC.
//
// Thread-compatible: used from one thread.
#ifndef SCHEDULER_TESTING_SERVER_FIXTURE_H_
#define SCHEDULER_TESTING_SERVER_FIXTURE_H_

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "common/clock.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/server.h"
#include "scheduler/testing/scripted_agent.h"

namespace pipefill::scheduler {

// Starts nothing by itself, so that a test may set `config_` first.
class ServerFixture : public testing::Test {
 protected:
  using Stub = v1::SchedulerService::Stub;

  ServerFixture()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    config_.set_listen("127.0.0.1:0");
    config_.set_state_dir((folder_ / "state").string());
  }
  ~ServerFixture() override {
    server_ = nullptr;
    std::filesystem::remove_all(folder_);
  }

  // In place of the one before, if there is one.
  void Start() {
    server_ = nullptr;
    auto server = Server::Create(config_, {SystemClock()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    users_ = v1::SchedulerService::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }

  // A call with a deadline; returns its status.
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    SetTestDeadline(&context);
    return (users_.get()->*method)(&context, request, response);
  }

  v1::Job Get(int64_t id) {
    v1::GetJobRequest request;
    request.set_job_id(id);
    v1::Job job;
    const grpc::Status status = Call(&Stub::GetJob, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }

  const std::filesystem::path folder_;
  v1::SchedulerConfig config_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Stub> users_;
};

class ServerTest : public ServerFixture {
 protected:
  ServerTest() { Start(); }

  void Restart() { Start(); }

  static v1::SubmitJobRequest RequestFor(const std::string& program, const std::string& key = "") {
    v1::SubmitJobRequest request;
    request.mutable_spec()->add_command(program);
    request.set_key(key);
    return request;
  }

  // Submits `program` and returns the id.
  int64_t Submit(const std::string& program, const std::string& key = "") {
    v1::SubmitJobResponse response;
    const grpc::Status status =
        Call(&v1::SchedulerService::Stub::SubmitJob, RequestFor(program, key), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job_id();
  }

  grpc::Status Cancel(int64_t id, v1::Job* job) {
    v1::CancelJobRequest request;
    request.set_job_id(id);
    return Call(&v1::SchedulerService::Stub::CancelJob, request, job);
  }

  // Waits for the launch of the next attempt, and lets it start.
  static v1::AttemptKey StartNext(ScriptedAgent& agent) {
    const auto command = agent.NextCommand();
    if (!command.has_value() || !command->has_launch()) {
      ADD_FAILURE() << "no launch";
      return {};
    }
    agent.SendStarted(command->launch().key());
    EXPECT_TRUE(agent.Settle());
    return command->launch().key();
  }
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_TESTING_SERVER_FIXTURE_H_
