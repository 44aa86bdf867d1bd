// A rank and a gate in two processes, over pages that both map.
#include <sys/wait.h>
#include <unistd.h>

#include "client/pages/signal_page.h"
#include "client/pages/task_page.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill {
namespace {

constexpr uint32_t kBubbles = 100'000;

// All fields of a bubble follow from its seq.
EdgeEvent BeginEdge(uint32_t seq) {
  return {.kind = EdgeKind::kBubbleBegin,
          .slot = seq % kBubbleSlots,
          .seq = seq,
          .time_ns = uint64_t{seq} * 11,
          .iteration = uint64_t{seq} * 13,
          .value = uint64_t{seq} * 17};
}

void WriteAsRank(SignalPage& page) {
  for (uint32_t seq = 1; seq < 2 * kBubbles; seq += 2) {
    const EdgeEvent edge = BeginEdge(seq);
    page.slot.store(edge.slot, std::memory_order_release);
    page.begin_ns.store(edge.time_ns, std::memory_order_release);
    page.iteration.store(edge.iteration, std::memory_order_release);
    page.seq.store(seq, std::memory_order_release);
    uint64_t words[kEdgeWords];
    PackEdge(edge, words);
    page.events.Push(words);
    page.seq.store(seq + 1, std::memory_order_release);
  }
}

bool IsWhole(const SignalView& view) {
  const EdgeEvent edge = BeginEdge(view.seq);
  return view.slot == edge.slot && view.begin_ns == edge.time_ns &&
         view.iteration == edge.iteration;
}

// Reads the newest record; false if it is a mixture.
bool IsNewestEdgeWhole(const SignalPage& page) {
  const uint64_t written = page.events.written.load(std::memory_order_acquire);
  uint64_t words[kEdgeWords];
  if (written == 0 || !page.events.Read(written - 1, words)) return true;
  const EdgeEvent edge = UnpackEdge(words);
  const EdgeEvent expected = BeginEdge(static_cast<uint32_t>(2 * (written - 1) + 1));
  return edge.seq == expected.seq && edge.slot == expected.slot &&
         edge.time_ns == expected.time_ns && edge.iteration == expected.iteration &&
         edge.value == expected.value;
}

TEST(TwoProcessTest, ReaderNeverSeesAMixedBubbleOrEdge) {
  sdk::TestSignalPage page;
  const pid_t rank = fork();
  ASSERT_GE(rank, 0);
  if (rank == 0) {
    WriteAsRank(*page);
    _exit(0);
  }

  uint64_t mixed_views = 0;
  uint64_t mixed_edges = 0;
  while (page->seq.load(std::memory_order_acquire) < 2 * kBubbles) {
    const SignalView view = ReadSignal(*page);
    if (view.is_open() && !IsWhole(view)) ++mixed_views;
    if (!IsNewestEdgeWhole(*page)) ++mixed_edges;
  }
  int status = -1;
  ASSERT_EQ(waitpid(rank, &status, 0), rank);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(mixed_views, 0u);
  EXPECT_EQ(mixed_edges, 0u);
  EXPECT_EQ(page->events.written.load(), kBubbles);
}

// agentd's part of the promise: after the seal nobody gets a second writable mapping, while the
// first one goes on writing and read-only ones see it.
TEST(TwoProcessTest, SealedPageHasOneWriterOnly) {
  sdk::TestSignalPage page;
  ASSERT_EQ(fcntl(page.descriptor(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);

  void* second =
      mmap(nullptr, sizeof(SignalPage), PROT_READ | PROT_WRITE, MAP_SHARED, page.descriptor(), 0);
  EXPECT_EQ(second, MAP_FAILED);
  void* reader = mmap(nullptr, sizeof(SignalPage), PROT_READ, MAP_SHARED, page.descriptor(), 0);
  ASSERT_NE(reader, MAP_FAILED);
  page->seq.store(5);
  EXPECT_EQ(static_cast<const SignalPage*>(reader)->seq.load(), 5u);
  munmap(reader, sizeof(SignalPage));
}

}  // namespace
}  // namespace pipefill
