// Keeps the accounts of one device: what its main rank did, how much of each bubble was offered,
// and what the units of the tasks there took, inside bubbles and beyond
// (client/pages/unit_split.h).
//
// One drain, in this order:
//   1. read the rings of all tasks of the device, then the ring of the rank;
//   2. OnEdgesDropped, then OnEdge for each edge, feeding the predictor with what it returns;
//   3. OnUnit for each unit.
// A unit is split when the end of its bubble is known:
//
//   OnUnit ----> waiting ---- end edge of its bubble, or the rank left ----> split at that end
//                   |
//                   +-------- its bubble has begun, but the end was missed --> all of it inside
//                   +-------- no bubble began when and as it says -----------> all of it overrun
//
// While the main job stands still (agent/learn/stall_detector.h) its device is one bubble beside
// the others, between OnFailureBegan and OnFailureEnded. Its units carry kFailureSlot and are split
// at its end. Of a bubble that was open at its begin only what came before is counted, and the
// iteration in which it lies is not.
//
// A bubble may go on over the end of its iteration, into the next one. It belongs to the one in
// which it began; only what was offered of it goes by the hold-out of each.
//
// Bubbles that closed are remembered (the last kClosedBubblesKept), so a unit may also arrive later
// than the end of its bubble. Ranks come and go; tasks stay, and so do their totals.
//
// Every record may come from a page: numbers that contradict each other are counted as `unmatched`
// and otherwise ignored.
//
// Pure. Thread-compatible: one account belongs to one device.
#ifndef AGENT_RANK_ACCOUNT_H_
#define AGENT_RANK_ACCOUNT_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "agent/learn/recent_values.h"
#include "client/pages/hold_out.h"
#include "client/pages/signal_page.h"
#include "client/pages/task_page.h"
#include "common/instant.h"

namespace pipefill {

inline constexpr size_t kClosedBubblesKept = 256;
// More waiting units than this: the oldest is taken to lie in its bubble, which is still open.
inline constexpr size_t kWaitingUnitsMax = 8192;

// Since the rank attached. Becomes v1.MainRank.
struct RankTotals {
  int64_t iterations = 0;        // begun
  int64_t iteration_p50_ns = 0;  // of the last 64; 0 = none yet
  int64_t iteration_ns = 0;      // of ended iterations
  int64_t bubble_ns = 0;         // of ended bubbles, with a name or without
  int64_t fillable_ns = 0;       // of those, in iterations that are no hold-outs
  int64_t overrun_ns = 0;        // CPU time of units after the end of their bubbles
  int64_t edges_dropped = 0;     // overwritten before they were read
  int64_t unmatched = 0;         // an end without a begin, or the other way round
};

// Of one slot since the rank attached. Becomes part of v1.BubbleStats.
struct BubbleTotals {
  int64_t count = 0;
  int64_t bubble_ns = 0;
  int64_t offered_ns =
      0;                // in iterations that are no hold-outs, with a window at the bubble's begin
  int64_t offered = 0;  // how many bubbles that was
  int64_t filled_ns = 0;   // CPU time of units, inside the bubble
  int64_t overrun_ns = 0;  // CPU time of units, after its end
  int64_t units = 0;
  int64_t overruns = 0;  // units with any overrun
};

// Of one task, over all ranks. Becomes part of v1.FillProgress.
struct TaskTotals {
  int64_t units = 0;
  int64_t unit_cpu_ns = 0;  // in_bubble_ns + overrun_ns
  int64_t in_bubble_ns = 0;
  int64_t overrun_ns = 0;
  int64_t units_overrun = 0;  // those with any of it
};

// A unit whose bubble is over.
struct SettledUnit {
  int32_t task_key = 0;
  uint32_t slot = kNoSlot;
  int64_t cpu_ns = 0;
  int64_t overrun_ns = 0;
};

struct ClosedBubble {
  uint32_t slot = kNoSlot;  // kNoSlot: a bubble without a name
  uint64_t iteration = 0;
  int64_t begin_ns = 0;
  int64_t length_ns = 0;
};

// An iteration of which both edges were seen.
struct EndedIteration {
  uint64_t number = 0;
  int64_t begin_ns = 0;
  int64_t length_ns = 0;
};

// What an edge tells the predictor and the controller; empty fields: nothing.
struct EdgeEffect {
  std::optional<ClosedBubble> closed;
  // Slot of the open bubble to which the memory hint applies; the bytes are in the edge.
  std::optional<uint32_t> hinted_slot;
  std::optional<EndedIteration> ended;
};

class RankAccount {
 public:
  explicit RankAccount(const HoldOut& hold_out);

  // A rank attached; its signal page has this generation (WindowWriter::RaiseSignalGeneration).
  // Rank and bubble totals start again from zero.
  void OnAttached(uint32_t generation);
  // The rank left: its open bubble and iteration end now, the bubble counts, the iteration does
  // not.
  void OnDetached(Instant now);

