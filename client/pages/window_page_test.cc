#include "client/pages/window_page.h"

#include <algorithm>
#include <memory>
#include <vector>

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

TEST_F(WindowPageTest, TakesTheLineBetweenTwoPublishedLengths) {
  EXPECT_EQ(LatestStart(*page_, kSlot, 1'000'000), 16'000'000);
  EXPECT_EQ(LatestStart(*page_, kSlot, 1'250'000), 15'749'999);  // rounded down
  EXPECT_EQ(LatestStart(*page_, kSlot, 2'000'000), 15'000'000);
  EXPECT_EQ(LatestStart(*page_, kSlot, 3'000'000), 14'499'999);
}

TEST_F(WindowPageTest, CountsAUnitBelowTheLadderAsLongAsItsFirstEntry) {
  EXPECT_EQ(LatestStart(*page_, kSlot, 0), 16'000'000);
  EXPECT_EQ(LatestStart(*page_, kSlot, 999'999), 16'000'000);
}

TEST_F(WindowPageTest, NeverStartsAUnitBetweenALengthThatFitsAndOneThatDoesNot) {
  page_->entries[kSlot].latest_start_ns[2].store(kNever);
  EXPECT_EQ(LatestStart(*page_, kSlot, 2'000'000), 15'000'000);
  EXPECT_EQ(LatestStart(*page_, kSlot, 2'000'001), kNever);
  EXPECT_EQ(LatestStart(*page_, kSlot, 4'000'000), kNever);
  EXPECT_EQ(LatestStart(*page_, kSlot, 4'000'001), kNever);  // nor beyond it, to a length that does
  EXPECT_EQ(LatestStart(*page_, kSlot, 8'000'000), 13'000'000);
}

// Whatever the page holds: no overflow, and a start between those of the two neighbours.
TEST_F(WindowPageTest, StaysBetweenTheNeighboursWhateverThePageHolds) {
  const std::vector<int64_t> starts = {INT64_MIN,     kNever,        0,        1, 2, 1'000'000'000,
                                       INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
  const std::vector<uint64_t> lengths = {0, 1, 2, 3, uint64_t{1} << 53, UINT64_MAX - 1, UINT64_MAX};
  for (const int64_t lower : starts) {
    for (const int64_t upper : starts) {
      page_->entries[kSlot].latest_start_ns[0].store(lower);
      page_->entries[kSlot].latest_start_ns[1].store(upper);
      for (const uint64_t width_ns : lengths) {
        page_->unit_ns[0].store(1);
        page_->unit_ns[1].store(width_ns);
        for (const uint64_t length_ns : lengths) {
          if (length_ns <= 1 || length_ns > width_ns) continue;
          const int64_t start_ns = LatestStart(*page_, kSlot, length_ns);
          if (upper < 0 || (lower < 0 && length_ns != width_ns)) {
            EXPECT_EQ(start_ns, kNever);
          } else if (length_ns == width_ns) {
            EXPECT_EQ(start_ns, upper);
          } else {
            EXPECT_GE(start_ns, std::min(lower, upper));
            EXPECT_LE(start_ns, std::max(lower, upper));
          }
        }
      }
    }
  }
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

TEST_F(WindowPageTest, FillingIsOnAlsoInHeldOutIterations) {
  page_->hold_out_one_in.store(1);
  EXPECT_TRUE(IsFillOn(*page_, kNowNs));
  EXPECT_FALSE(IsFillAllowed(*page_, kNowNs, 1));
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
