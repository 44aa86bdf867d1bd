#include "cli/dev_config.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pipefill {
namespace {

DevOptions Options() {
  DevOptions options;
  options.state_folder = "/tmp/pf";
  return options;
}

std::string ErrorOf(const DevOptions& options, const std::vector<int>& cores) {
  const auto config = MakeDevConfig(options, cores);
  EXPECT_FALSE(config.ok());
  return std::string(config.status().message());
}

TEST(DevConfigTest, MakesTwoDevicesOfOneCoreEach) {
  const auto config = MakeDevConfig(Options(), {2, 3, 5});

  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_EQ(config->agent.devices_size(), 2);
  EXPECT_EQ(config->agent.devices(0).name(), "cpu0");
  EXPECT_EQ(config->agent.devices(0).cores(), "2");
  EXPECT_EQ(config->agent.devices(1).name(), "cpu1");
  EXPECT_EQ(config->agent.devices(1).cores(), "3");
}

TEST(DevConfigTest, KeepsAllStateInTheFolder) {
  const auto config = MakeDevConfig(Options(), {0, 1});

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->scheduler.state_dir(), "/tmp/pf/schedulerd");
  EXPECT_EQ(config->agent.state_dir(), "/tmp/pf/agentd");
  EXPECT_EQ(config->agent.socket(), "/tmp/pf/agentd.sock");
}

TEST(DevConfigTest, LeavesDefaultsToTheDaemons) {
  const auto config = MakeDevConfig(Options(), {0, 1});

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_FALSE(config->agent.has_hold_out());
  EXPECT_EQ(config->agent.drain_period(), "");
  EXPECT_EQ(config->agent.devices(0).memory(), "");
}

TEST(DevConfigTest, HandsOptionsOn) {
  DevOptions options = Options();
  options.listen = "127.0.0.1:0";
  options.cores = "1,3,4";
  options.memory = "2GiB";
  options.hold_out_one_in = 4;
  options.drain_period = "2ms";
  options.python_path = "/site";

  const auto config = MakeDevConfig(options, {0, 1, 2, 3, 4});

  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->scheduler.listen(), "127.0.0.1:0");
  ASSERT_EQ(config->agent.devices_size(), 3);
  EXPECT_EQ(config->agent.devices(2).cores(), "4");
  EXPECT_EQ(config->agent.devices(2).memory(), "2GiB");
  EXPECT_EQ(config->agent.hold_out().block_iterations(), 1U);
  EXPECT_EQ(config->agent.hold_out().one_in(), 4U);
  EXPECT_EQ(config->agent.drain_period(), "2ms");
  EXPECT_EQ(config->agent.python_path(), "/site");
}

TEST(DevConfigTest, OneCoreIsNotEnoughUnlessAskedFor) {
  EXPECT_EQ(
      ErrorOf(Options(), {6}),
      "two devices need two cores: cores=6; run it where there are two, or ask for one device "
      "with --cores 6");
  DevOptions options = Options();
  options.cores = "6";
  EXPECT_EQ(MakeDevConfig(options, {6})->agent.devices_size(), 1);
}

TEST(DevConfigTest, CoresThatDoNotExistAreNamed) {
  DevOptions options = Options();
  options.cores = "0,4000";

  EXPECT_EQ(ErrorOf(options, {0, 1}),
            "--cores: this machine has no such core: core=4000 cores=0-1; choose from these");
}

TEST(DevConfigTest, BadQuantitiesNameTheirOption) {
  DevOptions options = Options();
  options.memory = "much";
  EXPECT_EQ(ErrorOf(options, {0, 1}).substr(0, 10), "--memory: ");
  options = Options();
  options.drain_period = "often";
  EXPECT_EQ(ErrorOf(options, {0, 1}).substr(0, 16), "--drain-period: ");
}

TEST(DevConfigTest, FolderTooLongForASocketIsRefused) {
  DevOptions options = Options();
  options.state_folder = "/" + std::string(96, 'x');

  EXPECT_EQ(ErrorOf(options, {0, 1}),
            "--state: path too long for a socket: length=109 max=107; choose a shorter folder");
}

TEST(DevWelcomeTest, SaysWhereThingsAreAndWhatToDo) {
  DevConfig config = *MakeDevConfig(Options(), {0, 1});
  config.agent.set_scheduler("127.0.0.1:7700");

  EXPECT_EQ(DevWelcome(config, "127.0.0.1:7700"),
            "pipefill is up\n"
            "  schedulerd  127.0.0.1:7700\n"
            "  agentd      /tmp/pf/agentd.sock\n"
            "  devices     cpu0 on core 0, cpu1 on core 1\n"
            "\n"
            "next\n"
            "  a training run that calls pipefill.attach(); its bubbles will be filled:\n"
            "      PIPEFILL_SOCKET=/tmp/pf/agentd.sock python3 train.py\n"
            "  a fill job:\n"
            "      pipefill submit --workdir . -- python3 job.py\n"
            "  what is idle, and how much of it is filled:\n"
            "      pipefill bubbles\n"
            "\n"
            "Ctrl-C stops everything\n");
}

TEST(DevWelcomeTest, TellsTrainingRunsWhereThePackageIs) {
  DevOptions options = Options();
  options.python_path = "/site";
  const DevConfig config = *MakeDevConfig(options, {0, 1});

  EXPECT_NE(DevWelcome(config, "127.0.0.1:7700")
                .find("PIPEFILL_SOCKET=/tmp/pf/agentd.sock PYTHONPATH=/site python3 train.py"),
            std::string::npos);
}

TEST(DevWelcomeTest, NamesAnAddressThatCommandsWouldNotFind) {
  DevConfig config = *MakeDevConfig(Options(), {0, 1});
  config.agent.set_scheduler("127.0.0.1:4711");

  EXPECT_NE(
      DevWelcome(config, "127.0.0.1:7700").find("pipefill --scheduler 127.0.0.1:4711 bubbles"),
      std::string::npos);
}

}  // namespace
}  // namespace pipefill
