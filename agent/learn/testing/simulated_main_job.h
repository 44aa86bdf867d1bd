// A main job with bubbles, a fill task in front of a gate, and the parts of agentd that learn about
// both, in virtual time: what the controller does to a run of thousands of iterations shows in
// milliseconds.
//
//   iteration   compute, bubble, compute, bubble, ...; lengths from the seed
//   gate        a unit starts while the elapsed time is within the published latest start
//   cost        a filled iteration takes longer by `filled_cost` of itself, and by `overrun_cost`
//   times
//               the overrun of its units
//
// Real are BubblePredictor, SlowdownController, OverrunGuard and the hold-outs.
//
// Pure. Thread-compatible: one owner.
#ifndef AGENT_LEARN_TESTING_SIMULATED_MAIN_JOB_H_
#define AGENT_LEARN_TESTING_SIMULATED_MAIN_JOB_H_

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "agent/learn/bubble_predictor.h"
#include "agent/learn/overrun_guard.h"
#include "agent/learn/slowdown_controller.h"
#include "client/pages/hold_out.h"
#include "common/instant.h"

namespace pipefill {

struct SimulatedWorld {
  // Of one iteration.
  int bubbles = 4;
  double bubble_ns = 10e6;
  double bubble_spread = 0.05;  // of a bubble's length, as a share of it
  double compute_ns = 60e6;
  double noise = 0.01;  // of the compute time, likewise
  // All lengths of an iteration times this.
  std::function<double(uint64_t iteration)> pace = [](uint64_t) { return 1.0; };
  std::function<bool(uint64_t iteration)> has_bubbles = [](uint64_t) { return true; };

  double unit_ns = 1e6;
  double unit_spread = 0.05;
  // Not 0: what the gate believes a unit takes, whatever units really take.
  double claimed_unit_ns = 0;

  std::function<double(uint64_t iteration)> filled_cost = [](uint64_t) { return 0.0; };
  double overrun_cost = 0;

  HoldOut hold_out = {.block_iterations = 1, .one_in = 16};
  double budget = 0.01;
  uint64_t seed = 1;
};

// Of the iterations since the last call of Run.
struct SimulatedRun {
  double slowdown = 0;       // of all iterations, against the same ones without any filling
  double filled_share = 0;   // of the bubble time
  double overrun_share = 0;  // of the bubble time in filled iterations
  int64_t filled_iterations = 0;
  absl::Duration time;
};

class SimulatedMainJob {
 public:
  explicit SimulatedMainJob(SimulatedWorld world);

  SimulatedRun Run(int64_t iterations);
  // Until so much of its time has passed.
  SimulatedRun RunFor(absl::Duration time);

  const SlowdownControl& control() const { return controller_.control(); }
  SlowdownController& controller() { return controller_; }
  int64_t guard_ns(int bubble) const { return guards_[static_cast<size_t>(bubble)].guard_ns(); }
  Instant now() const { return now_; }

 private:
  struct Sums {
    double unfilled_ns = 0;
    double taken_ns = 0;
    double bubble_ns = 0;
    double filled_bubble_ns = 0;
    double filled_ns = 0;
    double overrun_ns = 0;
    int64_t filled_iterations = 0;
  };
  struct Fill {
    double unit_ns = 0;
    double overrun_ns = 0;
  };

  void Step();
  bool IsAnythingOffered() const;
  Fill FillBubble(uint32_t slot, double length_ns);
  void ApplyControl();
  SimulatedRun TakeRun();
  double Spread(double mean, double share);
  double Estimate() const;

  const SimulatedWorld world_;
  std::mt19937_64 random_;
  BubblePredictor predictor_;
  SlowdownController controller_;
  std::vector<OverrunGuard> guards_;  // by slot, as the next
  std::vector<BubbleUse> uses_;
  std::array<double, 16> recent_units_ = {};
  size_t units_ = 0;
  uint64_t iteration_ = 0;
  Instant now_;
  Sums sums_;
};

}  // namespace pipefill

#endif  // AGENT_LEARN_TESTING_SIMULATED_MAIN_JOB_H_
