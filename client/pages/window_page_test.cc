#include "client/pages/window_page.h"

#include <memory>

#include "gtest/gtest.h"

namespace pipefill {
namespace {

constexpr uint32_t kSlot = 3;
constexpr uint64_t kNowNs = 50'000'000'000;

class WindowPageTest : public testing::Test {
 protected:
  // Lengths 1, 2, 4, ... ms; a unit of i-th length may start until (16 - i) ms after the begin.
  WindowPageTest() : page_(std::make_unique<WindowPage>()) {
    for (size_t i = 0; i < kUnitLadder; ++i) {
      page_->unit_ns[i].store(uint64_t{1'000'000} << i);
      page_->entries[kSlot].latest_start_ns[i].store(static_cast<int64_t>(16 - i) * 1'000'000);
    }
    page_->entries[kSlot].offered.store(1);
    page_->heartbeat_ns.store(kNowNs);
    page_->mode.store(static_cast<uint32_t>(FillMode::kFill));
  }

  const std::unique_ptr<WindowPage> page_;
};

TEST_F(WindowPageTest, RoundsAUnitUpToTheNextPublishedLength) {
  EXPECT_EQ(LatestStart(*page_, kSlot, 1), 16'000'000);
  EXPECT_EQ(LatestStart(*page_, kSlot, 1'000'000), 16'000'000);
  EXPECT_EQ(LatestStart(*page_, kSlot, 1'000'001), 15'000'000);
  EXPECT_EQ(LatestStart(*page_, kSlot, 2'000'000), 15'000'000);
}

TEST_F(WindowPageTest, NeverStartsAUnitLongerThanAllPublishedLengths) {
  EXPECT_EQ(LatestStart(*page_, kSlot, uint64_t{1'000'000} << 15), 1'000'000);
  EXPECT_EQ(LatestStart(*page_, kSlot, (uint64_t{1'000'000} << 15) + 1), kNever);
  EXPECT_EQ(LatestStart(*page_, kSlot, UINT64_MAX), kNever);
}

TEST_F(WindowPageTest, NeverStartsInABubbleThatIsNotOfferedOrHasNoSlot) {
  page_->entries[kSlot].offered.store(0);

  EXPECT_EQ(LatestStart(*page_, kSlot, 1), kNever);
  EXPECT_EQ(LatestStart(*page_, kNoSlot, 1), kNever);
  EXPECT_EQ(LatestStart(*page_, UINT32_MAX, 1), kNever);
}

TEST_F(WindowPageTest, AllowsFillingInAFilledIteration) {
  EXPECT_TRUE(IsFillAllowed(*page_, kNowNs, 1));
}

TEST_F(WindowPageTest, ForbidsFillingOnceTheHeartbeatIsOlderThanASecond) {
  EXPECT_TRUE(IsFillAllowed(*page_, kNowNs + kHeartbeatStaleNs, 1));
  EXPECT_FALSE(IsFillAllowed(*page_, kNowNs + kHeartbeatStaleNs + 1, 1));
  EXPECT_TRUE(IsFillAllowed(*page_, kNowNs - 1, 1));
}

TEST_F(WindowPageTest, ForbidsFillingWhileParked) {
  page_->parked.store(1);
  EXPECT_FALSE(IsFillAllowed(*page_, kNowNs, 1));
}

TEST_F(WindowPageTest, ForbidsFillingInEveryModeButFill) {
  for (const uint32_t mode :
       {0u, static_cast<uint32_t>(FillMode::kOff), static_cast<uint32_t>(FillMode::kReport), 77u}) {
    page_->mode.store(mode);
    EXPECT_FALSE(IsFillAllowed(*page_, kNowNs, 1)) << mode;
  }
}

TEST_F(WindowPageTest, ForbidsFillingInHeldOutIterations) {
  page_->hold_out_block_iterations.store(1);
  page_->hold_out_one_in.store(2);

  for (uint64_t iteration = 0; iteration < 100; ++iteration) {
    EXPECT_EQ(IsFillAllowed(*page_, kNowNs, iteration),
              !IsHeldOut({.block_iterations = 1, .one_in = 2}, iteration));
  }
}

}  // namespace
}  // namespace pipefill
