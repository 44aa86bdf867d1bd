#include "cli/profile/profiled_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "common/environment.h"

namespace pipefill {
namespace {

absl::StatusOr<ProfiledEnd> RunShell(const std::string& script, std::vector<int> cores = {}) {
  return RunProfiled(
      {.command = {"sh", "-c", script}, .environment = {{"FOO", "a b"}}, .cores = std::move(cores)},
      SystemClock());
}

TEST(ProfiledProcessTest, SaysHowTheProgramEnded) {
  EXPECT_EQ(RunShell("exit 3")->exit_code, 3);
  EXPECT_EQ(RunShell("kill -TERM $$")->signal, SIGTERM);
  EXPECT_EQ(RunShell("test \"$FOO\" = 'a b'")->exit_code, 0);
}

TEST(ProfiledProcessTest, MeasuresTimeAndMemory) {
  const auto end = RunShell("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_GT(end->cpu, absl::Milliseconds(1));
  EXPECT_GE(end->wall, end->cpu / 2);
  EXPECT_GT(end->memory_peak_bytes, 200 << 10);
}

TEST(ProfiledProcessTest, ProgramThatIsNotThereIsNamed) {
  const absl::Status status =
      RunProfiled({.command = {"no-such-program"}, .environment = {}, .cores = {}}, SystemClock())
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(status.message().find("cannot run no-such-program"), 0U) << status;
}

TEST(ProfiledProcessTest, InterruptEndsTheProgramAlone) {
  struct sigaction before = {};
  sigaction(SIGINT, nullptr, &before);
  // Both get it, as from a terminal.
  const auto end = RunShell("kill -INT $PPID; kill -INT $$");
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->signal, SIGINT);
  struct sigaction after = {};
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
}

TEST(ProfiledProcessTest, RunsOnTheCoresAskedAndGivesThemBack) {
  const std::vector<int> before = AllowedCores();
  const auto end = RunShell("test $(nproc) -eq 1", {before[0]});
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->exit_code, 0);
  EXPECT_EQ(AllowedCores(), before);
  EXPECT_EQ(RunShell("true", {1'000'000}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FamilyMemoryTest, CountsDescendantsToo) {
  EXPECT_GT(FamilyMemoryBytes(getpid()), 1 << 20);
  EXPECT_GE(FamilyMemoryBytes(getppid()), FamilyMemoryBytes(getpid()) / 2);
  EXPECT_EQ(FamilyMemoryBytes(1 << 30), 0);
}

}  // namespace
}  // namespace pipefill
