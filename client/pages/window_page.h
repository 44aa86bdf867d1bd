// The window page: what agentd allows on one device.
//
// Written by agentd, read by the device's fill tasks (may I start?) and by its main-job rank (is
// anybody waiting?). agentd makes it once per device; it outlives ranks and tasks.
//
// Fields are independent of each other: a reader may see an old entry beside a new one, and both
// are promises that agentd made. A heartbeat older than kHeartbeatStaleNs means that agentd is
// gone: every gate treats the page as closed.
//
// Thread-safe: one writer thread, any number of readers.
#ifndef CLIENT_PAGES_WINDOW_PAGE_H_
#define CLIENT_PAGES_WINDOW_PAGE_H_

#include "client/pages/hold_out.h"
#include "client/pages/page_layout.h"
#include "client/pages/signal_page.h"

namespace pipefill {

// Lengths for which a latest start is published: unit_ns[i], growing, about log-spaced.
inline constexpr size_t kUnitLadder = 16;
// latest_start_ns of a unit that may not start at all.
inline constexpr int64_t kNever = -1;
inline constexpr uint64_t kHeartbeatStaleNs = 1'000'000'000;
// UnitRecord::slot of units in a failure bubble, see WindowPage::failure_begin_ns.
inline constexpr uint32_t kFailureSlot = kNoSlot + 1;

// Values equal those of pipefill.v1.FillMode.
enum class FillMode : uint32_t { kOff = 1, kReport = 2, kFill = 3 };

struct WindowEntry {
  PageField<uint32_t> offered;  // 1 = a window is published for this bubble
  uint32_t padding;
  PageField<int64_t> memory_free_bytes;
  // No unit may start before this offset from the bubble's begin. Not 0 for bubbles that are either
  // over at once or long: which of the two it is shows by then.
  PageField<int64_t> earliest_start_ns;
  // Offset from the bubble's begin up to which a unit of unit_ns[i] may start, or kNever; for
  // lengths between two entries see LatestStart.
  PageField<int64_t> latest_start_ns[kUnitLadder];
};
static_assert(sizeof(WindowEntry) == 24 + 8 * kUnitLadder);

struct WindowPage {
  PageHeader header;
  PageField<uint64_t> heartbeat_ns;  // last time agentd looked, CLOCK_MONOTONIC
  PageField<uint32_t> mode;          // a FillMode, of the main job on this device
  PageField<uint32_t> parked;        // 1 = no unit may start whatever else is written here
  PageField<uint32_t> gates;         // fill tasks attached: the rank wakes nobody while it is 0
  // Raised and futex-woken whenever another signal page takes the place of the one handed out; a
  // task then asks agentd for it. 0 = no rank has attached yet.
  PageField<uint32_t> signal_generation;
  PageField<uint32_t> hold_out_block_iterations;
  PageField<uint32_t> hold_out_one_in;
  PageField<uint32_t> hold_out_one_in_late;
  // Failure bubble: while failure_begin_ns is not 0 and the signal word still is failure_seq, the
  // main job stands still, and units of at most failure_unit_max_ns may start whether a bubble is
  // open or not. Written in the order unit_max, seq, begin; taken back by begin = 0.
  PageField<uint32_t> failure_seq;
  PageField<uint64_t> failure_begin_ns;
  PageField<uint64_t> failure_unit_max_ns;
  PageField<uint64_t> hold_out_early_iterations;
  PageField<uint64_t> spin_ns;  // how long a gate spins before it sleeps
  PageField<uint64_t> unit_ns[kUnitLadder];
  WindowEntry entries[kBubbleSlots];
};
static_assert(offsetof(WindowPage, heartbeat_ns) == 16);
static_assert(offsetof(WindowPage, signal_generation) == 36);
static_assert(offsetof(WindowPage, failure_begin_ns) == 56);
static_assert(offsetof(WindowPage, unit_ns) == 88);
static_assert(offsetof(WindowPage, entries) == 88 + 8 * kUnitLadder);

// Of the straight line from (x0, y0) to (x1, y1), the value at x, rounded down; y0, y1 >= 0 and
// x0 < x <= x1. In doubles, which no input can make overflow: never above the higher end, and exact
// to the nanosecond below 2^53 ns (104 days).
inline int64_t OnChord(uint64_t x0, int64_t y0, uint64_t x1, int64_t y1, uint64_t x) {
  if (x == x1) return y1;
  const double share = static_cast<double>(x - x0) / static_cast<double>(x1 - x0);
  const int64_t rise = y1 < y0 ? y0 - y1 : y1 - y0;
  const double part = static_cast<double>(rise) * share;
  const int64_t whole = part >= static_cast<double>(rise) ? rise : static_cast<int64_t>(part);
  if (y1 >= y0) return y0 + whole;
  // Down, whatever the double lost.
  return y0 - (whole < rise ? whole + 1 : rise);
}

// The latest start of a unit of `length_ns` in the bubble of `slot`, or kNever. Between two entries
// of the ladder it is the straight line between them: agentd publishes entries whose chords keep
// the promise. A line that ends at kNever is none: such a unit counts as long as the upper entry,
// and may not start. A unit shorter than the first entry counts as long as that; one longer than
// the last may never start.
//
// The page is input, and entries change one by one: an old end beside a new one gives a line
// between two promises, for one decision.
inline int64_t LatestStart(const WindowPage& page, uint32_t slot, uint64_t length_ns) {
  if (slot >= kBubbleSlots) return kNever;
  const WindowEntry& entry = page.entries[slot];
  if (entry.offered.load(std::memory_order_acquire) == 0) return kNever;
  uint64_t lower_ns = 0;
  int64_t lower_start_ns = kNever;
  for (size_t i = 0; i < kUnitLadder; ++i) {
    const uint64_t upper_ns = page.unit_ns[i].load(std::memory_order_relaxed);
    const int64_t start_ns = entry.latest_start_ns[i].load(std::memory_order_acquire);
    if (length_ns <= upper_ns) {
      if (start_ns < 0) return kNever;
      if (i == 0 || length_ns == upper_ns) return start_ns;
      if (lower_start_ns < 0) return kNever;
      return OnChord(lower_ns, lower_start_ns, upper_ns, start_ns, length_ns);
    }
    lower_ns = upper_ns;
    lower_start_ns = start_ns;
  }
  return kNever;
}

// Whether agentd lives, is in mode fill and has not parked the device.
inline bool IsFillOn(const WindowPage& page, uint64_t now_ns) {
  const uint64_t heartbeat_ns = page.heartbeat_ns.load(std::memory_order_acquire);
  if (now_ns > heartbeat_ns && now_ns - heartbeat_ns > kHeartbeatStaleNs) return false;
  if (page.parked.load(std::memory_order_acquire) != 0) return false;
  return page.mode.load(std::memory_order_acquire) == static_cast<uint32_t>(FillMode::kFill);
}

// Whether units may start at all now in bubbles of `iteration`, whichever.
inline bool IsFillAllowed(const WindowPage& page, uint64_t now_ns, uint64_t iteration) {
  if (!IsFillOn(page, now_ns)) return false;
  return !IsHeldOut(
      {.block_iterations = page.hold_out_block_iterations.load(std::memory_order_relaxed),
       .one_in = page.hold_out_one_in.load(std::memory_order_relaxed),
       .early_iterations = page.hold_out_early_iterations.load(std::memory_order_relaxed),
       .one_in_late = page.hold_out_one_in_late.load(std::memory_order_relaxed)},
      iteration);
}

}  // namespace pipefill

#endif  // CLIENT_PAGES_WINDOW_PAGE_H_
