#include "scheduler/core/node_table.h"

#include <gtest/gtest.h>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

constexpr absl::Duration kWait = absl::Seconds(15);

AttemptKey Key(int64_t job, uint64_t fence) { return {JobId(job), AttemptNumber(1), Fence(fence)}; }

LiveAttempt AttemptOn(const std::string& device, uint64_t fence, int64_t bytes, bool is_started) {
  return {Key(static_cast<int64_t>(fence), fence), {"a", device}, bytes, is_started};
}

class NodeTableTest : public testing::Test {
 protected:
  DeviceSnapshot FirstDevice() { return SnapshotDevice(*nodes_.Find("a"), 0, live_); }

  NodeTable nodes_;
  LiveAttempts live_;
};

TEST_F(NodeTableTest, RegisteredNodeIsFoundByNameAndBySession) {
  nodes_.Register(HelloFrom("a", 7, {}), live_, kWait, AtSecond(1));
  ASSERT_NE(nodes_.Find("a"), nullptr);
  EXPECT_EQ(nodes_.FindBySession(SessionId(7)), nodes_.Find("a"));
  EXPECT_TRUE(nodes_.Find("a")->is_connected());
}

TEST_F(NodeTableTest, NewSessionReplacesTheOldOne) {
  nodes_.Register(HelloFrom("a", 7, {}), live_, kWait, AtSecond(1));
  nodes_.Register(HelloFrom("a", 8, {}), live_, kWait, AtSecond(2));
  EXPECT_EQ(nodes_.FindBySession(SessionId(7)), nullptr);
  EXPECT_EQ(nodes_.FindBySession(SessionId(8)), nodes_.Find("a"));
}

TEST_F(NodeTableTest, EndOfReplacedStreamDoesNotDisconnectTheNode) {
  nodes_.Register(HelloFrom("a", 7, {}), live_, kWait, AtSecond(1));
  nodes_.Register(HelloFrom("a", 8, {}), live_, kWait, AtSecond(2));
  nodes_.Disconnect(SessionId(7));
  EXPECT_TRUE(nodes_.Find("a")->is_connected());
}

TEST_F(NodeTableTest, DisconnectedNodeKeepsItsDevices) {
  nodes_.Register(HelloFrom("a", 7, {FilledDevice("a", "cpu0")}), live_, kWait, AtSecond(1));
  nodes_.Disconnect(SessionId(7));
  EXPECT_FALSE(nodes_.Find("a")->is_connected());
  EXPECT_EQ(nodes_.Find("a")->devices.size(), 1U);
}

TEST_F(NodeTableTest, ReportReplacesDevicesAndBubbles) {
  nodes_.Register(HelloFrom("a", 7, {FilledDevice("a", "cpu0")}), live_, kWait, AtSecond(1));
  AgentReported report = ReportFrom(7, {FilledDevice("a", "cpu1"), FilledDevice("a", "cpu0")});
  report.bubbles.resize(3);
  nodes_.Report(report, live_, AtSecond(2));

  const Node& node = *nodes_.Find("a");
  ASSERT_EQ(node.devices.size(), 2U);
  EXPECT_EQ(node.devices[0].key.name, "cpu0");
  EXPECT_EQ(node.bubbles.size(), 3U);
  EXPECT_EQ(node.heard_at, AtSecond(2));
}

TEST_F(NodeTableTest, HandedOutMapDoesNotChange) {
  nodes_.Register(HelloFrom("a", 7, {}), live_, kWait, AtSecond(1));
  const NodeMap before = nodes_.nodes().Share();
  nodes_.Disconnect(SessionId(7));
  EXPECT_TRUE(before.find("a")->second->is_connected());
}

TEST_F(NodeTableTest, AttemptsThatTheHelloDoesNotNameMustShowUp) {
  live_.Add(AttemptOn("cpu0", 1, kMiB, true));
  live_.Add(AttemptOn("cpu0", 2, kMiB, true));
  AgentRegistered hello = HelloFrom("a", 7, {});
  hello.live_attempts = {Key(1, 1)};

  nodes_.Register(hello, live_, kWait, AtSecond(1));

  const Node& node = *nodes_.Find("a");
  EXPECT_FALSE(node.unaccounted.contains(Fence(1)));
  EXPECT_EQ(node.unaccounted.at(Fence(2)), AtSecond(16));
  nodes_.Account("a", Fence(2));
  EXPECT_TRUE(nodes_.Find("a")->unaccounted.empty());
}

TEST_F(NodeTableTest, ExpectedNodeIsAwayAndKnownSinceThen) {
  nodes_.Expect("a", AtSecond(5));
  EXPECT_FALSE(nodes_.Find("a")->is_connected());
  EXPECT_EQ(nodes_.Find("a")->heard_at, AtSecond(5));
}

// --- Load of a device ---

AgentRegistered HelloNaming(uint64_t fence, const Device& device) {
  AgentRegistered hello = HelloFrom("a", 7, {device});
  hello.live_attempts = {{JobId(1), AttemptNumber(1), Fence(fence)}};
  return hello;
}

TEST_F(NodeTableTest, AttemptOnItsWayCountsBeforeTheAgentReportsIt) {
  nodes_.Register(HelloFrom("a", 7, {FilledDevice("a", "cpu0", 2)}), live_, kWait, AtSecond(1));
  live_.Add(AttemptOn("cpu0", 1, 300 * kMiB, false));

  EXPECT_EQ(FirstDevice().resident, 1);
  EXPECT_EQ(FirstDevice().memory_free_bytes, 724 * kMiB);
}

