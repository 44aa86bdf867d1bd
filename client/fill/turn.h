// A fill task's part in the taking of turns with the other tasks of its device (see TurnPage), so
// that never two units run at once on one device, and no daemon is asked.
//
//             Take: kMine                      Take again: kMine, no step at all
//   outside ---------------> holding a turn -------------------------------------> holding it
//      ^                           |
//      +---------------------------+  GiveUp; or Take, when another task should go first
//
// A task keeps the turn over as many units as it can start. It gives it up when it can start no
// more: a rest that is too short for its next unit goes at once to a task whose unit fits. And
// before each unit it looks for a task that wants to run, fits the present rest and should go
// first: one of a lower policy rank, or one of the same rank that is more than kSlackNs of unit
// time behind. (A slack, for each change costs the kernel a switch and the caches their content.)
// To such a task it leaves the turn for a moment, kYieldNs; if nobody has taken it then, it goes on
// itself, and does not ask those again for kVainNs: a sleeping or stopped neighbour never leaves
// the window empty.
//
// A task that could not run for long must not then hold the device for as long: at most kCreditNs
// behind the others counts.
//
// Thread-compatible: belongs to one fill task's thread.
#ifndef CLIENT_FILL_TURN_H_
#define CLIENT_FILL_TURN_H_

#include <array>
#include <cstdint>
#include <optional>

#include "client/pages/turn_page.h"
#include "client/platform/clock.h"
#include "client/platform/futex.h"

namespace pipefill::sdk {

enum class TurnAnswer {
  kMine,
  kTaken,  // another task holds it
  kYield,  // it is left to another task for the moment
};

class Turn {
 public:
  static constexpr uint64_t kSlackNs = 1'000'000;
  static constexpr uint64_t kYieldNs = 50'000;
  static constexpr uint64_t kVainNs = 5'000'000;
  static constexpr uint64_t kCreditNs = 200'000'000;

  // All outlive the turn; seat < kSeats.
  Turn(TurnPage* page, uint32_t seat, const Clock& clock, Futex& futex)
      : page_(page), seat_(seat), clock_(clock), futex_(futex) {}

  // A unit is wanted from now on, of at least `estimate_ns`; may be called again.
  void Want(uint64_t estimate_ns);
  // None is any more. Gives the turn up.
  void StopWanting();

  // Before a unit. Look at the time again after a turn that was not held before: other tasks may
  // have run meanwhile. `opening` names the bubble (a number that changes from one to the next);
  // `fits(length_ns)` tells whether such a unit could start now.
  template <typename Fits>
  TurnAnswer Take(uint32_t opening, const Fits& fits) {
    return TakeUnless(BetterThan(fits), opening);
  }
  // After a unit.
  void OnUnit(uint64_t cpu_ns);
  // Nothing can be started now.
  void GiveUp();

  // Whether the turn that is held may be kept for one more unit: it was not taken away, and no
  // other task should go first. Unlike Take it never gives it up.
  template <typename Fits>
  bool MayKeep(const Fits& fits) const {
    return IsKept(BetterThan(fits));
  }

  // After kTaken and kYield: until the turn has changed hands, at most `timeout_ns`.
  WaitResult Wait(uint64_t timeout_ns);

  // Bits of kOrder*, from agentd.
  uint32_t orders() const { return own().orders.load(std::memory_order_acquire); }
  bool is_holding() const { return is_holding_; }
  // Whether agentd has closed the bubbles of `slot` to this task. REQUIRES: slot < kBubbleSlots.
  bool IsClosed(uint32_t slot) const { return IsClosedTo(own(), slot); }

 private:
  // A free turn in a bubble.
  struct Moment {
    uint32_t word = 0;
    uint32_t opening = 0;
    friend bool operator==(const Moment&, const Moment&) = default;
  };
  // That is left to others.
  struct Yield {
    Moment moment;
    uint64_t since_ns = 0;
  };

  TurnSeat& own() const { return page_->seats[seat_]; }
  // Bits of the seats that other tasks have.
  uint32_t Others() const;
  // A task that wanted nothing for long enters not far behind the others.
  void LimitCredit();
  // Whether the task of `seat` wants to run and should do so before this one.
  bool IsBefore(uint32_t seat) const;
  // Bits of the seats whose tasks fit and should go first.
  template <typename Fits>
  uint32_t BetterThan(const Fits& fits) const {
    uint32_t better = 0;
    const uint32_t others = Others();
    for (uint32_t seat = 0; others >> seat != 0; ++seat) {
      if ((others >> seat & 1) == 0 || !IsBefore(seat)) continue;
      if (fits(page_->seats[seat].estimate_ns.load(std::memory_order_relaxed)))
        better |= 1u << seat;
    }
    return better;
  }
  bool IsKept(uint32_t better) const;
  // `better`: bits of the seats that should go first.
  TurnAnswer TakeUnless(uint32_t better, uint32_t opening);
  uint32_t WithoutVain(uint32_t seats, uint64_t now_ns) const;
  bool IsToYield(uint32_t better, const Moment& moment, uint64_t now_ns);
  // REQUIRES: is_holding_.
  void Free();

  TurnPage* const page_;
  const uint32_t seat_;
  const Clock& clock_;
  Futex& futex_;

  bool is_holding_ = false;
  uint32_t word_ = 0;  // of the turn held, or as the last Take saw it
  std::optional<Yield> yield_;
  // Until when each seat is not asked again.
  std::array<uint64_t, kSeats> vain_until_ns_ = {};
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_TURN_H_
