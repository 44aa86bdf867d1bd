#include "client/pages/page_layout.h"

#include <atomic>
#include <memory>
#include <thread>

#include "gtest/gtest.h"

namespace pipefill {
namespace {

constexpr size_t kWords = 5;
constexpr size_t kRecords = 8;
using Ring = PageRing<kWords, kRecords>;

// All words of a record follow from its number, so a mixture of two records shows.
void Fill(uint64_t sequence, uint64_t (&words)[kWords]) {
  for (size_t i = 0; i < kWords; ++i) words[i] = sequence * 1'000'003 + i;
}

bool IsRecord(uint64_t sequence, const uint64_t (&words)[kWords]) {
  uint64_t expected[kWords];
  Fill(sequence, expected);
  for (size_t i = 0; i < kWords; ++i) {
    if (words[i] != expected[i]) return false;
  }
  return true;
}

void PushRecords(Ring& ring, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t words[kWords];
    Fill(ring.written.load(), words);
    ring.Push(words);
  }
}

TEST(PageRingTest, GivesBackWhatWasPushed) {
  auto ring = std::make_unique<Ring>();
  PushRecords(*ring, 3);

  EXPECT_EQ(ring->written.load(), 3u);
  for (uint64_t sequence = 0; sequence < 3; ++sequence) {
    uint64_t words[kWords];
    ASSERT_TRUE(ring->Read(sequence, words));
    EXPECT_TRUE(IsRecord(sequence, words));
  }
}

TEST(PageRingTest, HasNoRecordThatWasNeverWritten) {
  auto ring = std::make_unique<Ring>();
  PushRecords(*ring, 3);

  uint64_t words[kWords];
  EXPECT_FALSE(ring->Read(3, words));
  EXPECT_FALSE(ring->Read(kRecords, words));
}

TEST(PageRingTest, TellsThatARecordWasOverwritten) {
  auto ring = std::make_unique<Ring>();
  PushRecords(*ring, kRecords + 2);

  uint64_t words[kWords];
  EXPECT_FALSE(ring->Read(0, words));
  EXPECT_FALSE(ring->Read(1, words));
  for (uint64_t sequence = 2; sequence < kRecords + 2; ++sequence) {
    ASSERT_TRUE(ring->Read(sequence, words));
    EXPECT_TRUE(IsRecord(sequence, words));
  }
}

TEST(PageRingTest, HidesARecordThatIsBeingWritten) {
  auto ring = std::make_unique<Ring>();
  PushRecords(*ring, kRecords + 1);
  ring->slots[1].guard.store(2 * (kRecords + 1) + 1);

  uint64_t words[kWords];
  EXPECT_FALSE(ring->Read(1, words));
  EXPECT_FALSE(ring->Read(kRecords + 1, words));
}

// The reader stays at the writer's heels, where it is overtaken most often.
TEST(PageRingTest, NeverGivesATornRecordWhileTheWriterLapsTheReader) {
  constexpr uint64_t kPushes = 200'000;
  auto ring = std::make_unique<Ring>();
  std::thread writer([&ring] { PushRecords(*ring, kPushes); });

  uint64_t read = 0;
  uint64_t torn = 0;
  uint64_t written = 0;
  while (written < kPushes) {
    written = ring->written.load(std::memory_order_acquire);
    const uint64_t oldest = written > kRecords ? written - kRecords : 0;
    for (uint64_t sequence = oldest; sequence < written; ++sequence) {
      uint64_t words[kWords];
      if (!ring->Read(sequence, words)) continue;
      ++read;
      if (!IsRecord(sequence, words)) ++torn;
    }
  }
  writer.join();

  EXPECT_GE(read, kRecords);
  EXPECT_EQ(torn, 0u);
}

}  // namespace
}  // namespace pipefill
