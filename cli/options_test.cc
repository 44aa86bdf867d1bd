#include "cli/options.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(ParseJobIdTest, TakesPositiveNumbersOnly) {
  EXPECT_EQ(ParseJobId("17").value(), JobId(17));
  for (const char* text : {"", "0", "-3", "17x", "embed", "99999999999999999999"}) {
    EXPECT_EQ(ParseJobId(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(SuggestTest, FindsTheNearestWord) {
  EXPECT_EQ(Suggest("jbos", {"submit", "job", "jobs"}), "jobs");
  EXPECT_EQ(Suggest("--memroy", {"--name", "--memory"}), "--memory");
}

TEST(SuggestTest, SaysNothingRatherThanAnything) {
  EXPECT_EQ(Suggest("frobnicate", {"submit", "job", "jobs"}), "");
  EXPECT_EQ(Suggest("x", {}), "");
}

TEST(SuggestTest, PrefersTheFirstOfEquals) { EXPECT_EQ(Suggest("joc", {"job", "jod"}), "job"); }

}  // namespace
}  // namespace pipefill
