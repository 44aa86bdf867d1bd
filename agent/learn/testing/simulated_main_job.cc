#include "agent/learn/testing/simulated_main_job.h"

#include <algorithm>
#include <utility>

namespace pipefill {
namespace {

double Share(double part, double whole) { return whole > 0 ? part / whole : 0.0; }

}  // namespace

SimulatedMainJob::SimulatedMainJob(SimulatedWorld world)
    : world_(std::move(world)),
      random_(world_.seed),
      predictor_({}),
      controller_({}, PredictorOptions().overrun_ratio, world_.budget),
      guards_(static_cast<size_t>(world_.bubbles)),
      uses_(static_cast<size_t>(world_.bubbles)) {}

SimulatedRun SimulatedMainJob::Run(int64_t iterations) {
  for (int64_t i = 0; i < iterations; ++i) Step();
  return TakeRun();
}

SimulatedRun SimulatedMainJob::RunFor(absl::Duration time) {
  const Instant end = now_ + time;
  while (now_ < end) Step();
  return TakeRun();
}

void SimulatedMainJob::Step() {
  const bool is_held_out = IsHeldOut(world_.hold_out, iteration_);
  controller_.OnTick(now_);
  const bool is_allowed = !controller_.control().is_backed_off && IsAnythingOffered();
  const bool is_filled = is_allowed && !is_held_out;
  const double pace = world_.pace(iteration_);
  double unfilled_ns = Spread(world_.compute_ns, world_.noise) * pace;
  double bubble_ns = 0;
  Fill fill;
  for (int i = 0; world_.has_bubbles(iteration_) && i < world_.bubbles; ++i) {
    const auto slot = static_cast<uint32_t>(i);
    const double length_ns = Spread(world_.bubble_ns, world_.bubble_spread) * pace;
    bubble_ns += length_ns;
    if (is_filled) {
      const Fill one = FillBubble(slot, length_ns);
      fill.unit_ns += one.unit_ns;
      fill.overrun_ns += one.overrun_ns;
    }
    predictor_.OnLength(slot, static_cast<int64_t>(length_ns));
  }
  unfilled_ns += bubble_ns;
  double taken_ns = unfilled_ns;
  if (fill.unit_ns > 0) taken_ns += unfilled_ns * world_.filled_cost(iteration_);
  taken_ns += world_.overrun_cost * fill.overrun_ns;
  now_ = now_ + absl::Nanoseconds(taken_ns);
  sums_.unfilled_ns += unfilled_ns;
  sums_.taken_ns += taken_ns;
  sums_.bubble_ns += bubble_ns;
  if (is_filled) sums_.filled_bubble_ns += bubble_ns;
  sums_.filled_ns += fill.unit_ns - fill.overrun_ns;
  sums_.overrun_ns += fill.overrun_ns;
  sums_.filled_iterations += is_filled ? 1 : 0;
  const IterationFill allowed_kind = is_held_out ? IterationFill::kHeldOut : IterationFill::kFilled;
  controller_.OnIteration({.sample = {.number = iteration_++,
                                      .length_ns = static_cast<int64_t>(taken_ns),
                                      .kind = is_allowed ? allowed_kind : IterationFill::kNeither},
                           .bubble_ns = static_cast<int64_t>(bubble_ns),
                           .overrun_ns = static_cast<int64_t>(fill.overrun_ns)},
                          now_);
  ApplyControl();
}

bool SimulatedMainJob::IsAnythingOffered() const {
  for (uint32_t slot = 0; slot < guards_.size(); ++slot) {
    if (predictor_.WindowOf(slot).is_offered) return true;
  }
  return false;
}

SimulatedMainJob::Fill SimulatedMainJob::FillBubble(uint32_t slot, double length_ns) {
  Fill fill;
  const BubbleWindow& window = predictor_.WindowOf(slot);
  double elapsed_ns = 0;
  while (elapsed_ns < length_ns) {
    const double estimate_ns = Estimate();
    const UnitLadder& ladder = predictor_.unit_ns();
    const auto entry = std::lower_bound(ladder.begin(), ladder.end(), estimate_ns);
    if (!window.is_offered || entry == ladder.end()) break;
    const int64_t latest_ns = window.latest_start_ns[static_cast<size_t>(entry - ladder.begin())];
    if (latest_ns == kNever || elapsed_ns > static_cast<double>(latest_ns)) break;
    const double unit_ns = Spread(world_.unit_ns, world_.unit_spread);
    recent_units_[units_++ % recent_units_.size()] = unit_ns;
    elapsed_ns += unit_ns;
    fill.unit_ns += unit_ns;
  }
  fill.overrun_ns = std::max(0.0, elapsed_ns - length_ns);
  BubbleUse& use = uses_[slot];
  ++use.bubbles;
  use.unit_cpu_ns += static_cast<int64_t>(fill.unit_ns);
  use.overrun_ns += static_cast<int64_t>(fill.overrun_ns);
  return fill;
}

void SimulatedMainJob::ApplyControl() {
  const double lambda = controller_.control().overrun_ratio;
  if (lambda != predictor_.overrun_ratio()) predictor_.SetOverrunRatio(lambda);
  for (uint32_t slot = 0; slot < guards_.size(); ++slot) {
    if (guards_[slot].Update(uses_[slot], lambda, predictor_.Summarise(slot).p50_ns)) {
      predictor_.SetGuard(slot, guards_[slot].guard_ns());
    }
  }
}

SimulatedRun SimulatedMainJob::TakeRun() {
  const Sums sums = std::exchange(sums_, {});
  return {.slowdown = Share(sums.taken_ns, sums.unfilled_ns) - 1,
          .filled_share = Share(sums.filled_ns, sums.bubble_ns),
          .overrun_share = Share(sums.overrun_ns, sums.filled_bubble_ns),
          .filled_iterations = sums.filled_iterations,
          .time = absl::Nanoseconds(sums.taken_ns)};
}

double SimulatedMainJob::Spread(double mean, double share) {
  std::normal_distribution<double> factor(1.0, share);
  return mean * std::clamp(factor(random_), 0.1, 3.0);
}

// As a gate does: pessimistic at first, then the longest of the last units.
double SimulatedMainJob::Estimate() const {
  if (world_.claimed_unit_ns > 0) return world_.claimed_unit_ns;
  if (units_ == 0) return 4 * world_.unit_ns;
  return *std::max_element(recent_units_.begin(), recent_units_.end());
}

}  // namespace pipefill
