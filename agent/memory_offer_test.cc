#include "agent/memory_offer.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(MemoryOfferTest, ReservesWhatIsUsedAndAnEighthMore) {
  EXPECT_EQ(MemoryOffer().ReservedBytes(800), 900);
  EXPECT_EQ(MemoryOffer().ReservedBytes(0), 0);
}

TEST(MemoryOfferTest, ReservesWhatIsNeededAgainAndAgainThoughItIsNotNeededNow) {
  MemoryOffer offer;
  for (int i = 0; i < 40; ++i) offer.OnReading(i % 4 == 0 ? 8'000 : 800);
  EXPECT_EQ(offer.ReservedBytes(800), 9'000);
}

TEST(MemoryOfferTest, OnePeakInTwentyIsLeftToTheHeadRoom) {
  MemoryOffer offer;
  for (int i = 0; i < 60; ++i) offer.OnReading(i == 30 ? 8'000 : 800);
  EXPECT_EQ(offer.ReservedBytes(800), 900);
}

TEST(MemoryOfferTest, PeakOfThisMomentCountsAtOnce) {
  MemoryOffer offer;
  for (int i = 0; i < 60; ++i) offer.OnReading(800);
  EXPECT_EQ(offer.ReservedBytes(8'000), 9'000);
}

TEST(MemoryOfferTest, ForgetsWhatIsLongAgo) {
  MemoryOffer offer;
  for (int i = 0; i < 64; ++i) offer.OnReading(8'000);
  for (int i = 0; i < 64; ++i) offer.OnReading(800);
  EXPECT_EQ(offer.ReservedBytes(800), 900);
}

}  // namespace
}  // namespace pipefill
