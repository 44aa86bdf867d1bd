#include "cli/devices.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/testing/command_fixture.h"

namespace pipefill {
namespace {

class DevicesTest : public CommandFixture {
 protected:
  v1::Device& AddDevice(const std::string& name) {
    v1::Device& device = *scheduler.devices.add_devices();
    device.set_node("node1");
    device.set_name(name);
    device.set_backend("cpu");
    device.set_detail("cores 0");
    device.set_memory_bytes(int64_t{2} << 30);
    device.set_memory_free_bytes(int64_t{3} << 29);
    device.set_resident_limit(1);
    return device;
  }

  static void AddMainRank(v1::Device& device, int rank) {
    v1::MainRank& main_rank = *device.mutable_main_rank();
    main_rank.set_main_job("gpt");
    main_rank.set_rank(rank);
    main_rank.set_ranks(2);
    main_rank.set_mode(v1::FILL_MODE_FILL);
    main_rank.set_iteration_p50_ns(112'400'000);
    main_rank.set_bubble_ns(31'000);
    main_rank.set_iteration_ns(100'000);
  }
};

TEST_F(DevicesTest, ShowsMainJobsAndWhatIsFree) {
  v1::Device& first = AddDevice("cpu0");
  first.set_resident(1);
  AddMainRank(first, 0);
  v1::Device& second = AddDevice("cpu1");
  AddMainRank(second, 1);
  second.mutable_main_rank()->set_mode(v1::FILL_MODE_REPORT);
  second.mutable_main_rank()->set_iteration_p50_ns(0);
  second.mutable_main_rank()->set_iteration_ns(0);
  AddDevice("cpu2");

  const Result result = Run({"devices"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "DEVICE      DETAIL   MEMORY     FREE  TASKS  MAIN JOB        ITERATION  BUBBLES\n"
            "node1/cpu0  cores 0   2 GiB  1.5 GiB    1/1  gpt 0/2            112 ms   31.0 %\n"
            "node1/cpu1  cores 0   2 GiB  1.5 GiB    0/1  gpt 1/2 report          -        -\n"
            "node1/cpu2  cores 0   2 GiB  1.5 GiB    0/1  -                       -        -\n");
}

TEST_F(DevicesTest, SaysWhatToStartWhenThereAreNone) {
  const Result result = Run({"--scheduler", "head:7700", "devices"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(
      result.err,
      "pipefill: no agent is connected; start agentd on the nodes with scheduler \"head:7700\" "
      "in its configuration\n");
}

TEST_F(DevicesTest, JsonHasTheMainRankOnlyWhereOneIsAttached) {
  AddMainRank(AddDevice("cpu0"), 0);
  AddDevice("cpu1");

  const auto json = nlohmann::json::parse(Run({"devices", "-o", "json"}).out);

  EXPECT_EQ(json["devices"][0]["main_rank"]["mode"], "fill");
  EXPECT_EQ(json["devices"][0]["main_rank"]["iteration_p50_ns"], 112'400'000);
  EXPECT_EQ(json["devices"][0]["memory_free_bytes"], int64_t{3} << 29);
  EXPECT_FALSE(json["devices"][1].contains("main_rank"));
}

class StatusTest : public CommandFixture {};

TEST_F(StatusTest, SaysWhoIsThereAndHowBusy) {
  scheduler.status.set_version("0.1.0");
  scheduler.status.set_policy("fifo");
  scheduler.status.set_jobs_pending(1'234);
  scheduler.status.set_jobs_running(2);
  scheduler.status.add_nodes("node1");
  scheduler.status.add_nodes("node2");

  const Result result = Run({"status", "--scheduler", "head:7700"});

  EXPECT_EQ(result.code, kExitOk);
  EXPECT_EQ(result.out,
            "schedulerd 0.1.0 at head:7700\n"
            "  policy  fifo\n"
            "  jobs    1,234 pending, 2 running, 0 ended\n"
            "  agents  2 nodes: node1, node2\n");
}

TEST_F(StatusTest, SaysHowLongEndedJobsAreKnownAndWhyNewOnesAreRefused) {
  scheduler.status.set_history_keep_seconds(720 * 3600);
  scheduler.status.set_history_jobs_max(500'000);
  scheduler.status.set_refusing_text("the disk is full");
  const std::string out = Run({"status"}).out;
  EXPECT_NE(out.find("history   ended jobs are known for 30d, at most 500,000\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("refusing  the disk is full\n"), std::string::npos) << out;
}

TEST_F(StatusTest, SaysThatNoAgentIsThere) {
  EXPECT_NE(Run({"status"}).out.find("agents  none connected\n"), std::string::npos);
}

TEST_F(StatusTest, JsonHasAllNumbers) {
  scheduler.status.set_jobs_ended(7);

  const auto json = nlohmann::json::parse(Run({"status", "-o", "json"}).out);

  EXPECT_EQ(json["jobs_pending"], 0);
  EXPECT_EQ(json["jobs_ended"], 7);
  EXPECT_EQ(json["nodes"], nlohmann::json::array());
}

}  // namespace
}  // namespace pipefill
