// Notices that a main job stands still: its peer died, it waits for a restart, it was stopped.
//
//             no edge for long, and nothing else speaks for work
//   moving -------------------------------------------------------> standing
//      ^      an edge; or its process uses CPU time again              |
//      +---------------------------------------------------------------+
//
// "Long" is `after`, and ten typical iterations: a slow main job is not a dead one. While no bubble
// is open silence alone proves nothing, the main job may evaluate or write a checkpoint: its
// processes must have used less than 2 % of a core between two observations. In an open bubble the
// wait itself is the evidence, and CPU time is none: some libraries wait in a loop. Hence a main
// job that used CPU time when it was found standing moves again with an edge only.
//
// A main job without a typical iteration or an edge (it has just begun) never stands.
//
// Pure. Thread-compatible: one detector belongs to one attached rank.
#ifndef AGENT_LEARN_STALL_DETECTOR_H_
#define AGENT_LEARN_STALL_DETECTOR_H_

#include <optional>

#include "absl/time/time.h"
#include "common/instant.h"

namespace pipefill {

struct StallOptions {
  // 0 = a main job never counts as standing.
  absl::Duration after = absl::Seconds(5);
};

struct StallObservation {
  Instant now;
  // Median of the iterations; 0 = not known.
  absl::Duration typical_iteration;
  bool is_bubble_open = false;
  // Of the rank and its child processes, since they began. Nothing if the process is gone.
  std::optional<absl::Duration> cpu;
};

class StallDetector {
 public:
  explicit StallDetector(const StallOptions& options) : options_(options) {}

  void OnEdge(Instant now);
  // About once a second.
  void Observe(const StallObservation& observation);

  bool is_standing() const { return is_standing_; }

 private:
  // Whether it used next to no CPU time since the observation before.
  bool WasIdle(const StallObservation& observation);

  StallOptions options_;
  std::optional<Instant> last_edge_;
  bool is_standing_ = false;
  bool is_cpu_evidence_ = false;  // it was idle when it was found standing
  std::optional<StallObservation> before_;
};

}  // namespace pipefill

#endif  // AGENT_LEARN_STALL_DETECTOR_H_
