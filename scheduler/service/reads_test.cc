// Reads over gRPC while the scheduler loop does not run: what is published is all they need.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/loop.h"
#include "common/owner_thread.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/service/scheduler_service.h"
#include "scheduler/testing/loop_fixture.h"
#include "scheduler/watch/watch_hub.h"

namespace pipefill::scheduler {
namespace {

using Stub = v1::SchedulerService::Stub;

// Job 1 waits, job 2 is cancelled. The loop runs only when a test says so.
class ReadsTest : public SchedulerLoopTest {
 protected:
  ReadsTest() {
    EXPECT_TRUE(Submit().ok());
    EXPECT_TRUE(Submit().ok());
    EXPECT_TRUE(Cancel(2).ok());
    SchedulerService::Options options;
    options.detail_wait = absl::Milliseconds(1);
    options.boot = "boot";
    service_ = std::make_unique<SchedulerService>(
        SchedulerService::Dependencies{*time_, *edge_, *loop_, board_, hub_, streams_, relay_},
        options);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    server_ = builder.BuildAndStart();
    users_ = v1::SchedulerService::NewStub(server_->InProcessChannel({}));
    thread_ = std::make_unique<OwnerThread>("edge", [this] { edge_->Run(); });
  }

  ~ReadsTest() override {
    server_->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
    // Calls that were given up before the loop answered them.
    time_->RunReady();
    server_->Wait();
    edge_->Stop();
    thread_ = nullptr;
    server_ = nullptr;
  }

  static void SetDeadline(grpc::ClientContext* context) {
    context->set_deadline(gpr_time_from_seconds(20, GPR_TIMESPAN));
  }

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    SetDeadline(&context);
    return (users_.get()->*method)(&context, request, response);
  }

  const std::unique_ptr<EventLoop> edge_ = EventLoop::Create();
  WatchHub hub_{{*time_, *edge_, board_}, Limits()};
  AgentStreams streams_{AgentTerms{}};
  ContentRelay relay_{8};
  std::unique_ptr<SchedulerService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Stub> users_;
  std::unique_ptr<OwnerThread> thread_;
};

TEST_F(ReadsTest, ListsAndStatusAreAnsweredWithoutTheLoop) {
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(Call(&Stub::ListJobs, v1::ListJobsRequest(), &jobs).ok());
  EXPECT_EQ(jobs.jobs_size(), 2);
  v1::GetStatusResponse status;
  ASSERT_TRUE(Call(&Stub::GetStatus, v1::GetStatusRequest(), &status).ok());
  EXPECT_EQ(status.jobs_pending(), 1);
  v1::ListDevicesResponse devices;
  EXPECT_TRUE(Call(&Stub::ListDevices, v1::ListDevicesRequest(), &devices).ok());
  v1::ListMainJobsResponse main_jobs;
  EXPECT_TRUE(Call(&Stub::ListMainJobs, v1::ListMainJobsRequest(), &main_jobs).ok());
}

TEST_F(ReadsTest, WaitingJobIsAnsweredWithoutItsDetail) {
  v1::GetJobRequest request;
  request.set_job_id(1);
  v1::Job job;
  const grpc::Status status = Call(&Stub::GetJob, request, &job);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(job.state(), v1::JOB_STATE_PENDING);
  EXPECT_FALSE(job.has_pending());
}

TEST_F(ReadsTest, WatchAndWaitAreAnsweredWithoutTheLoop) {
  grpc::ClientContext context;
  SetDeadline(&context);
  const auto watch = users_->WatchJobs(&context, v1::WatchJobsRequest());
  v1::WatchJobsResponse state;
  ASSERT_TRUE(watch->Read(&state));
  EXPECT_EQ(state.jobs_size(), 2);
  EXPECT_TRUE(state.synced());
  context.TryCancel();

  v1::WaitJobRequest request;
  request.set_job_id(2);
  v1::Job job;
  ASSERT_TRUE(Call(&Stub::WaitJob, request, &job).ok());
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
}

}  // namespace
}  // namespace pipefill::scheduler
