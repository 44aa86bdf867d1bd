// What a user may want of a job, whether the job takes it, and what it leads to.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_CONTROL_H_
#define SCHEDULER_CORE_JOB_CONTROL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_machine.h"

namespace pipefill::scheduler {

enum class JobVerb { kCancel, kHold, kRelease, kRequeue };

// Whether the job's phase takes the wish. FailedPrecondition, with what to do instead.
absl::Status CheckWish(const Job& job, JobInput wish);

struct JobOutcome {
  enum class Code { kDone, kUnchanged, kRefused };

  JobId job;
  Code code = Code::kRefused;
  JobPhase phase = JobPhase::kPending;  // after it; of a job that exists
  std::string text = {};                // "is held already"; of a refusal its whole message
  absl::Status refusal = absl::OkStatus();
};

// What the verb would do to the job as it is. Its phase is the one after it.
JobOutcome OutcomeOf(const Job& job, JobVerb verb);
// Of a job that is not there.
JobOutcome RefusedOutcome(JobId job, const absl::Status& why);

// The event that carries it out, if the outcome is kDone.
Event EventOf(JobVerb verb, JobId job, absl::string_view reason);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_CONTROL_H_
