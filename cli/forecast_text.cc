#include "cli/forecast_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace pipefill {
namespace {

std::string RateText(const v1::Forecast& forecast) {
  return absl::StrFormat("%.4g %s/s, between %.4g and %.4g", forecast.rate(),
                         forecast.configuration().empty() ? "units" : "samples",
                         forecast.rate_low(), forecast.rate_high());
}

std::string SpanUntil(int64_t unix_ns, absl::Time now) {
  return FormatSpan(absl::FromUnixNanos(unix_ns) - now);
}

std::string FinishText(const v1::Forecast& forecast, absl::Time now) {
  std::string text = absl::StrCat("in ", SpanUntil(forecast.finish_unix_ns(), now), ", at least ",
                                  SpanUntil(forecast.finish_earliest_unix_ns(), now));
  if (forecast.finish_latest_unix_ns() != 0) {
    absl::StrAppend(&text, ", at most ", SpanUntil(forecast.finish_latest_unix_ns(), now));
  }
  return text;
}

}  // namespace

void AddForecast(const v1::Forecast& forecast, absl::Time now, Facts* facts) {
  if (forecast.rate() > 0) facts->Add("rate", RateText(forecast));
  if (forecast.finish_unix_ns() != 0) facts->Add("done", FinishText(forecast, now));
  if (!forecast.configuration().empty()) facts->Add("configuration", forecast.configuration());
  facts->AddProse(forecast.rate() > 0 ? "source" : "none yet", forecast.text());
}

std::string ForecastFacts(const v1::Job& job, absl::Time now) {
  if (!job.has_forecast()) return "";
  Facts facts;
  AddForecast(job.forecast(), now, &facts);
  return facts.Text();
}

}  // namespace pipefill
