// Checks what users send. The first bad field is named in the error.
//
// Pure.
#ifndef SCHEDULER_SERVICE_VALIDATE_H_
#define SCHEDULER_SERVICE_VALIDATE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/scheduler.pb.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_control.h"
#include "scheduler/core/job_plan.h"
#include "scheduler/core/main_job.h"
#include "scheduler/core/view.h"
#include "scheduler/limits.h"
#include "scheduler/watch/watch_reader.h"

namespace pipefill::scheduler {

struct SpecLimits {
  int64_t default_memory_bytes = int64_t{1} << 30;
  int64_t spec_max_bytes = int64_t{64} << 10;
  absl::Duration default_min_runtime = absl::Seconds(30);
  int64_t array_tasks_max = 100'000;
};

// The spec with its defaults filled in: name, memory, devices, tenant, least run time.
// InvalidArgument names the field
// ("spec.env: ..."); ResourceExhausted if the spec is larger than `spec_max_bytes`.
absl::StatusOr<JobSpec> ReadSpec(const v1::SubmitJobRequest& request, const SpecLimits& limits);

// ResourceExhausted: more than ids_max are named in `field`.
absl::Status CheckIds(absl::string_view field, int64_t ids, const Limits& room);

// With the spec as ReadSpec gives it, and its errors. InvalidArgument: candidates_max.
absl::StatusOr<JobPlanRequest> ReadPlanRequest(const v1::PlanJobRequest& request,
                                               const SpecLimits& limits);

// InvalidArgument: limit, cursor or selector.
absl::StatusOr<JobPageRequest> ReadPageRequest(const v1::ListJobsRequest& request,
                                               const Limits& room);

// InvalidArgument: job_ids or tenant. ResourceExhausted: too many job_ids.
absl::StatusOr<WatchFilter> ReadWatchFilter(const v1::WatchJobsRequest& request,
                                            const Limits& room);

// The page of jobs that the request's filter picks: those that are not over, the oldest first.
// InvalidArgument: cursor, selector, or a state of jobs that are over.
absl::StatusOr<JobPageRequest> ReadControlFilter(const v1::ControlJobsRequest& request);
// InvalidArgument: verb, reason, or neither jobs nor a filter. ResourceExhausted: too many jobs.
absl::StatusOr<JobVerb> ReadControl(const v1::ControlJobsRequest& request, const Limits& room);

// InvalidArgument: a field out of its range, or nothing to change.
absl::StatusOr<MainJobChange> ReadMainJobChange(const v1::UpdateMainJobRequest& request);

// Fills in the default limit. InvalidArgument: kind, offset, limit, or a field that the kind needs.
absl::StatusOr<v1::ReadContentRequest> ReadContentSpec(const v1::ReadContentRequest& request);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_VALIDATE_H_
