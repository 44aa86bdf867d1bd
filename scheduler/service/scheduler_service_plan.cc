// What would become of a job that is not submitted.
#include <grpcpp/grpcpp.h>

#include "absl/status/status.h"
#include "common/retry_after.h"
#include "common/status.h"
#include "scheduler/convert/job_plan.h"
#include "scheduler/service/finish.h"
#include "scheduler/service/scheduler_service.h"

namespace pipefill::scheduler {
namespace {

// About half of what a plan takes where 100,000 jobs wait: who is refused again asks again.
constexpr absl::Duration kPlanRetryAfter = absl::Milliseconds(500);

}  // namespace

grpc::ServerUnaryReactor* SchedulerService::PlanJob(grpc::CallbackServerContext* context,
                                                    const v1::PlanJobRequest* request,
                                                    v1::PlanJobResponse* response) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  // A plan takes this thread for its time: not for somebody who has gone.
  FinishCall(context, reactor,
             context->IsCancelled() ? absl::CancelledError("the caller has gone")
                                    : FillPlan(*request, response));
  return reactor;
}

absl::Status SchedulerService::FillPlan(const v1::PlanJobRequest& request,
                                        v1::PlanJobResponse* response) {
  ASSIGN_OR_RETURN(const JobPlanRequest read, ReadPlanRequest(request, options_.limits));
  if (!plans_.Enter()) {
    return WithRetryAfter(
        absl::ResourceExhaustedError("another plan is being made, and one is made at a time; try "
                                     "again in a moment"),
        kPlanRetryAfter);
  }
  const EventTime time{dependencies_.clock.Now(), dependencies_.clock.WallNow()};
  const absl::StatusOr<JobPlan> plan =
      dependencies_.planner.Make(*dependencies_.board.Latest(), read, time);
  plans_.Leave();
  if (plan.ok()) *response = ToProto(*plan, time);
  return plan.status();
}

}  // namespace pipefill::scheduler
