#include "simulator/traces/field.h"

#include <gtest/gtest.h>

namespace pipefill::simulator {
namespace {

TEST(FieldTest, NothingIsWrittenInManyWays) {
  for (const char* text :
       {"", "-1", "-1.0", "None", "NONE", "null", "nan", "NaN", "N/A", "Unknown"}) {
    EXPECT_TRUE(IsMissing(text)) << text;
    EXPECT_EQ(ParseNumber(text).state, FieldState::kMissing) << text;
    EXPECT_EQ(ParseTraceTime(text, absl::UTCTimeZone()).state, FieldState::kMissing) << text;
  }
  for (const char* text : {"0", "-2", "nobody", "Unknowns", "1"}) EXPECT_FALSE(IsMissing(text));
}

TEST(FieldTest, TextIsWhatProtobufTakes) {
  for (const char* text : {"", "ann", "a longer name of a user", "M\xC3\xBCller", "\xE0\xA0\x80",
                           "\xED\x9F\xBF", "\xF0\x90\x80\x80 and \xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text : {"M\xFCller", "only at the end \xC3", "\xC0\xAF", "\xE0\x9F\xBF",
                           "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\x80"}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(FieldTest, NumbersThatAreNoneAreBroken) {
  EXPECT_EQ(ParseNumber("1739162.5").value, 1739162.5);
  EXPECT_EQ(ParseNumber("-300").value, -300);
  for (const char* text : {"12 s", "x", "inf", "1e300", "0x10z", "1,5"}) {
    EXPECT_EQ(ParseNumber(text).state, FieldState::kBroken) << text;
  }
}

absl::Duration TimeOf(const char* text, absl::TimeZone zone = absl::UTCTimeZone()) {
  const Field<absl::Duration> time = ParseTraceTime(text, zone);
  EXPECT_EQ(time.state, FieldState::kGood) << text;
  return time.value;
}

TEST(FieldTest, TimesAreSecondsOrDates) {
  EXPECT_EQ(TimeOf("4550879.0"), absl::Seconds(4550879));
  EXPECT_EQ(TimeOf("1506638472.01914119920"), absl::Seconds(1506638472.01914119920));
  EXPECT_EQ(TimeOf("1970-01-02 00:00:01"), absl::Seconds(86401));
  EXPECT_EQ(TimeOf("1970-01-02T00:00:01.25"), absl::Seconds(86401.25));
}

TEST(FieldTest, ZonesAreTheDatesOwnOrTheGivenOne) {
  const absl::TimeZone west = absl::FixedTimeZone(-8 * 3600);
  EXPECT_EQ(TimeOf("1970-01-02 00:00:00", west), absl::Hours(32));
  EXPECT_EQ(TimeOf("1970-01-02T00:00:00Z", west), absl::Hours(24));
  EXPECT_EQ(TimeOf("1970-01-02 00:00:00+08:00", west), absl::Hours(16));
  EXPECT_EQ(TimeOf("1970-01-02 00:00:00-0130", west), absl::Hours(25.5));
  EXPECT_EQ(TimeOf("1970-01-02 00:00:00+08", west), absl::Hours(16));
}

TEST(FieldTest, DatesThatNoCalendarHasAreBroken) {
  for (const char* text : {"2017-02-30 00:00:00", "2017-10-09 25:00:00", "2017-10-09 00:00:0x",
                           "2017-10-09", "2017-10-09 00:00:00 PDT", "2017-10-09 00:00:00+9",
                           "2017-10-09 00:00:00+99:00", "09/10/2017 00:00:00"}) {
    EXPECT_EQ(ParseTraceTime(text, absl::UTCTimeZone()).state, FieldState::kBroken) << text;
  }
}

}  // namespace
}  // namespace pipefill::simulator
