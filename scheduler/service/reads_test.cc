// Reads over gRPC while the scheduler loop does not run: what is published is all they need.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/loop.h"
#include "common/owner_thread.h"
#include "common/plan_stages.h"
#include "common/retry_after.h"
#include "planner/policies/fifo.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/service/scheduler_service.h"
#include "scheduler/testing/loop_fixture.h"
#include "scheduler/watch/watch_hub.h"

namespace pipefill::scheduler {
namespace {

using Stub = v1::SchedulerService::Stub;

// Holds up whoever scores a job, when it is told to.
class Turnstile {
 public:
  void HoldUp() { is_shut_ = true; }
  void LetGo() { let_go_.Notify(); }
  void AwaitCaller() { called_.WaitForNotification(); }

  void Pass() {
    if (!is_shut_.exchange(false)) return;
    called_.Notify();
    let_go_.WaitForNotification();
  }

 private:
  std::atomic<bool> is_shut_ = false;
  absl::Notification called_;
  absl::Notification let_go_;
};

class HeldUpPolicy : public FifoPolicy {
 public:
  explicit HeldUpPolicy(Turnstile& turnstile) : turnstile_(turnstile) {}
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override {
    turnstile_.Pass();
    return FifoPolicy::ScoreJob(job, tenant);
  }

 private:
  Turnstile& turnstile_;
};

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
        SchedulerService::Dependencies{*time_, *edge_, *loop_, board_, hub_, streams_, relay_,
                                       planner_},
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
  Turnstile turnstile_;
  const JobPlanner planner_{{.tenants = {}, .heard_within = absl::Seconds(5)},
                            [this] { return std::make_unique<HeldUpPolicy>(turnstile_); },
                            [] { return std::make_unique<FifoPolicy>(); }};
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

TEST_F(ReadsTest, PlanOfAJobIsAnsweredWithoutTheLoopAndKeepsNothing) {
  v1::PlanJobRequest request;
  request.mutable_spec()->add_command("/bin/true");
  v1::PlanJobResponse plan;
  const grpc::Status status = Call(&Stub::PlanJob, request, &plan);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(plan.job().id(), 0);
  EXPECT_EQ(plan.job().spec().name(), "true");
  EXPECT_EQ(plan.job().pending_reason(), v1::PENDING_REASON_NO_AGENT);
  EXPECT_EQ(plan.job().pending().place(), 2);
  EXPECT_EQ(plan.node(), "");
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(Call(&Stub::ListJobs, v1::ListJobsRequest(), &jobs).ok());
  EXPECT_EQ(jobs.jobs_size(), 2);

  request.set_candidates_max(kPlanStagesMax + 1);
  EXPECT_EQ(Call(&Stub::PlanJob, request, &plan).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ReadsTest, OnePlanIsMadeAtATimeAndOthersAreToldWhenToTryAgain) {
  v1::PlanJobRequest request;
  request.mutable_spec()->add_command("/bin/true");
  v1::PlanJobResponse plan;
  turnstile_.HoldUp();
  OwnerThread first("first", [&] {
    v1::PlanJobResponse held_up;
    EXPECT_TRUE(Call(&Stub::PlanJob, request, &held_up).ok());
  });
  turnstile_.AwaitCaller();
  grpc::ClientContext context;
  SetDeadline(&context);
  const grpc::Status refused = users_->PlanJob(&context, request, &plan);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(context.GetServerTrailingMetadata().count(kRetryAfterMetadata), 1U);
  turnstile_.LetGo();
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
