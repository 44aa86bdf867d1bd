// One main job on this node, as its slowdown controller sees it: all its ranks here, of which the
// lowest tells how long iterations take.
//
//   iteration    counts as filled or held out if some rank could have been filled through all of
//   it:
//                gates open, a bubble on offer, and a task that has run units. Whether units really
//                ran is no matter: else iterations would be chosen by their outcome.
//   overrun      of all ranks here, per bubble time in iterations that are no hold-outs
//
// Pure. Thread-compatible: belongs to the agent loop.
#ifndef AGENT_MAIN_JOB_CONTROL_H_
#define AGENT_MAIN_JOB_CONTROL_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/learn/slowdown_controller.h"
#include "agent/main_job_board.h"
#include "agent/rank_account.h"
#include "client/pages/hold_out.h"
#include "common/instant.h"
#include "proto/types.pb.h"

namespace pipefill {

// What came from one rank since the last observation, and how it is now.
struct RankObservation {
  std::string main_job;
  int32_t rank = 0;
  int32_t rank_key = 0;  // of the trace
  RankSettings settings;
  bool is_parked = false;
  bool has_failure = false;       // it stands still
  bool has_offer = false;         // some bubble is known well enough
  bool has_working_task = false;  // a task with a gate that has run a unit
  std::vector<EndedIteration> iterations;
  // Sums since it attached.
  int64_t fillable_ns = 0;
  int64_t overrun_ns = 0;

  bool could_be_filled() const {
    return settings.is_filled() && !is_parked && !has_failure && has_offer && has_working_task;
  }
};

class MainJobControl {
 public:
  MainJobControl(const ControllerOptions& options, double overrun_ratio, const HoldOut& hold_out,
                 double budget);

  // Of all its ranks here, by rank; not empty. Returns whether the controller decided something.
  bool Update(const std::vector<RankObservation>& ranks, Instant now);

  const SlowdownControl& control() const { return controller_.control(); }

 private:
  struct Sums {
    int64_t fillable_ns = 0;
    int64_t overrun_ns = 0;
  };

  void TakeSums(const std::vector<RankObservation>& ranks);
  bool TakeIteration(const EndedIteration& iteration, Instant now);

  const HoldOut hold_out_;
  SlowdownController controller_;
  // Since when some rank could be filled all the time.
  std::optional<Instant> fillable_since_;
  std::map<int32_t, Sums> before_;  // by rank key
  Sums sums_;                       // since the last filled iteration
};

// For people. `now` is for what is left of a back-off.
v1::FillControl DescribeFill(const RankObservation& rank, const SlowdownControl& control,
                             Instant now);

}  // namespace pipefill

#endif  // AGENT_MAIN_JOB_CONTROL_H_
