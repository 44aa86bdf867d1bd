// agentd's side of the turns that the fill tasks of one device take (client/pages/turn_page.h):
// makes the page, gives out its seats, and takes the turn from whoever cannot use it.
//
//   seat:  free --TakeSeat--> taken --LeaveSeat--> free
//
// The tasks settle among themselves who runs; agentd is not asked. It only clears up: the turn of a
// task that left, or that for kStuckAfter has run no unit though it holds it (it is frozen, or
// stuck elsewhere), and a holder that makes no sense.
//
// Thread-compatible: one loop calls. The page's other writers are other processes.
#ifndef AGENT_TURN_BOARD_H_
#define AGENT_TURN_BOARD_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/pages/turn_page.h"
#include "common/instant.h"
#include "common/sealed_page.h"

namespace pipefill {

class TurnBoard {
 public:
  static constexpr absl::Duration kStuckAfter = absl::Milliseconds(50);

  // Never sealed against writing: each new task maps it for that.
  static absl::StatusOr<std::unique_ptr<TurnBoard>> Create();

  // For handing out; stays owned by the board.
  int descriptor() const { return page_.descriptor(); }

  // A task enters, level with the least served one that is there; nullopt if all seats are taken.
  std::optional<uint32_t> TakeSeat(int32_t policy_rank);
  // It is gone.
  void LeaveSeat(uint32_t seat);
  // Closes the bubbles of `slot` to the task of `seat`, or opens them. A seat that is taken begins
  // with all of them open. REQUIRES: seat < kSeats, slot < kBubbleSlots.
  void SetClosed(uint32_t seat, uint32_t slot, bool is_closed);

  // Raises or takes back kOrderSave of a seat that is taken.
  void OrderSave(uint32_t seat, bool is_ordered);

  // Every 10 ms or so. `is_running` tells whether the task of a seat has a unit in progress and has
  // not been stopped by a signal.
  void Watch(Instant now, absl::FunctionRef<bool(uint32_t seat)> is_running);

  // Turns taken from tasks so far.
  int64_t turns_taken_away() const { return turns_taken_away_; }

 private:
  explicit TurnBoard(SealedPage page) : page_(std::move(page)) {}
  TurnPage& turns() const { return *page_.As<TurnPage>(); }
  // If the turn is still that of `word`.
  void TakeAway(uint32_t word);

  SealedPage page_;
  uint32_t taken_ = 0;  // what the page should say
  uint32_t word_ = 0;   // holder at the last look
  Instant running_at_;  // when that turn was last seen in use
  int64_t turns_taken_away_ = 0;
};

}  // namespace pipefill

#endif  // AGENT_TURN_BOARD_H_
