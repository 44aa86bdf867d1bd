#include "common/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(SetUpLogTest, LineHasTimeLevelComponentAndText) {
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(SetUpLog("agentd", "info").ok());
  spdlog::info("job_placed job={} device={}", JobId(17), absl::string_view("cpu0"));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              MatchesRegex("[0-9]+-[0-9]+-[0-9]+T[0-9:.]+[+-][0-9:]+ info agentd "
                           "job_placed job=17 device=cpu0\n"));
}

TEST(SetUpLogTest, LowerLevelsAreLeftOut) {
  ::testing::internal::CaptureStderr();
  ASSERT_TRUE(SetUpLog("agentd", "warn").ok());
  spdlog::info("hidden");
  spdlog::warn("shown");
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, HasSubstr("shown"));
}

TEST(SetUpLogTest, UnknownLevelIsRefusedWithTheKnownOnes) {
  EXPECT_EQ(SetUpLog("agentd", "loud"),
            absl::InvalidArgumentError("no such log level: loud; use error, warn, info or debug"));
  EXPECT_TRUE(absl::IsInvalidArgument(SetUpLog("agentd", "")));
}

TEST(LogFormatterTest, AbseilTypesPrintAsTheyDoElsewhere) {
  EXPECT_EQ(fmt::format("{}", absl::Milliseconds(1500)), "1.5s");
  EXPECT_EQ(fmt::format("{}", absl::NotFoundError("no job 17")), "NOT_FOUND: no job 17");
  EXPECT_EQ(fmt::format("{:>5}", absl::string_view("ab")), "   ab");
  EXPECT_EQ(fmt::format("{}", absl::InfinitePast()), "infinite-past");
}

}  // namespace
}  // namespace pipefill
