// What all shared pages have in common: a header, and a ring that never makes its writer wait.
//
// Pages are shared between processes that do not trust each other: the reader checks magic and
// version once, and treats every later value as input. Times are CLOCK_MONOTONIC in nanoseconds.
// Standard library only: this header is compiled into other people's processes.
//
// Memory order. A field that carries a decision is stored with release and loaded with acquire; no
// fences are used, so the thread sanitizer can follow. On x86 both are plain moves.
//
// Thread-safe: one writer process, any number of readers.
#ifndef CLIENT_PAGES_PAGE_LAYOUT_H_
#define CLIENT_PAGES_PAGE_LAYOUT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pipefill {

// Raised whenever a layout or the meaning of a field changes. Both sides must agree exactly: a
// process with another version is refused at attach and then runs without pipefill.
inline constexpr uint32_t kPageVersion = 3;

enum class PageKind : uint32_t {
  kSignal = 0x4c474953,  // "SIGL"
  kWindow = 0x444e4957,  // "WIND"
  kTask = 0x4b534154,    // "TASK"
  kTurn = 0x4e525554,    // "TURN"
};

// First 16 bytes of every page. Written by agentd before anybody else sees the page.
struct PageHeader {
  uint32_t magic;  // a PageKind
  uint32_t version;
  uint64_t size_bytes;
};
static_assert(sizeof(PageHeader) == 16);

template <typename T>
using PageField = std::atomic<T>;
static_assert(PageField<uint32_t>::is_always_lock_free && sizeof(PageField<uint32_t>) == 4);
static_assert(PageField<uint64_t>::is_always_lock_free && sizeof(PageField<uint64_t>) == 8);
static_assert(PageField<int64_t>::is_always_lock_free && sizeof(PageField<int64_t>) == 8);

// A ring of records of `kWords` 64-bit words. The writer overwrites the oldest record without
// asking; the reader finds out and counts what it missed.
//
//   slot = sequence % kRecords;  a slot's guard word holds 2 * sequence + 1 while it is written and
//   2 * sequence + 2 when it is complete.
template <size_t kWords, size_t kRecords>
struct PageRing {
  static constexpr size_t kCapacity = kRecords;
  struct Slot {
    PageField<uint64_t> guard;
    PageField<uint64_t> words[kWords];
  };

  PageField<uint64_t> written;  // records ever written
  uint64_t padding[7];
  Slot slots[kRecords];

  // Writer only.
  void Push(const uint64_t (&words)[kWords]) {
    const uint64_t sequence = written.load(std::memory_order_relaxed);
    Slot& slot = slots[sequence % kRecords];
    slot.guard.store(2 * sequence + 1, std::memory_order_relaxed);
    for (size_t i = 0; i < kWords; ++i) slot.words[i].store(words[i], std::memory_order_release);
    slot.guard.store(2 * sequence + 2, std::memory_order_release);
    written.store(sequence + 1, std::memory_order_release);
  }

  // Reader only. Copies record number `sequence`; false if it was overwritten or never written.
  bool Read(uint64_t sequence, uint64_t (&words)[kWords]) const {
    const Slot& slot = slots[sequence % kRecords];
    if (slot.guard.load(std::memory_order_acquire) != 2 * sequence + 2) return false;
    for (size_t i = 0; i < kWords; ++i) words[i] = slot.words[i].load(std::memory_order_acquire);
    return slot.guard.load(std::memory_order_acquire) == 2 * sequence + 2;
  }
};

}  // namespace pipefill

#endif  // CLIENT_PAGES_PAGE_LAYOUT_H_
