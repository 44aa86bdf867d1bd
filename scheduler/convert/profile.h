// Profiles and forecasts: wire and disk <-> planner.
//
// Pure.
#ifndef SCHEDULER_CONVERT_PROFILE_H_
#define SCHEDULER_CONVERT_PROFILE_H_

#include <string>

#include "absl/time/time.h"
#include "planner/profile.h"
#include "proto/profile.pb.h"
#include "scheduler/core/job_forecast.h"

namespace pipefill::scheduler {

// Takes values as they come, but 0 for "one"; CheckProfile says whether they make sense.
FillProfile FromProto(const v1::FillProfile& from);
v1::FillProfile ToProto(const FillProfile& from);

// As it reads at `now`.
v1::Forecast ToProto(const JobForecast& from, absl::Time now);

// What a task reads from PIPEFILL_CONFIG: {"name":"batch8","batch_size":8,"memory_saving":"plain"}.
std::string ConfigText(const Configuration& configuration);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CONVERT_PROFILE_H_
