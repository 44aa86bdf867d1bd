// Says in one line, with numbers, why a job waits and how it ended.
//
// Pure.
#ifndef SCHEDULER_CORE_EXPLAIN_H_
#define SCHEDULER_CORE_EXPLAIN_H_

#include <optional>
#include <string>

#include "common/instant.h"
#include "planner/plan.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

// Why `job`, which is not held, waits, from what the plan left; nullopt if the plan has not looked
// at it.
std::optional<PendingReason> ReasonOf(const Job& job, const Plan& plan, Instant now);
// The same in words, and for a held job too:
//   "needs 2 GiB; the most that is free on a device with a free seat is 512 MiB (node a, cpu0)"
std::string ExplainWaitingJob(const Job& job, const Plan& plan, Instant now);
std::string ExplainReason(const PendingReason& reason, Instant now);

// What the agent says of it; if it says nothing, the cause: "exit code 3", "ended by signal 9".
std::string ExplainEnd(const AttemptEnd& end);
// How a terminal job ended; empty if it has not.
std::string ExplainJobEnd(const Job& job);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_EXPLAIN_H_
