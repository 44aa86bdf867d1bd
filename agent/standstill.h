// The failure bubble of the attached rank: while its main job stands still
// (learn/stall_detector.h), its device is offered as one open-ended bubble for short units.
//
//          Look: it stands            OnEdges; Look: it works again; End
//   closed ----------------> open ---------------------------------------> closed
//                 page, account, trace; gates woken
//
// Gates compare the signal word with the one in the page: they close with the rank's next edge, and
// not when agentd sees it.
//
// Runs on the agent loop.
#ifndef AGENT_STANDSTILL_H_
#define AGENT_STANDSTILL_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "absl/time/time.h"
#include "agent/devices/process_stat.h"
#include "agent/learn/bubble_predictor.h"
#include "agent/learn/stall_detector.h"
#include "agent/page_writer.h"
#include "agent/rank_account.h"
#include "agent/trace_writer.h"
#include "client/pages/signal_page.h"
#include "common/instant.h"

namespace pipefill {

struct StandstillOptions {
  StallOptions stall = {};
  // Longest unit that may start.
  absl::Duration unit_max = absl::Milliseconds(20);
};

class Standstill {
 public:
  // All outlive the object.
  struct Parts {
    const SignalPage& signal;
    WindowWriter& window;
    BubblePredictor& predictor;
    RankAccount& account;
    TraceWriter& trace;
  };

  Standstill(const StandstillOptions& options, const Parts& parts, int32_t rank_key)
      : options_(options), parts_(parts), rank_key_(rank_key), detector_(options.stall) {}

  // Edges were read, the first of them made at `first_edge`. Before they go into the account.
  void OnEdges(Instant now, Instant first_edge);
  // About once a second, after the ring was read. `rank_pid`: with its child processes.
  void Look(Instant now, const ProcessTable& processes, pid_t rank_pid);
  // Closes the bubble if it is open.
  void End(Instant now);

  bool is_open() const { return begin_.has_value(); }
  // Whether a unit that began at `start`, or without one the signal, lies in the open bubble.
  bool Contains(const SignalView& signal, std::optional<Instant> start) const {
    return is_open() && signal.seq == seq_ && (!start.has_value() || *begin_ <= *start);
  }

 private:
  void Begin(uint32_t seq, Instant now);

  const StandstillOptions options_;
  const Parts parts_;
  const int32_t rank_key_;
  StallDetector detector_;
  std::optional<Instant> begin_;
  uint32_t seq_ = 0;  // signal word at which it stands
};

}  // namespace pipefill

#endif  // AGENT_STANDSTILL_H_
