// A job's forecast in words.
//
// Pure.
#ifndef CLI_FORECAST_TEXT_H_
#define CLI_FORECAST_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "proto/types.pb.h"

namespace pipefill {

// Facts under each other, each line ended by a newline; "" if the job has no forecast.
std::string ForecastFacts(const v1::Job& job, absl::Time now);

}  // namespace pipefill

#endif  // CLI_FORECAST_TEXT_H_
