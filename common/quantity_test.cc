#include "common/quantity.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <set>

namespace pipefill {
namespace {

TEST(ParseBytesTest, TakesBinaryAndDecimalUnits) {
  EXPECT_EQ(ParseBytes("512MiB").value(), int64_t{512} << 20);
  EXPECT_EQ(ParseBytes("8GiB").value(), int64_t{8} << 30);
  EXPECT_EQ(ParseBytes("64 KiB").value(), 65'536);
  EXPECT_EQ(ParseBytes("2TiB").value(), int64_t{2} << 40);
  EXPECT_EQ(ParseBytes("3MB").value(), 3'000'000);
  EXPECT_EQ(ParseBytes("3kb").value(), 3'000);
  EXPECT_EQ(ParseBytes("100000").value(), 100'000);
  EXPECT_EQ(ParseBytes("7B").value(), 7);
  EXPECT_EQ(ParseBytes("0").value(), 0);
}

TEST(ParseBytesTest, FractionsRoundDownToWholeBytes) {
  EXPECT_EQ(ParseBytes("1.5 GiB").value(), int64_t{3} << 29);
  EXPECT_EQ(ParseBytes("0.0001KiB").value(), 0);
  EXPECT_EQ(ParseBytes("1.999 B").value(), 1);
}

TEST(ParseBytesTest, ErrorQuotesTheTextAndGivesExamples) {
  EXPECT_EQ(ParseBytes("8 gigs").status(),
            absl::InvalidArgumentError(
                "not a size: \"8 gigs\"; write for example 512MiB, 8GiB or 100000 (bytes)"));
}

TEST(ParseBytesTest, RefusesWhatIsNoSize) {
  for (const char* text : {"", " ", "GiB", "-1", "-1GiB", "1..5GiB", ".5GiB", "1.GiB", "1,5GiB",
                           "1e3", "0x10", "1GiB2", "8G", "9223372036854775808", "8388608TiB"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseBytes(text).status())) << text;
  }
}

TEST(ParseBytesTest, TakesTheLargestSize) {
  EXPECT_EQ(ParseBytes("9223372036854775807").value(), std::numeric_limits<int64_t>::max());
}

TEST(FormatBytesTest, PicksTheUnitPeopleWouldUse) {
  EXPECT_EQ(FormatBytes(0), "0 B");
  EXPECT_EQ(FormatBytes(1), "1 B");
  EXPECT_EQ(FormatBytes(1'023), "1023 B");
  EXPECT_EQ(FormatBytes(1'024), "1 KiB");
  EXPECT_EQ(FormatBytes(int64_t{512} << 20), "512 MiB");
  EXPECT_EQ(FormatBytes(int64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(FormatBytes((int64_t{1} << 30) - 1), "1 GiB");
  EXPECT_EQ(FormatBytes(-(int64_t{3} << 29)), "-1.5 GiB");
  EXPECT_EQ(FormatBytes(std::numeric_limits<int64_t>::min()), "-8192 PiB");
}

RC_GTEST_PROP(BytesProperty, PlainNumbersRoundTripExactly, ()) {
  const int64_t bytes = *rc::gen::nonNegative<int64_t>();
  RC_ASSERT(ParseBytes(std::to_string(bytes)).value() == bytes);
}

RC_GTEST_PROP(BytesProperty, WhatIsPrintedReadsBackWithinHalfAPercent, ()) {
  const int64_t bytes = *rc::gen::inRange<int64_t>(0, std::numeric_limits<int64_t>::max() / 2);
  const auto back = static_cast<double>(ParseBytes(FormatBytes(bytes)).value());
  RC_ASSERT(std::abs(back - static_cast<double>(bytes)) <=
            0.00501 * static_cast<double>(bytes) + 1);
}

RC_GTEST_PROP(BytesProperty, NoTextEndsTheProcess, (const std::string& text)) {
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  const bool is_sound = !bytes.ok() || *bytes >= 0;  // RC_ASSERT would evaluate both sides
  RC_ASSERT(is_sound);
}

TEST(ParsePositiveDurationTest, TakesUnitsAndSums) {
  EXPECT_EQ(ParsePositiveDuration("50ms").value(), absl::Milliseconds(50));
  EXPECT_EQ(ParsePositiveDuration("1m30s").value(), absl::Seconds(90));
  EXPECT_EQ(ParsePositiveDuration("200us").value(), absl::Microseconds(200));
  EXPECT_EQ(ParsePositiveDuration("1.5 s").value(), absl::Milliseconds(1'500));
  EXPECT_EQ(ParsePositiveDuration("0").value(), absl::ZeroDuration());
}

TEST(ParsePositiveDurationTest, RefusesNegativeInfiniteAndUnitless) {
  for (const char* text : {"", "-1s", "inf", "-inf", "5", "5 parsecs", "1 2s", "s", " ", "1s "}) {
    const bool is_refused = absl::IsInvalidArgument(ParsePositiveDuration(text).status());
    EXPECT_EQ(is_refused, std::string(text) != "1s ") << text;
  }
  EXPECT_EQ(
      ParsePositiveDuration("5").status(),
      absl::InvalidArgumentError("not a duration: \"5\"; write for example 50ms, 1.5s or 1m30s"));
}

TEST(FormatDurationTest, ShowsThreeDigitsInTheUnitPeopleWouldUse) {
  EXPECT_EQ(pipefill::FormatDuration(absl::ZeroDuration()), "0 s");
  EXPECT_EQ(pipefill::FormatDuration(absl::Nanoseconds(7)), "7 ns");
  EXPECT_EQ(pipefill::FormatDuration(absl::Microseconds(210)), "210 us");
  EXPECT_EQ(pipefill::FormatDuration(absl::Microseconds(12'345)), "12.3 ms");
  EXPECT_EQ(pipefill::FormatDuration(absl::Milliseconds(1'523)), "1.52 s");
  EXPECT_EQ(pipefill::FormatDuration(absl::Seconds(192)), "3m12s");
  EXPECT_EQ(pipefill::FormatDuration(absl::Minutes(125)), "2h5m");
  EXPECT_EQ(pipefill::FormatDuration(absl::Milliseconds(-1'500)), "-1.5 s");
  EXPECT_EQ(pipefill::FormatDuration(absl::InfiniteDuration()), "inf");
}

TEST(FormatDurationTest, RoundsUpIntoTheNextUnit) {
  EXPECT_EQ(pipefill::FormatDuration(absl::Nanoseconds(999'700)), "1 ms");
  EXPECT_EQ(pipefill::FormatDuration(absl::Milliseconds(59'960)), "1m0s");
  EXPECT_EQ(pipefill::FormatDuration(absl::Milliseconds(3'599'600)), "1h0m");
}

RC_GTEST_PROP(DurationProperty, WhatIsPrintedReadsBackNearly, ()) {
  const absl::Duration duration =
      absl::Nanoseconds(*rc::gen::inRange<int64_t>(0, int64_t{3'600} * 1'000'000'000 * 50));
  const absl::Duration back = ParsePositiveDuration(pipefill::FormatDuration(duration)).value();
  RC_ASSERT(absl::AbsDuration(back - duration) <= duration * 0.0101 + absl::Nanoseconds(1));
}

TEST(ParseCoresTest, TakesRangesAndSingleCoresInAnyOrder) {
  EXPECT_EQ(ParseCores("0-3,8").value(), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(ParseCores("8, 0-1").value(), (std::vector<int>{0, 1, 8}));
  EXPECT_EQ(ParseCores("5-5").value(), std::vector<int>{5});
}

TEST(ParseCoresTest, ErrorsNameWhatIsWrong) {
  EXPECT_EQ(ParseCores("3-1").status().message(),
            "not a list of cores: \"3-1\": range runs backwards: 3-1; write for example 0-3,8");
  EXPECT_EQ(ParseCores("0-3,2").status().message(),
            "not a list of cores: \"0-3,2\": core 2 is named twice");
  EXPECT_EQ(ParseCores("0-x").status().message(),
            "not a list of cores: \"0-x\": not a core: x; write for example 0-3,8");
}

TEST(ParseCoresTest, RefusesWhatIsNoListOfCores) {
  for (const char* text : {"", ",", "0,", "-1", "1-", "1-2-3", "a", "0-99999999999", "0-70000"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCores(text).status())) << text;
  }
}

TEST(FormatCoresTest, JoinsNeighbours) {
  EXPECT_EQ(FormatCores({0, 1, 2, 8}), "0-2,8");
  EXPECT_EQ(FormatCores({4}), "4");
  EXPECT_EQ(FormatCores({}), "");
}

RC_GTEST_PROP(CoresProperty, PrintedCoresReadBackTheSame, ()) {
  const auto drawn =
      *rc::gen::nonEmpty(rc::gen::container<std::set<int>>(rc::gen::inRange(0, 200)));
  const std::vector<int> cores(drawn.begin(), drawn.end());
  RC_ASSERT(ParseCores(FormatCores(cores)).value() == cores);
}

}  // namespace
}  // namespace pipefill
