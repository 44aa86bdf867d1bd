#include "client/main_job/bubble_names.h"

#include <memory>
#include <set>

#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace pipefill::sdk {
namespace {

TEST(BubbleNamesTest, NumbersNamesInTheirOrderOfAppearance) {
  BubbleNames names;
  EXPECT_EQ(names.FindOrAdd(PackBubbleName(BubbleClass::kTail, 9)).slot, 0u);
  EXPECT_EQ(names.FindOrAdd(PackBubbleName(BubbleClass::kHead, 0)).slot, 1u);
  EXPECT_EQ(names.FindOrAdd(PackBubbleName(BubbleClass::kTail, 9)).slot, 0u);
}

TEST(BubbleNamesTest, SaysOnceThatANameIsNew) {
  BubbleNames names;
  const uint32_t name = PackBubbleName(BubbleClass::kMiddle, 1);
  EXPECT_TRUE(names.FindOrAdd(name).is_new);
  EXPECT_FALSE(names.FindOrAdd(name).is_new);
}

TEST(BubbleNamesTest, HasNoSlotBeyondTheLastButKeepsTheOthers) {
  BubbleNames names;
  for (uint32_t i = 0; i < kBubbleSlots; ++i) {
    ASSERT_EQ(names.FindOrAdd(PackBubbleName(BubbleClass::kCustom, i)).slot, i);
  }

  const BubbleNames::Found late = names.FindOrAdd(PackBubbleName(BubbleClass::kCustom, 1000));
  EXPECT_EQ(late.slot, kNoSlot);
  EXPECT_FALSE(late.is_new);
  for (uint32_t i = 0; i < kBubbleSlots; ++i) {
    EXPECT_EQ(names.FindOrAdd(PackBubbleName(BubbleClass::kCustom, i)).slot, i);
  }
}

TEST(BubbleNamesTest, ScatteredBubblesLeaveSomeSlotsToTheOthers) {
  BubbleNames names;
  for (uint32_t i = 0; i < kBubbleSlots; ++i) {
    const bool has_slot = i < kBubbleSlots - kSlotsReserved;
    const BubbleNames::Found found = names.FindOrAdd(PackBubbleName(BubbleClass::kScattered, i));
    ASSERT_EQ(found.slot, has_slot ? i : kNoSlot);
  }
  EXPECT_EQ(names.FindOrAdd(PackBubbleName(BubbleClass::kTail, 300)).slot,
            kBubbleSlots - kSlotsReserved);
}

RC_GTEST_PROP(BubbleNamesTest, DifferentNamesNeverShareASlot, ()) {
  const auto ordinals =
      *rc::gen::container<std::set<uint32_t>>(rc::gen::inRange<uint32_t>(0, 1u << 24));
  BubbleNames names;
  std::set<uint32_t> slots;
  for (const uint32_t ordinal : ordinals) {
    const BubbleNames::Found found = names.FindOrAdd(PackBubbleName(BubbleClass::kCustom, ordinal));
    if (found.slot == kNoSlot) continue;
    RC_ASSERT(slots.insert(found.slot).second);
  }
  RC_ASSERT(slots.size() == std::min<size_t>(ordinals.size(), kBubbleSlots));
}

}  // namespace
}  // namespace pipefill::sdk