  // The main job stands still from now on, and moves again. OnDetached does not end a failure.
  // REQUIRES: a rank is attached, and no failure, or one, is under way.
  void OnFailureBegan(Instant now);
  void OnFailureEnded(Instant now);
  // Edges are not looked at from here until the next call of OnEdge. As OnDetached, but the rank
  // stays; what ends later without having begun is not counted as unmatched.
  void OnBreak(Instant now);

  // `is_offered`: for a bubble's begin, WindowWriter::IsOffered(edge.slot); otherwise unused.
  // REQUIRES: a rank is attached.
  EdgeEffect OnEdge(const EdgeEvent& edge, bool is_offered);
  void OnEdgesDropped(uint64_t count);

  // `task_key` is that of the trace. Units of older generations are welcome.
  void OnUnit(int32_t task_key, const UnitRecord& unit);
  // Those whose bubbles have ended since the last call, of tasks that were not forgotten.
  std::vector<SettledUnit> TakeSettled() { return std::exchange(settled_, {}); }
  // Forgets the totals of a task. Its waiting units still count for their bubbles.
  void ForgetTask(int32_t task_key);

  RankTotals rank() const;
  // Zeroes for slots that were not seen. REQUIRES: slot < kBubbleSlots.
  const BubbleTotals& bubble(uint32_t slot) const;
  // Of all times the main job stood still; all of it counts as offered.
  const BubbleTotals& failures() const { return failures_; }
  // Zeroes for tasks that were not seen. Units that wait count as inside for now: their bubble was
  // still open when they were read.
  TaskTotals task(int32_t task_key) const;
  size_t waiting_units() const { return waiting_.size(); }

 private:
  struct OpenBubble {
    uint32_t seq = 0;
    uint32_t slot = kNoSlot;
    int64_t begin_ns = 0;
    uint64_t iteration = 0;
    bool has_window = false;
    // While it is offered: since when, not yet counted in offered_ns.
    std::optional<int64_t> offered_since_ns;
    int64_t offered_ns = 0;
    // What comes later is not counted: the main job stood still.
    std::optional<int64_t> counted_until_ns;
  };
  struct PastFailure {
    uint32_t generation = 0;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };
  struct PastBubble {
    uint32_t generation = 0;
    uint32_t seq = 0;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
  };
  struct WaitingUnit {
    int32_t task_key = 0;
    UnitRecord unit;
  };

  void BeginBubble(const EdgeEvent& edge, bool is_offered);
  std::optional<ClosedBubble> EndBubble(const EdgeEvent& edge);
  std::optional<EndedIteration> EndIteration(const EdgeEvent& edge);
  // Counts what was offered of the open bubble up to now; from there on it goes by `iteration`.
  void CountOffered(int64_t now_ns, uint64_t iteration);
  // Counts the open bubble.
  ClosedBubble CloseBubble(int64_t end_ns);
  // What is open ends now.
  void CloseAll(Instant now);
  // The open bubble's end was missed.
  void AbandonBubble();
  void RememberOpen(int64_t end_ns);

  // Splits what can be split by now.
  void SettleWaiting();
  bool TrySettle(const WaitingUnit& waiting);
  bool TrySettleFailure(const WaitingUnit& waiting);
  // Where units of `slot` are counted; nullptr: nowhere.
  BubbleTotals* TotalsOf(uint32_t slot);
  bool IsOpenOrToCome(const UnitRecord& unit) const;
  void Settle(const WaitingUnit& waiting, int64_t bubble_end_ns);
  const PastBubble* FindPast(const UnitRecord& unit) const;

  const HoldOut hold_out_;
  bool is_attached_ = false;
  uint32_t generation_ = 0;
  uint32_t last_seq_ = 0;  // of the newest bubble edge
  RankTotals rank_;
  RecentValues iteration_lengths_;
  std::optional<OpenBubble> open_;
  std::optional<EdgeEvent> iteration_begin_;
  bool is_iteration_broken_ = false;  // its begin was seen, but it does not count
  std::optional<int64_t> failure_begin_ns_;
  BubbleTotals failures_;
  std::deque<PastFailure> past_failures_;
  // A break came; the first end of each kind may be of something that began before.
  bool may_miss_bubble_begin_ = false;
  bool may_miss_iteration_begin_ = false;
  std::vector<BubbleTotals> bubbles_;  // kBubbleSlots
  std::deque<PastBubble> past_;
  std::deque<WaitingUnit> waiting_;
  std::vector<SettledUnit> settled_;
  std::map<int32_t, TaskTotals> tasks_;
};

}  // namespace pipefill

#endif  // AGENT_RANK_ACCOUNT_H_
