// The signal page: what one main-job rank says about itself.
//
// Written by the rank, read by agentd and by the fill tasks of the same device. After the rank has
// mapped it, agentd seals it (F_SEAL_FUTURE_WRITE): nobody else can ever write it.
//
//      BubbleBegin              BubbleEnd
//   even --------> odd (open) -----------> even     `seq` counts edges; it is the futex word
//
// The writer fills slot, begin_ns and iteration, then stores the odd `seq`. A reader loads `seq`,
// then the fields, then `seq` again; different values mean that an edge came between (ReadSignal).
//
// Thread-safe: one writer thread, any number of readers.
#ifndef CLIENT_PAGES_SIGNAL_PAGE_H_
#define CLIENT_PAGES_SIGNAL_PAGE_H_

#include "client/pages/page_layout.h"

namespace pipefill {

// Distinct bubble ids of one rank; more are counted in `bubbles_unnamed` and not offered.
inline constexpr uint32_t kBubbleSlots = 256;
inline constexpr uint32_t kNoSlot = kBubbleSlots;

// Values equal those of pipefill.v1.BubbleClass and of PF_BUBBLE_* in pipefill.h.
enum class BubbleClass : uint8_t {
  kHead = 1,
  kMiddle = 2,
  kScattered = 3,
  kTail = 4,
  kFailure = 5,
  kCustom = 6,
};

// Values equal those of pipefill.v1.EdgeKind.
enum class EdgeKind : uint8_t {
  kIterationBegin = 1,
  kIterationEnd = 2,
  kBubbleBegin = 3,
  kBubbleEnd = 4,
  kMemoryHint = 5,
  kChunkBegin = 6,
  kChunkEnd = 7,
};

// One entry of the event ring.
struct EdgeEvent {
  EdgeKind kind = EdgeKind::kIterationBegin;
  uint32_t slot = kNoSlot;  // of bubble edges
  uint32_t seq = 0;         // `seq` of the page after the edge
  uint64_t time_ns = 0;
  uint64_t iteration = 0;
  uint64_t value = 0;  // kMemoryHint: free bytes; kChunk*: kind of chunk
};
inline constexpr size_t kEdgeWords = 4;
inline constexpr size_t kEdgeRecords = 4096;

inline void PackEdge(const EdgeEvent& edge, uint64_t (&words)[kEdgeWords]) {
  words[0] = static_cast<uint64_t>(edge.kind) | static_cast<uint64_t>(edge.slot) << 8 |
             static_cast<uint64_t>(edge.seq) << 32;
  words[1] = edge.time_ns;
  words[2] = edge.iteration;
  words[3] = edge.value;
}

inline EdgeEvent UnpackEdge(const uint64_t (&words)[kEdgeWords]) {
  EdgeEvent edge;
  edge.kind = static_cast<EdgeKind>(words[0] & 0xff);
  edge.slot = static_cast<uint32_t>(words[0] >> 8 & 0xffffff);
  edge.seq = static_cast<uint32_t>(words[0] >> 32);
  edge.time_ns = words[1];
  edge.iteration = words[2];
  edge.value = words[3];
  return edge;
}

// Class and ordinal of a slot in one word; 0 = the slot is unused.
constexpr uint32_t PackBubbleName(BubbleClass bubble_class, uint32_t ordinal) {
  return static_cast<uint32_t>(bubble_class) << 24 | (ordinal & 0xffffff);
}

struct SignalPage {
  PageHeader header;
  PageField<uint64_t> bubbles_unnamed;  // bubbles beyond kBubbleSlots distinct ids
  // Calls out of order (an end without a begin, a bubble outside an iteration, ...), ignored or mended.
  PageField<uint64_t> calls_misplaced;
  uint64_t padding0[4];

  // The hot line.
  PageField<uint32_t> seq;   // futex word; odd = a bubble is open
  PageField<uint32_t> slot;  // of the bubble that opened last
  PageField<uint64_t> begin_ns;
  PageField<uint64_t> iteration;
  uint64_t padding1[5];

  PageField<uint32_t> bubble_names[kBubbleSlots];  // PackBubbleName; set before the slot's first use
  PageRing<kEdgeWords, kEdgeRecords> events;
};
static_assert(offsetof(SignalPage, seq) == 64);
static_assert(offsetof(SignalPage, begin_ns) == 72);
static_assert(offsetof(SignalPage, bubble_names) == 128);
static_assert(offsetof(SignalPage, events) == 128 + 4 * kBubbleSlots);

// A consistent look at the hot line.
struct SignalView {
  uint32_t seq = 0;
  uint32_t slot = kNoSlot;
  uint64_t begin_ns = 0;
  uint64_t iteration = 0;
  bool is_open() const { return (seq & 1) != 0; }
};

// Retries a few times while edges come in between; then returns a closed view, which is always safe.
inline SignalView ReadSignal(const SignalPage& page) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    SignalView view;
    view.seq = page.seq.load(std::memory_order_acquire);
    view.slot = page.slot.load(std::memory_order_acquire);
    view.begin_ns = page.begin_ns.load(std::memory_order_acquire);
    view.iteration = page.iteration.load(std::memory_order_acquire);
    if (page.seq.load(std::memory_order_acquire) == view.seq) return view;
  }
  SignalView closed;
  closed.seq = page.seq.load(std::memory_order_acquire) & ~1u;
  return closed;
}

}  // namespace pipefill

#endif  // CLIENT_PAGES_SIGNAL_PAGE_H_
