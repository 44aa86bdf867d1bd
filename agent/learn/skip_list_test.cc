#include "agent/learn/skip_list.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

constexpr uint32_t kSlot = 3;
constexpr UnitOverrun kGood = {.cpu_ns = 1'000'000, .overrun_ns = 100'000};
constexpr UnitOverrun kBad = {.cpu_ns = 1'000'000, .overrun_ns = 900'000};

bool TakeUnits(SkipList& list, int64_t units, const UnitOverrun& unit, uint32_t slot = kSlot) {
  bool is_closed = false;
  for (int64_t i = 0; i < units; ++i) is_closed = list.OnUnit(slot, unit) || is_closed;
  return is_closed;
}

// Until it is open again; how many that took.
int64_t SkipBubbles(SkipList& list) {
  for (int64_t bubbles = 1; bubbles <= 2 * kSkipBubblesMax; ++bubbles) {
    if (list.OnBubble(kSlot)) return bubbles;
  }
  return -1;
}

TEST(SkipListTest, UsualOverrunClosesNothing) {
  SkipList list;
  EXPECT_FALSE(TakeUnits(list, 100 * kSkipUnits, kGood));
  EXPECT_FALSE(list.OnBubble(kSlot));
  EXPECT_FALSE(list.IsClosed(kSlot));
  EXPECT_EQ(list.bubbles_skipped(), 0);
}

TEST(SkipListTest, ClosesTheBubbleThatUnitsOutliveAndNoOther) {
  SkipList list;
  EXPECT_FALSE(TakeUnits(list, kSkipUnits - 1, kBad));
  EXPECT_TRUE(TakeUnits(list, 1, kBad));
  EXPECT_TRUE(list.IsClosed(kSlot));
  EXPECT_FALSE(list.IsClosed(kSlot + 1));
  EXPECT_FALSE(list.OnBubble(kSlot + 1));
  EXPECT_EQ(list.bubbles_skipped(), 0);
}

TEST(SkipListTest, OpensAgainAndSkipsTwiceAsManyTheNextTime) {
  SkipList list;
  int64_t skipped = 0;
  for (int64_t expected = kSkipBubbles; expected <= kSkipBubblesMax; expected *= 2) {
    ASSERT_TRUE(TakeUnits(list, kSkipUnits, kBad));
    EXPECT_EQ(SkipBubbles(list), expected);
    skipped += expected;
    EXPECT_EQ(list.bubbles_skipped(), skipped);
    EXPECT_FALSE(list.IsClosed(kSlot));
  }
  ASSERT_TRUE(TakeUnits(list, kSkipUnits, kBad));
  EXPECT_EQ(SkipBubbles(list), kSkipBubblesMax);
}

TEST(SkipListTest, GoodUnitsSetTheNumberBack) {
  SkipList list;
  TakeUnits(list, kSkipUnits, kBad);
  SkipBubbles(list);
  TakeUnits(list, kSkipUnits, kGood);
  TakeUnits(list, kSkipUnits, kBad);
  EXPECT_EQ(SkipBubbles(list), kSkipBubbles);
}

TEST(SkipListTest, UnitsThatWereUnderWayAtTheClosingCountForNothing) {
  SkipList list;
  TakeUnits(list, kSkipUnits, kBad);
  EXPECT_FALSE(TakeUnits(list, 10 * kSkipUnits, kBad));
  EXPECT_EQ(SkipBubbles(list), kSkipBubbles);
}

}  // namespace
}  // namespace pipefill
