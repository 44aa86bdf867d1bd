#include "cli/forecast_text.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1'000'000);

int64_t UnixNsIn(absl::Duration span) { return absl::ToUnixNanos(kNow + span); }

v1::Job JobWithRate() {
  v1::Job job;
  v1::Forecast& forecast = *job.mutable_forecast();
  forecast.set_rate(116.25);
  forecast.set_rate_low(97.8);
  forecast.set_rate_high(131);
  forecast.set_text("from 1000 units so far, 5 bubbles of a/cpu0");
  return job;
}

TEST(ForecastTextTest, IsEmptyWithoutAForecast) { EXPECT_EQ(ForecastFacts({}, kNow), ""); }

TEST(ForecastTextTest, SaysRateAndSource) {
  EXPECT_EQ(ForecastFacts(JobWithRate(), kNow),
            "  rate    116.2 units/s, between 97.8 and 131\n"
            "  source  from 1000 units so far, 5 bubbles of a/cpu0\n");
}

TEST(ForecastTextTest, SaysWhenItWillBeDoneIfItsTotalIsKnown) {
  v1::Job job = JobWithRate();
  job.mutable_forecast()->set_configuration("batch8");
  job.mutable_forecast()->set_finish_unix_ns(UnixNsIn(absl::Minutes(3)));
  job.mutable_forecast()->set_finish_earliest_unix_ns(UnixNsIn(absl::Minutes(2)));
  const std::string open = ForecastFacts(job, kNow);
  EXPECT_NE(open.find("116.2 samples/s"), std::string::npos);
  EXPECT_NE(open.find("done           in 3m0s, at least 2m0s\n"), std::string::npos) << open;
  EXPECT_NE(open.find("configuration  batch8\n"), std::string::npos);
  job.mutable_forecast()->set_finish_latest_unix_ns(UnixNsIn(absl::Hours(1)));
  EXPECT_NE(ForecastFacts(job, kNow).find("at least 2m0s, at most 1h0m\n"), std::string::npos);
}

TEST(ForecastTextTest, SaysWhyThereIsNone) {
  v1::Job job;
  job.mutable_forecast()->set_text("no bubble of a/cpu0 is offered now");
  EXPECT_EQ(ForecastFacts(job, kNow), "  none yet  no bubble of a/cpu0 is offered now\n");
}

}  // namespace
}  // namespace pipefill
