// Turns the calls of a training loop into edges in its signal page.
//
//   outside --IterationBegin--> inside --BubbleBegin or ChunkEnd--> bubble open (seq odd)
//           <--IterationEnd----        <--BubbleEnd or ChunkBegin--
//
// Of a rank that reports chunks, the bubble after the last chunk stays open over the end of the
// iteration and the begin of the next one, up to its first chunk, if the iteration's order shows
// that nothing lies between (ChunkOrder::joins_next_head). It belongs to the iteration in which it
// began; the page's `iteration` moves at the begin of the next one, so that gates keep that one's
// hold-out. Bubbles that a rank reports itself end with the iteration.
//
// No call waits, allocates, locks or fails; BubbleBegin and ChunkEnd make at most one system call,
// a futex wake, and only when a gate may be waiting for a bubble that is offered. Calls out of
// order never break the page: what is open gets closed first, what makes no sense is ignored, and
// both are counted in SignalPage::calls_misplaced.
//
// A rank reports bubbles or chunks; whichever it does first holds for good, the other is misplaced.
// That it reports chunks is known only at the first chunk, so the head bubble of the first
// iteration is recorded after the fact, without ever showing open.
//
// Thread-compatible: one thread at a time makes calls.
#ifndef CLIENT_MAIN_JOB_EDGE_RECORDER_H_
#define CLIENT_MAIN_JOB_EDGE_RECORDER_H_

#include <cstdint>

#include "client/main_job/bubble_names.h"
#include "client/main_job/chunk_order.h"
#include "client/pages/signal_page.h"
#include "client/pages/window_page.h"
#include "client/platform/clock.h"
#include "client/platform/futex.h"

namespace pipefill::sdk {

class EdgeRecorder {
 public:
  // All must outlive the recorder. `signal` is fresh: nobody has written it.
  EdgeRecorder(SignalPage* signal, const WindowPage* window, const Clock& clock, Futex& futex)
      : signal_(signal), window_(window), clock_(clock), futex_(futex) {}

  // Goes on in other pages, of which `signal` is fresh too. For between iterations: what is open is
  // closed in the old page and appears in neither as a whole.
  void MoveTo(SignalPage* signal, const WindowPage* window);

  // Closes an iteration that is still open; that one is misplaced.
  void IterationBegin(uint64_t iteration);
  // Closes the open bubble or chunk first, unless the bubble joins the next head.
  void IterationEnd();

  // Misplaced outside an iteration, with an unknown class, or with an ordinal of 2^24 and more.
  // While a bubble is open that one is closed first.
  void BubbleBegin(int bubble_class, uint32_t ordinal);
  void BubbleEnd();

  // A kind that is none of PF_CHUNK_* counts as PF_CHUNK_OTHER. Of nested chunks the outermost is
  // recorded. Misplaced outside an iteration, but the device is not idle then: what is open closes.
  void ChunkBegin(int chunk_kind);
  void ChunkEnd();

  // The last call: an open bubble closes.
  void Detach();

  // Misplaced outside an iteration.
  void MemoryHint(uint64_t free_bytes);

 private:
  enum class Reporting { kUnknown, kBubbles, kChunks };

  bool is_bubble_open() const { return (seq_ & 1) != 0; }
  // The slot of `name`, published in the page; kNoSlot, counted, when there is none left.
  uint32_t SlotOf(uint32_t name);
  void OpenBubble(uint32_t name, uint64_t now_ns);
  void CloseBubble(uint64_t now_ns);
  void CloseAll(uint64_t now_ns);
  void GoOnInIteration(uint64_t now_ns, uint64_t iteration_before);
  void RecordFirstHead(uint64_t now_ns);
  void CountMisplaced();
  void Push(EdgeKind kind, uint64_t now_ns, uint64_t value = 0);
  void WakeGates(uint64_t now_ns);

  SignalPage* signal_;
  const WindowPage* window_;
  const Clock& clock_;
  Futex& futex_;

  Reporting reporting_ = Reporting::kUnknown;
  bool in_iteration_ = false;
  uint64_t iteration_ = 0;
  uint64_t iteration_begin_ns_ = 0;
  bool is_first_edge_next_ = false;  // nothing was recorded since the iteration began
  uint32_t seq_ = 0;                 // that of the page; odd = a bubble is open
  uint32_t slot_ = kNoSlot;          // of the bubble that opened last
  uint32_t chunk_depth_ = 0;
  int chunk_kind_ = PF_CHUNK_OTHER;  // of the outermost open chunk
  BubbleNames names_;
  ChunkOrder order_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_MAIN_JOB_EDGE_RECORDER_H_