TEST_F(NodeTableTest, ReportedAttemptIsNotCountedTwice) {
  live_.Add(AttemptOn("cpu0", 1, 300 * kMiB, true));
  Device device = FilledDevice("a", "cpu0", 2);
  device.resident = 1;
  device.memory_free_bytes = 600 * kMiB;  // 300 MiB of the attempt, 124 MiB of the main rank
  nodes_.Register(HelloNaming(1, device), live_, kWait, AtSecond(1));

  EXPECT_EQ(FirstDevice().resident, 1);
  EXPECT_EQ(FirstDevice().memory_free_bytes, 600 * kMiB);
}

TEST_F(NodeTableTest, EndedAttemptIsCreditedBeforeTheNextReport) {
  live_.Add(AttemptOn("cpu0", 1, 300 * kMiB, true));
  Device device = FilledDevice("a", "cpu0", 2);
  device.resident = 1;
  device.memory_free_bytes = 600 * kMiB;
  nodes_.Register(HelloNaming(1, device), live_, kWait, AtSecond(1));
  live_ = {};

  EXPECT_EQ(FirstDevice().resident, 0);
  EXPECT_EQ(FirstDevice().memory_free_bytes, 900 * kMiB);
}

// Its end is told once it is on disk there; reports know it before.
TEST_F(NodeTableTest, AttemptThatTheReportDoesNotNameIsNotTakenOffItsFigures) {
  live_.Add(AttemptOn("cpu0", 1, 300 * kMiB, true));
  Device device = FilledDevice("a", "cpu0", 2);
  device.resident = 1;
  device.memory_free_bytes = 600 * kMiB;
  nodes_.Register(HelloNaming(1, device), live_, kWait, AtSecond(1));
  device.resident = 0;
  device.memory_free_bytes = 900 * kMiB;  // 124 MiB of the main rank
  nodes_.Report(ReportFrom(7, {device}), live_, AtSecond(2));
  EXPECT_EQ(FirstDevice().resident, 1);
  EXPECT_EQ(FirstDevice().memory_free_bytes, 600 * kMiB);
}

TEST_F(NodeTableTest, TaskThatOnlyTheAgentKnowsKeepsItsSeat) {
  Device device = FilledDevice("a", "cpu0", 1);
  device.resident = 1;
  device.memory_free_bytes = 500 * kMiB;
  nodes_.Register(HelloFrom("a", 7, {device}), live_, kWait, AtSecond(1));

  EXPECT_EQ(FirstDevice().resident, 1);
  EXPECT_EQ(FirstDevice().memory_free_bytes, 500 * kMiB);
}

TEST_F(NodeTableTest, AttemptsOnOtherDevicesDoNotCount) {
  live_.Add(AttemptOn("cpu1", 1, 300 * kMiB, false));
  nodes_.Register(HelloFrom("a", 7, {FilledDevice("a", "cpu0")}), live_, kWait, AtSecond(1));
  EXPECT_EQ(FirstDevice().resident, 0);
}

TEST_F(NodeTableTest, OnlyModeFillMakesDeviceUsable) {
  for (const auto& [mode, use] : {std::pair(FillMode::kFill, MainJobUse::kFilled),
                                  std::pair(FillMode::kReport, MainJobUse::kMeasured),
                                  std::pair(FillMode::kOff, MainJobUse::kMeasured),
                                  std::pair(FillMode::kUnknown, MainJobUse::kMeasured)}) {
    Device device = FilledDevice("a", "cpu0");
    device.main_rank->mode = mode;
    nodes_.Register(HelloFrom("a", 7, {device}), live_, kWait, AtSecond(1));
    EXPECT_EQ(FirstDevice().main_job, use);
  }
  Device device = FilledDevice("a", "cpu0");
  device.main_rank.reset();
  nodes_.Register(HelloFrom("a", 7, {device}), live_, kWait, AtSecond(1));
  EXPECT_EQ(FirstDevice().main_job, MainJobUse::kNone);
}

TEST(NodeTableSnapshotTest, IsTheSameMapUntilSomethingChanges) {
  NodeTable table;
  table.Register(HelloFrom("a", 1, {FilledDevice("a", "cpu0")}), {}, absl::Seconds(15),
                 AtSecond(0));
  const auto before = table.Snapshot();
  EXPECT_EQ(table.Snapshot(), before);
  table.Remove("a");
  EXPECT_TRUE(before->find("a") != before->end());
  EXPECT_EQ(table.Snapshot()->size(), 0U);
}

TEST(BubbleShareTest, ComesFromTheBubblesThatAreOffered) {
  Device device = FilledDevice("a", "cpu0", 2);
  device.main_rank->iteration_p50_ns = 100;
  device.main_rank->iteration_ns = 1000;
  AgentReported report = ReportFrom(1, {device});
  report.bubbles.resize(3);
  for (BubbleStats& bubble : report.bubbles) {
    bubble.device = {"a", "cpu0"};
    bubble.p50_ns = 10;
    bubble.filled_ns = 40;
    bubble.offer = BubbleOffer::kYes;
  }
  report.bubbles[2].offer = BubbleOffer::kTooShort;
  NodeTable table;
  table.Register(HelloFrom("a", 1, {device}), {}, absl::Seconds(15), AtSecond(0));
  table.Report(report, {}, AtSecond(1));
  EXPECT_DOUBLE_EQ(SnapshotDevice(*table.Find("a"), 0, {}).bubble_share, 0.2);
  EXPECT_DOUBLE_EQ(SnapshotDevice(*table.Find("a"), 0, {}).filled_share, 0);
  LiveAttempts live;
  live.Add(AttemptOn("cpu0", 1, kMiB, true));
  EXPECT_DOUBLE_EQ(SnapshotDevice(*table.Find("a"), 0, live).filled_share, 0.12);
}

}  // namespace
}  // namespace pipefill::scheduler
