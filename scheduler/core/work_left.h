// How much device time a job still needs.
//
// Pure.
#ifndef SCHEDULER_CORE_WORK_LEFT_H_
#define SCHEDULER_CORE_WORK_LEFT_H_

#include <optional>

#include "scheduler/core/job.h"

namespace pipefill::scheduler {

// Seconds of units, from the job's profile and its number of samples, less what its last attempt
// has done (which it goes on from, or about). nullopt: it has no profile, or does not say how much
// there is to do.
std::optional<double> SecondsLeft(const Job& job);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_WORK_LEFT_H_
