// The failure bubble of a main job that stands still, from its page to the accounts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/device_state.h"
#include "agent/testing/device_fixture.h"

namespace pipefill {
namespace {

using ::testing::SizeIs;

class StandstillTest : public DeviceStateTest {
 protected:
  static constexpr pid_t kRankPid = 4711;

  void SetUp() override {
    DeviceStateTest::SetUp();
    AttachRank(1);
    AttachTask(2, 1);
    (*signal_)->bubble_names[0].store(PackBubbleName(BubbleClass::kMiddle, 0));
    // Iterations of 10 ms with a bubble of 4 each, from 0 on.
    for (uint32_t i = 0; i < 20; ++i) {
      PushEdge(EdgeKind::kIterationBegin, 2 * i, 10 * i, i);
      PushEdge(EdgeKind::kBubbleBegin, 2 * i + 1, 10 * i, i);
      PushEdge(EdgeKind::kBubbleEnd, 2 * i + 2, 10 * i + 4, i);
      PushEdge(EdgeKind::kIterationEnd, 2 * i + 2, 10 * i + 9, i);
    }
    (*signal_)->seq.store(40);
    state_->Drain(AtMs(200));
  }
  // Looks once a second from `from_s` to `to_s`; the rank used `cpu_share` of a core.
  void Look(int from_s, int to_s, double cpu_share) {
    for (int second = from_s; second <= to_s; ++second) {
      cpu_ += absl::Seconds(cpu_share);
      ProcessTable processes;
      ProcessStat rank;
      rank.pid = kRankPid;
      rank.cpu = cpu_;
      processes.Add(rank);
      state_->CheckStall(AtMs(1'000 * second), processes);
    }
  }
  void PushUnit(int64_t bubble_begin_ms, int64_t start_ms, int64_t cpu_ms) {
    const auto at = [](int64_t ms) { return static_cast<uint64_t>(AtMs(ms).ns()); };
    const UnitRecord unit = {.start_ns = at(start_ms),
                             .end_ns = at(start_ms + cpu_ms),
                             .cpu_ns = static_cast<uint64_t>(cpu_ms) * kMs,
                             .bubble_begin_ns = at(bubble_begin_ms),
                             .seq = 40,
                             .seq_after = 40,
                             .slot = kFailureSlot,
                             .generation = (*window_)->signal_generation.load()};
    uint64_t words[kUnitWords];
    PackUnit(unit, words);
    (*task_)->units.Push(words);
  }
  bool is_open() const { return (*window_)->failure_begin_ns.load() != 0; }

  absl::Duration cpu_;
};

TEST_F(StandstillTest, OpensAFailureBubbleAtTheSignalWordWhereTheRankStands) {
  Look(1, 5, 0.0);
  EXPECT_FALSE(is_open());
  Look(6, 6, 0.0);
  EXPECT_TRUE(state_->has_failure());
  EXPECT_EQ((*window_)->failure_begin_ns.load(), static_cast<uint64_t>(AtMs(6'000).ns()));
  EXPECT_EQ((*window_)->failure_seq.load(), 40u);
  EXPECT_EQ((*window_)->failure_unit_max_ns.load(), 20 * kMs);
}

TEST_F(StandstillTest, NextEdgeClosesIt) {
  Look(1, 6, 0.0);
  ASSERT_TRUE(is_open());
  PushEdge(EdgeKind::kIterationBegin, 40, 7'500, 20);
  state_->Drain(AtMs(7'510));
  EXPECT_FALSE(is_open());
  EXPECT_FALSE(state_->has_failure());
}

TEST_F(StandstillTest, WorkWithoutEdgesIsNoFailureAndEndsOne) {
  Look(1, 30, 0.5);
  EXPECT_FALSE(is_open());
  Look(31, 31, 0.0);
  EXPECT_TRUE(is_open());
  Look(32, 32, 0.5);
  EXPECT_FALSE(is_open());
}

TEST_F(StandstillTest, IsReportedAsABubbleOfItsOwn) {
  Look(1, 6, 0.0);
  PushUnit(6'000, 6'100, 10);
  PushUnit(6'000, 7'490, 20);
  PushEdge(EdgeKind::kIterationBegin, 40, 7'500, 20);
  state_->Drain(AtMs(7'600));
  const std::vector<v1::BubbleStats> bubbles = state_->ReportBubbles();
  ASSERT_THAT(bubbles, SizeIs(2));
  EXPECT_EQ(bubbles[1].bubble_class(), v1::BUBBLE_CLASS_FAILURE);
  EXPECT_EQ(bubbles[1].count(), 1);
  EXPECT_EQ(bubbles[1].bubble_ns(), 1'500'000'000);
  EXPECT_EQ(bubbles[1].filled_ns(), 20'000'000);
  EXPECT_EQ(bubbles[1].overrun_ns(), 10'000'000);
}

TEST_F(StandstillTest, TeachesThePredictorNothing) {
  PushEdge(EdgeKind::kIterationBegin, 40, 200, 20);
  PushEdge(EdgeKind::kBubbleBegin, 41, 200, 20);
  (*signal_)->seq.store(41);
  Look(1, 6, 0.0);
  ASSERT_TRUE(is_open());
  PushEdge(EdgeKind::kBubbleEnd, 42, 9'000, 20);
  PushEdge(EdgeKind::kIterationEnd, 42, 9'010, 20);
  state_->Drain(AtMs(9'010));
  const v1::BubbleStats bubble = state_->ReportBubbles()[0];
  EXPECT_EQ(bubble.p90_ns(), 4'000'000);
  EXPECT_LT(bubble.bubble_ns(), 6'000'000'000);
}

TEST_F(StandstillTest, ItsUnitsAreInTheirBubbleForTheWatchdog) {
  Look(1, 6, 0.0);
  (*task_)->unit_start_ns.store(static_cast<uint64_t>(AtMs(6'100).ns()));
  EXPECT_TRUE(state_->ViewUnit(SpecOf(1).key)->is_in_its_bubble);
  (*signal_)->seq.store(41);
  (*signal_)->seq.store(42);
  EXPECT_FALSE(state_->ViewUnit(SpecOf(1).key)->is_in_its_bubble);
}

TEST_F(StandstillTest, RankInModeOffIsNotTakenForOneThatStands) {
  (*signal_)->seq.store(41);  // in a bubble, where silence alone is evidence
  Set({.main_job = "gpt", .mode = FillMode::kOff});
  state_->OnSettingsChanged(AtMs(300));
  Look(1, 30, 0.5);
  EXPECT_FALSE(is_open());
  // Back on, it has been silent since then only.
  Set({.main_job = "gpt", .mode = std::nullopt});
  state_->OnSettingsChanged(AtMs(30'500));
  Look(31, 35, 0.5);
  EXPECT_FALSE(is_open());
  Look(36, 36, 0.5);
  EXPECT_TRUE(is_open());
}

TEST_F(StandstillTest, EndsWhenTheModeIsSetToOff) {
  Look(1, 6, 0.0);
  ASSERT_TRUE(is_open());
  Set({.main_job = "gpt", .mode = FillMode::kOff});
  state_->OnSettingsChanged(AtMs(6'500));
  EXPECT_FALSE(is_open());
  EXPECT_FALSE(state_->has_failure());
}

TEST_F(StandstillTest, EndsWhenTheRankLeaves) {
  Look(1, 6, 0.0);
  state_->OnConnectionEnded(1, AtMs(7'000));
  EXPECT_FALSE(is_open());
  EXPECT_FALSE(state_->has_failure());
}

}  // namespace
}  // namespace pipefill
