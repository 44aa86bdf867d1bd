// What a job would do that is not submitted, for whoever asked.
//
// Pure.
#ifndef SCHEDULER_CONVERT_JOB_PLAN_H_
#define SCHEDULER_CONVERT_JOB_PLAN_H_

#include "proto/plan.pb.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job_plan.h"

namespace pipefill::scheduler {

v1::PlanJobResponse ToProto(const JobPlan& from, const EventTime& time);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CONVERT_JOB_PLAN_H_
