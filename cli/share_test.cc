#include "cli/share.h"

#include <gtest/gtest.h>

#include <string>

namespace pipefill {
namespace {

std::string ErrorOf(absl::string_view text) {
  return std::string(ParsePpm("budget", text).status().message());
}

TEST(ShareTest, PercentAndFractionAreTheSame) {
  EXPECT_EQ(*ParsePpm("budget", "0.5%"), 5'000U);
  EXPECT_EQ(*ParsePpm("budget", "0.5 %"), 5'000U);
  EXPECT_EQ(*ParsePpm("budget", "0.005"), 5'000U);
  EXPECT_EQ(*ParsePpm("budget", "68%"), 680'000U);
  EXPECT_EQ(*ParsePpm("budget", "1"), 1'000'000U);
  EXPECT_EQ(*ParsePpm("budget", "0.0001%"), 1U);
}

TEST(ShareTest, SaysWhatToWriteInsteadOfWhatIsNoShare) {
  for (const char* text : {"", "much", "5x", "%", "nan", "inf%", "1.5.5"}) {
    EXPECT_EQ(ErrorOf(text),
              std::string("not a budget: ") + text + "; write a share, as 0.5% or 0.005");
  }
}

TEST(ShareTest, RefusesNothingAndMoreThanEverything) {
  EXPECT_EQ(ErrorOf("0%"), "budget out of range: 0%; write more than 0 and at most 100%");
  EXPECT_EQ(ErrorOf("101%"), "budget out of range: 101%; write more than 0 and at most 100%");
  EXPECT_EQ(ErrorOf("5"),
            "budget out of range: 5, which is a share of 1; write more than 0 and at most 100%");
  EXPECT_FALSE(ParsePpm("budget", "-1%").ok());
  EXPECT_FALSE(ParsePpm("budget", "0.00001%").ok());
}

TEST(ShareTest, IsWrittenAsPercent) {
  EXPECT_EQ(FormatPpm(5'000), "0.5 %");
  EXPECT_EQ(FormatPpm(10'000), "1 %");
  EXPECT_EQ(FormatPpm(1), "0.0001 %");
  EXPECT_EQ(FormatPpm(1'000'000), "100 %");
}

}  // namespace
}  // namespace pipefill
