#include "common/environment.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <set>

namespace pipefill {
namespace {

// NOLINTBEGIN(concurrency-mt-unsafe): this test has one thread
TEST(EnvironmentTest, UnsetAndEmptyVariablesGiveTheFallback) {
  ASSERT_EQ(unsetenv("PIPEFILL_TEST_VARIABLE"), 0);
  EXPECT_EQ(EnvironmentOr("PIPEFILL_TEST_VARIABLE", "fallback"), "fallback");
  ASSERT_EQ(setenv("PIPEFILL_TEST_VARIABLE", "", 1), 0);
  EXPECT_EQ(EnvironmentOr("PIPEFILL_TEST_VARIABLE", "fallback"), "fallback");
  ASSERT_EQ(setenv("PIPEFILL_TEST_VARIABLE", "value", 1), 0);
  EXPECT_EQ(EnvironmentOr("PIPEFILL_TEST_VARIABLE", "fallback"), "value");
}

TEST(EnvironmentTest, DefaultOfVariableGivesWayToWhatIsSet) {
  ASSERT_EQ(unsetenv("PIPEFILL_TEST_VARIABLE"), 0);
  SetDefaultVariable("PIPEFILL_TEST_VARIABLE", "default");
  EXPECT_EQ(EnvironmentOr("PIPEFILL_TEST_VARIABLE", "fallback"), "default");
  SetDefaultVariable("PIPEFILL_TEST_VARIABLE", "other");
  EXPECT_EQ(EnvironmentOr("PIPEFILL_TEST_VARIABLE", "fallback"), "default");
}
// NOLINTEND(concurrency-mt-unsafe)

TEST(EnvironmentTest, TokensAre32HexadecimalDigitsAndDiffer) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) {
    const std::string token = RandomToken();
    EXPECT_EQ(token.size(), 32u);
    EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos) << token;
    tokens.insert(token);
  }
  EXPECT_EQ(tokens.size(), 100u);
}

TEST(EnvironmentTest, AllowedCoresFollowTheAffinityOfTheProcess) {
  const std::vector<int> before = AllowedCores();
  ASSERT_FALSE(before.empty());
  EXPECT_TRUE(std::is_sorted(before.begin(), before.end()));
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(before.back()), &set);
  ASSERT_EQ(sched_setaffinity(0, sizeof(set), &set), 0);
  EXPECT_EQ(AllowedCores(), std::vector<int>{before.back()});
}

TEST(EnvironmentTest, HostHasANameAndMemory) {
  EXPECT_FALSE(HostName().empty());
  EXPECT_GT(MemoryTotalBytes(), 64 << 20);
  EXPECT_LE(MemoryTotalBytes(), sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

}  // namespace
}  // namespace pipefill
