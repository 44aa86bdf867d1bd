// What a submission is refused for, whoever asks: the loop, which accepts it, or a reader who only
// wants to know.
//
// Pure.
#ifndef SCHEDULER_CORE_ADMISSION_H_
#define SCHEDULER_CORE_ADMISSION_H_

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "scheduler/core/device.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

// ResourceExhausted: the job may not wait for a device that is large enough, and `largest`, the
// one with the largest budget, is not. nullptr = no device is known.
absl::Status CheckFitsLargest(const JobSpec& spec, const Device* largest);

// InvalidArgument: it had to start before `wall`.
absl::Status CheckStartsLater(const JobSpec& spec, absl::Time wall);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_ADMISSION_H_
