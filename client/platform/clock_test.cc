#include "client/platform/clock.h"

#include "client/platform/environment.h"
#include "client/platform/error.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

TEST(SystemClockTest, CpuTimeGrowsWithWorkAndNotFasterThanTimeOnOneThread) {
  SystemClock clock;
  const uint64_t begin_ns = clock.NowNs();
  const uint64_t cpu_begin_ns = clock.ProcessCpuNs();
  while (clock.ProcessCpuNs() - cpu_begin_ns < 2'000'000) {
  }

  const uint64_t cpu_ns = clock.ProcessCpuNs() - cpu_begin_ns;
  EXPECT_GE(clock.NowNs() - begin_ns + 100'000, cpu_ns);
}

TEST(ProcessEnvironmentTest, TakesAnUnsetVariableAsEmpty) {
  EXPECT_EQ(ProcessEnvironment().Get("PIPEFILL_NEVER_SET_BY_ANYBODY"), "");
  EXPECT_NE(ProcessEnvironment().Get("PATH"), "");
}

TEST(SystemErrorTest, NamesWhatFailedAndWhy) {
  const Error error = SystemError("mmap of a shared page", 12);
  EXPECT_EQ(error.code, PF_SYSTEM);
  EXPECT_EQ(error.text, "mmap of a shared page: Cannot allocate memory");
}

}  // namespace
}  // namespace pipefill::sdk
