#include "agent/turn_board.h"

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <optional>

#include "gtest/gtest.h"

namespace pipefill {
namespace {

constexpr absl::Duration kMs = absl::Milliseconds(1);

// The page as a task maps it, and what the tasks of its seats do.
class TurnBoardTest : public testing::Test {
 protected:
  TurnBoardTest() : board_(*TurnBoard::Create()) {
    void* data = mmap(nullptr, sizeof(TurnPage), PROT_READ | PROT_WRITE, MAP_SHARED,
                      board_->descriptor(), 0);
    if (data == MAP_FAILED) std::abort();
    page_ = static_cast<TurnPage*>(data);
  }
  ~TurnBoardTest() override { munmap(page_, sizeof(TurnPage)); }

  void Hold(uint32_t seat) { page_->holder.store(TakenWord(page_->holder.load(), seat)); }
  bool IsTurnFree() const { return IsFree(page_->holder.load()); }
  void WatchFor(absl::Duration time) {
    for (const Instant end = now_ + time; now_ < end; now_ = now_ + 10 * kMs) {
      board_->Watch(now_, [this](uint32_t seat) { return running_ == seat; });
    }
  }

  const std::unique_ptr<TurnBoard> board_;
  TurnPage* page_ = nullptr;
  Instant now_ = Instant::FromNs(5'000'000'000);
  std::optional<uint32_t> running_;
};

TEST_F(TurnBoardTest, GivesOutTheLowestFreeSeatAndNoMoreThanThereAre) {
  for (uint32_t seat = 0; seat < kSeats; ++seat) EXPECT_EQ(board_->TakeSeat(0), seat);
  EXPECT_EQ(board_->TakeSeat(0), std::nullopt);
  board_->LeaveSeat(3);
  EXPECT_EQ(page_->taken.load(), 0b11110111u);
  EXPECT_EQ(board_->TakeSeat(0), 3u);
}

TEST_F(TurnBoardTest, ATaskEntersWithItsRankLevelWithTheLeastServed) {
  board_->TakeSeat(0);
  board_->TakeSeat(0);
  page_->seats[0].served_ns.store(900);
  page_->seats[1].served_ns.store(700);
  page_->seats[2].served_ns.store(5);  // left by one before
  page_->seats[2].wants.store(1);
  page_->seats[2].orders.store(kOrderSave);
  EXPECT_EQ(board_->TakeSeat(-4), 2u);
  EXPECT_EQ(page_->seats[2].orders.load(), 0u);
  EXPECT_EQ(page_->seats[2].served_ns.load(), 700u);
  EXPECT_EQ(page_->seats[2].policy_rank.load(), -4);
  EXPECT_EQ(page_->seats[2].wants.load(), 0u);
}

TEST_F(TurnBoardTest, TakesTheTurnOfATaskThatIsGone) {
  board_->TakeSeat(0);
  board_->TakeSeat(0);
  Hold(1);
  board_->LeaveSeat(0);
  EXPECT_FALSE(IsTurnFree());
  board_->LeaveSeat(1);
  EXPECT_TRUE(IsTurnFree());
  EXPECT_EQ(board_->turns_taken_away(), 1);
}

TEST_F(TurnBoardTest, TakesATurnThatIsHeldWithoutAUnit) {
  board_->TakeSeat(0);
  board_->TakeSeat(0);
  Hold(0);
  page_->seats[0].wants.store(1);
  running_ = 0;
  WatchFor(200 * kMs);
  EXPECT_FALSE(IsTurnFree());
  running_.reset();
  WatchFor(50 * kMs);
  EXPECT_FALSE(IsTurnFree());
  WatchFor(20 * kMs);
  EXPECT_TRUE(IsTurnFree());
  EXPECT_EQ(page_->seats[0].wants.load(), 0u);
}

TEST_F(TurnBoardTest, LeavesTurnsAloneThatChangeHands) {
  board_->TakeSeat(0);
  board_->TakeSeat(0);
  for (int i = 0; i < 20; ++i) {
    Hold(0);
    WatchFor(30 * kMs);
  }
  EXPECT_EQ(board_->turns_taken_away(), 0);
}

TEST_F(TurnBoardTest, LeavesTheTurnToATaskThatIsAlone) {
  board_->TakeSeat(0);
  Hold(0);
  WatchFor(500 * kMs);
  EXPECT_FALSE(IsTurnFree());
}

TEST_F(TurnBoardTest, TakesATurnThatNobodyWithASeatHolds) {
  board_->TakeSeat(0);
  board_->TakeSeat(0);
  for (const uint32_t word : {0x7u, 0xfu, UINT32_MAX}) {
    page_->holder.store(word);
    WatchFor(10 * kMs);
    EXPECT_TRUE(IsTurnFree()) << word;
  }
}

TEST_F(TurnBoardTest, KeepsItsListOfSeatsAgainstTasksThatWriteIt) {
  board_->TakeSeat(0);
  page_->taken.store(UINT32_MAX);
  WatchFor(10 * kMs);
  EXPECT_EQ(page_->taken.load(), 1u);
}

}  // namespace
}  // namespace pipefill
