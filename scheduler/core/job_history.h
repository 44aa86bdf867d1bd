// What happened to a job, who did it, and why: made from what the job and its attempts hold anyway,
// and from the wishes of its users.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_HISTORY_H_
#define SCHEDULER_CORE_JOB_HISTORY_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

struct JobStep {
  enum class Kind {
    kSubmitted,
    kHeld,
    kReleased,
    kRequeueRequested,
    kMoveRequested,
    kCancelRequested,
    kPlaced,
    kStarted,
    kAttemptEnded,
    kRequeued,  // it waits again
    kSucceeded,
    kFailed,
    kCancelled,
  };
  enum class Actor { kUser, kScheduler, kAgent };

  absl::Time at;
  Kind kind = Kind::kSubmitted;
  Actor actor = Actor::kUser;
  std::string node = {};       // of the agent
  AttemptNumber attempt = {};  // 0 = it was about none
  std::string text = {};       // one line: why, or where; may be empty

  friend bool operator==(const JobStep&, const JobStep&) = default;
};

// Oldest first by the wall clock; what happened at one moment in the order in which it came about.
std::vector<JobStep> HistoryOf(const Job& job);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_HISTORY_H_
