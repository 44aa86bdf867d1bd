// What a stage's bubbles offer to fill jobs once agentd has learned them, and what a gate makes of
// the offer: the same predictor as in the daemon, fed with the bubbles of a pipeline model.
//
//   StageRun --BubblePredictor--> StageOffer --units, one after the other--> FillYield
//
// Pure.
#ifndef SIMULATOR_CLUSTER_FILL_OFFER_H_
#define SIMULATOR_CLUSTER_FILL_OFFER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "client/pages/signal_page.h"
#include "planner/calendar.h"
#include "planner/profile.h"
#include "planner/snapshot.h"
#include "scheduler/core/device.h"
#include "simulator/pipeline/pipeline_model.h"

namespace pipefill::simulator {

// A figure for each class of bubble that there is.
using PerClass = absl::btree_map<BubbleClass, double>;

// When units may start.
struct FillRule {
  // PipeFill's (arXiv 2410.07192): a unit must end within this share of the bubble's median, in
  // (0, 1]; 0 = by what was learned, as agentd does.
  double static_share = 0;
  // With the learned rule: the overrun that is promised, per unit time; in (0, 1).
  double overrun_ratio = 0.2;
  // Whether the bubbles between single operations are filled, which PipeFill leaves alone.
  bool fills_scattered = true;
  // Of iterations; the others are hold-outs. In (0, 1].
  double filled_share = 1;
};

// One bubble as agentd offers it, and how long it really was.
struct OfferedBubble {
  BubbleClass bubble_class = BubbleClass::kCustom;
  uint32_t ordinal = 0;
  CalendarBubble calendar;
  std::vector<int64_t> lengths_ns;  // one per iteration
};

struct StageOffer {
  int64_t iteration_ns = 0;  // mean
  double filled_share = 1;
  double bubble_share = 0;                  // of the iteration, offered or not
  PerClass bubble_shares = {};              // the same, of the bubbles of each class
  std::vector<OfferedBubble> bubbles = {};  // offered ones, in the order of the iteration
  int iterations = 0;                       // entries of each lengths_ns
};

// InvalidArgument if the rule makes no sense. `memory_free_bytes` is taken where the model has no
// memory.
absl::StatusOr<StageOffer> OfferOf(const StageRun& stage, int64_t iteration_ns,
                                   const FillRule& rule, int64_t memory_free_bytes);

// As an agent reports it of `device`.
std::vector<scheduler::BubbleStats> StatsOf(const StageOffer& offer, const DeviceKey& device);

// What one job alone makes of a device's bubbles, over all iterations, hold-outs included.
struct FillYield {
  double samples_per_s = 0;
  double filled_share = 0;   // of the device's time: units that run
  double overrun_share = 0;  // of the device's time: units beyond the end of their bubble
  PerClass filled_shares;    // of the device's time: those that began in bubbles of each class
};

// Units that take `slowness` times as long as in the profile, for the main job has used caches and
// clocks meanwhile; the gate has learned that. A unit that has begun is finished, as on a device.
// nullopt: no unit ever starts. REQUIRES: CheckProfile accepts the configuration; slowness > 0.
std::optional<FillYield> Fill(const Configuration& configuration, const StageOffer& offer,
                              double slowness);

// Units of one bubble, back to back; times from the bubble's begin.
struct UnitRun {
  int64_t units = 0;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;  // of the last one, which may have outlasted the bubble
};

// One iteration that is no hold-out, from the beginning of the chain: a run per bubble offered.
// REQUIRES: 0 <= iteration < offer.iterations; otherwise as Fill.
std::vector<UnitRun> FillIteration(const Configuration& configuration, const StageOffer& offer,
                                   double slowness, int iteration);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_FILL_OFFER_H_
