// A job's forecast in words.
//
// Pure.
#ifndef CLI_FORECAST_TEXT_H_
#define CLI_FORECAST_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "cli/output.h"
#include "proto/types.pb.h"

namespace pipefill {

// One fact after the other: rate, end, configuration, and where they come from.
void AddForecast(const v1::Forecast& forecast, absl::Time now, Facts* facts);

// Facts under each other, each line ended by a newline; "" if the job has no forecast.
std::string ForecastFacts(const v1::Job& job, absl::Time now);

}  // namespace pipefill

#endif  // CLI_FORECAST_TEXT_H_
