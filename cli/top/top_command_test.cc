#include "cli/top/top_command.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "cli/command_line.h"
#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class TopCommandTest : public CommandFixture {
 protected:
  TopCommandTest() { entries.push_back({AddTopCommand, "Cluster"}); }
};

TEST_F(TopCommandTest, OncePrintsOnePlainFrameOfTheLastSeconds) {
  v1::Device& device = *scheduler.devices.add_devices();
  device.set_node("n1");
  device.set_name("cpu0");
  v1::MainRank& rank = *device.mutable_main_rank();
  rank.set_main_job("gpt");
  rank.set_iteration_ns(1'000'000'000);
  scheduler.on_wait = [&rank] {
    rank.set_iteration_ns(3'000'000'000);
    rank.set_bubble_ns(500'000'000);
  };

  const Result result = Run({"top", "--once"});

  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_TRUE(absl::StrContains(result.out, "  gpt "));
  EXPECT_TRUE(absl::StrContains(result.out, "25.0 %"));
  EXPECT_FALSE(absl::StrContains(result.out, "q quit"));
  EXPECT_FALSE(absl::StrContains(result.out, "\x1b"));
}

TEST_F(TopCommandTest, WithoutSchedulerdOnceIsAnError) {
  scheduler.error = absl::UnavailableError("schedulerd does not answer");
  const Result result = Run({"top", "--once"});
  EXPECT_EQ(result.code, kExitUnavailable);
  EXPECT_EQ(result.err, "pipefill: schedulerd does not answer\n");
}

}  // namespace
}  // namespace pipefill
