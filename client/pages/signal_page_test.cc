#include "client/pages/signal_page.h"

#include <memory>
#include <thread>

#include "gtest/gtest.h"

namespace pipefill {
namespace {

TEST(EdgeEventTest, SurvivesPackingWithAllFieldsAtTheirLargest) {
  const EdgeEvent edge = {.kind = EdgeKind::kChunkEnd,
                          .slot = kNoSlot,
                          .seq = UINT32_MAX,
                          .time_ns = UINT64_MAX,
                          .iteration = UINT64_MAX - 1,
                          .value = UINT64_MAX - 2};
  uint64_t words[kEdgeWords];
  PackEdge(edge, words);

  const EdgeEvent unpacked = UnpackEdge(words);
  EXPECT_EQ(unpacked.kind, edge.kind);
  EXPECT_EQ(unpacked.slot, edge.slot);
  EXPECT_EQ(unpacked.seq, edge.seq);
  EXPECT_EQ(unpacked.time_ns, edge.time_ns);
  EXPECT_EQ(unpacked.iteration, edge.iteration);
  EXPECT_EQ(unpacked.value, edge.value);
}

TEST(BubbleNameTest, KeepsClassAndOrdinalApart) {
  EXPECT_NE(PackBubbleName(BubbleClass::kHead, 2), PackBubbleName(BubbleClass::kMiddle, 2));
  EXPECT_NE(PackBubbleName(BubbleClass::kHead, 2), PackBubbleName(BubbleClass::kHead, 3));
  EXPECT_EQ(PackBubbleName(BubbleClass::kHead, 0xffffff) >> 24,
            static_cast<uint32_t>(BubbleClass::kHead));
  EXPECT_NE(PackBubbleName(BubbleClass::kHead, 0), 0u);
}

TEST(ReadSignalTest, ShowsAFreshPageAsClosed) {
  auto page = std::make_unique<SignalPage>();
  EXPECT_FALSE(ReadSignal(*page).is_open());
}

TEST(ReadSignalTest, ShowsTheOpenBubble) {
  auto page = std::make_unique<SignalPage>();
  page->slot.store(7);
  page->begin_ns.store(1234);
  page->iteration.store(5);
  page->seq.store(9);

  const SignalView view = ReadSignal(*page);
  EXPECT_TRUE(view.is_open());
  EXPECT_EQ(view.seq, 9u);
  EXPECT_EQ(view.slot, 7u);
  EXPECT_EQ(view.begin_ns, 1234u);
  EXPECT_EQ(view.iteration, 5u);
}

// Opens and closes bubbles whose fields all follow from their number.
void WriteBubbles(SignalPage& page, uint32_t bubbles) {
  for (uint32_t i = 0; i < bubbles; ++i) {
    const uint32_t seq = 2 * i + 1;
    page.slot.store(seq % kBubbleSlots, std::memory_order_release);
    page.begin_ns.store(uint64_t{seq} * 11, std::memory_order_release);
    page.iteration.store(uint64_t{seq} * 13, std::memory_order_release);
    page.seq.store(seq, std::memory_order_release);
    page.seq.store(seq + 1, std::memory_order_release);
  }
}

TEST(ReadSignalTest, NeverMixesTwoBubblesWhileTheWriterRaces) {
  constexpr uint32_t kBubbles = 300'000;
  auto page = std::make_unique<SignalPage>();
  std::thread writer([&page] { WriteBubbles(*page, kBubbles); });

  uint64_t mixed = 0;
  while (page->seq.load(std::memory_order_acquire) < 2 * kBubbles) {
    const SignalView view = ReadSignal(*page);
    if (!view.is_open()) continue;
    const bool is_whole = view.slot == view.seq % kBubbleSlots &&
                          view.begin_ns == uint64_t{view.seq} * 11 &&
                          view.iteration == uint64_t{view.seq} * 13;
    if (!is_whole) ++mixed;
  }
  writer.join();

  EXPECT_EQ(mixed, 0u);
}

}  // namespace
}  // namespace pipefill
