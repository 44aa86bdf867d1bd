// Decides when a fill task's next unit may start, and waits for the moment to ask again.
//
// A unit starts only if, in this order: the signal page is the one that agentd means; a bubble is
// open (with number s = seq); filling is allowed at start_ns; start_ns lies no less behind the
// bubble's begin than the earliest start, and no further than the latest start for the expected
// length; and after all that seq is still s.
// start_ns is taken before the second look at seq, so a unit is never on record as started in a
// bubble whose end was visible at its start.
//
//         Look          Start: kStarted          caller runs the unit
//   waiting --> opening ---------------> in unit --------------------> waiting
//      |  Look: nothing; Start: kClosed, kDenied
//      +--- Wait: until seq moves, a new signal page comes, or the time-out
//
// A failure bubble (see WindowPage) counts like an open one as long as seq is the one that agentd
// found standing still, even or odd, hold-out or not; any unit up to the published length may start
// in it, and records as its latest start the offset at which it did.
//
// Clock and waiting are injected; nothing else is touched but the two pages, which are input:
// whatever they hold, the gate only opens late or not at all.
//
// Thread-compatible: one Gate belongs to one fill task's thread.
#ifndef CLIENT_FILL_GATE_H_
#define CLIENT_FILL_GATE_H_

#include <cstdint>
#include <optional>

#include "client/pages/signal_page.h"
#include "client/pages/task_page.h"
#include "client/pages/window_page.h"
#include "client/platform/clock.h"
#include "client/platform/futex.h"

namespace pipefill::sdk {

enum class GateAnswer {
  kStarted,  // run the unit now
  kClosed,   // no bubble is open, or nothing may be filled at all
  kDenied,   // an offered bubble is open, but no such unit may start in it; said once for each
             // bubble in which no unit ran, afterwards it is kClosed
};

// A moment in which units may start, if they are short enough.
struct Opening {
  SignalView view;
  uint64_t now_ns = 0;
  bool is_failure = false;
  uint64_t begin_ns = 0;             // of the bubble
  uint64_t failure_unit_max_ns = 0;  // in a failure bubble
};

class Gate {
 public:
  // Longest spin that is taken over from the window page.
  static constexpr uint64_t kSpinMaxNs = 1'000'000;

  // All must outlive the gate.
  Gate(const WindowPage* window, const Clock& clock, Futex& futex)
      : window_(window), clock_(clock), futex_(futex) {}

  // The page of the rank on this device, nullptr while there is none, and its generation. Must
  // outlive the gate or the next call.
  void SetSignal(const SignalPage* signal, uint32_t generation);
  // Whether agentd means another signal page than the one set here. Then the gate is closed.
  bool needs_signal() const;

  // No bubble of this device will be filled for now, whatever its length: there is no main job, or
  // its filling is switched off or paused.
  bool is_off() const;

  // What is open now; nullopt: nothing, or nothing may be filled at all.
  std::optional<Opening> Look();
  // Whether a unit of `length_ns` may start in it.
  bool Fits(const Opening& opening, uint64_t length_ns) const {
    return LatestStartIn(opening, length_ns) >= 0;
  }
  // Fills in, when it answers kStarted, everything of `unit` that is known at a unit's start.
  GateAnswer Start(const Opening& opening, uint64_t estimate_ns, UnitRecord* unit);
  // Both in one.
  GateAnswer TryStart(uint64_t estimate_ns, UnitRecord* unit) {
    const std::optional<Opening> opening = Look();
    return opening.has_value() ? Start(*opening, estimate_ns, unit) : GateAnswer::kClosed;
  }

  // Sleeps until something else may be open, at most `timeout_ns`, or until the earliest start of
  // the bubble that the last Look saw: other time that passes, a mode or a heartbeat that change do
  // not end it. Spins first, as the window page says.
  WaitResult Wait(uint64_t timeout_ns);

  // Whether the bubble in which `unit` started is still open.
  bool IsStillOpen(const UnitRecord& unit) const;
  // Sleeps at most `timeout_ns`, and no longer than until somebody wakes for another bubble. At
  // once if that one is not open any more.
  WaitResult WaitWhileOpen(const UnitRecord& unit, uint64_t timeout_ns);

 private:
  bool IsOffered(const SignalView& view, uint64_t now_ns) const;
  // How long it is to the earliest start in the open bubble.
  uint64_t EarlyNs(const Opening& opening) const;
  bool LookForFailure(Opening* opening) const;
  // The offset from the bubble's begin up to which the unit may start, if that lies not in the
  // past; else negative.
  int64_t LatestStartIn(const Opening& opening, uint64_t length_ns) const;
  GateAnswer Deny(uint32_t seq);
  bool SpinUntilChange(const std::atomic<uint32_t>& word, uint32_t expected) const;

  const WindowPage* const window_;
  const Clock& clock_;
  Futex& futex_;

  const SignalPage* signal_ = nullptr;
  uint32_t generation_ = 0;
  uint32_t seen_seq_ = 0;  // what the last Look saw
  uint64_t early_ns_ = 0;  // and how much too early it was
  uint32_t answered_seq_ =
      0;  // the last bubble in which a unit started or that was denied; even: none
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_GATE_H_
