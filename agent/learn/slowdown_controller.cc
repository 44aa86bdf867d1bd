#include "agent/learn/slowdown_controller.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "common/check.h"

namespace pipefill {
namespace {

constexpr double kCut = 0.5;
// Lambda falls no further at once for overrun's sake.
constexpr double kOverrunCut = 0.7;
// Overrun below this share of its target lets lambda rise.
constexpr double kOverrunHeadRoom = 0.9;
// Lambda this close to its least counts as there.
constexpr double kNearLeast = 1.5;

double RatioOf(int64_t part_ns, int64_t whole_ns) {
  return whole_ns == 0 ? 0.0 : static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

// A standard error up to this share of the budget is small enough to steer by the estimate itself.
constexpr double kTight = 0.5;

// What to steer by. A wide interval says little, and must not move lambda by its noise: what
// overrun can cost is bounded by its target.
double WithoutNoise(const SlowdownEstimate& estimate, double budget) {
  return estimate.slowdown - std::max(0.0, estimate.standard_error() - kTight * budget);
}

std::string InPercent(const SlowdownEstimate& estimate) {
  return absl::StrFormat("slowdown %.3g %% (95 %%: %.3g .. %.3g %%)", 100 * estimate.slowdown,
                         100 * estimate.low, 100 * estimate.high);
}

}  // namespace

SlowdownController::SlowdownController(const ControllerOptions& options, double overrun_ratio_start,
                                       double budget)
    : options_(options), next_back_off_(options.back_off_min) {
  CHECK(budget > 0);
  control_.overrun_ratio =
      std::clamp(overrun_ratio_start, options.overrun_ratio_min, options.overrun_ratio_max);
  control_.budget = budget;
  Describe();
}

bool SlowdownController::OnIteration(const ControlledIteration& iteration, Instant now) {
  const bool is_retry = OnTick(now);
  if (control_.is_backed_off) return false;
  estimator_.OnIteration(iteration.sample);
  switch (iteration.sample.kind) {
    case IterationFill::kHeldOut:
      ++hold_outs_;
      break;
    case IterationFill::kFilled:
      ++filled_;
      filled_ns_ += iteration.sample.length_ns;
      bubble_ns_ += iteration.bubble_ns;
      overrun_ns_ += iteration.overrun_ns;
      break;
    case IterationFill::kNeither:
      return is_retry;
  }
  if (hold_outs_ < kDecideHoldOuts && filled_ < kDecideFilled) return is_retry;
  Decide(now);
  return true;
}

bool SlowdownController::OnTick(Instant now) {
  if (!control_.is_backed_off || now < control_.retry_at) return false;
  Retry();
  return true;
}

bool SlowdownController::SetBudget(double budget, Instant now) {
  CHECK(budget > 0);
  if (budget == control_.budget) return false;
  const bool is_raised = budget > control_.budget;
  control_.budget = budget;
  next_back_off_ = options_.back_off_min;
  debt_ = absl::ZeroDuration();
  if (control_.is_backed_off && is_raised) {
    control_.retry_at = now;
    Retry();
  }
  if (!control_.is_backed_off) Describe();
  return true;
}

void SlowdownController::Decide(Instant now) {
  control_.overrun_share = RatioOf(overrun_ns_, bubble_ns_);
  // At worst: every overrun of every rank delays the iteration.
  const double overrun_cost = RatioOf(overrun_ns_, filled_ns_);
  hold_outs_ = filled_ = filled_ns_ = bubble_ns_ = overrun_ns_ = 0;
  control_.estimate = estimator_.Estimate();
  const std::optional<SlowdownEstimate> recent = estimator_.Estimate(kRecent);
  double& lambda = control_.overrun_ratio;
  const bool is_to_blame = overrun_cost > kToBlame * control_.budget;
  const bool is_least = lambda <= kNearLeast * options_.overrun_ratio_min;
  if (control_.estimate.has_value()) {
    // The newest ones are few: by themselves they are believed at once only if they are far over.
    const double far = kFarOver * control_.budget;
    const double bearable = is_to_blame && !is_least ? far : control_.budget;
    if (control_.estimate->low > bearable) return BackOff(*control_.estimate, now);
    if (recent->low > (is_least ? control_.budget : far)) return BackOff(*recent, now);
    const bool is_over = std::max(control_.estimate->low, recent->low) > control_.budget;
    if (is_over && is_to_blame) return Cut(*control_.estimate);
  }
  if (control_.overrun_share > kOverrunTarget) {
    lambda *= std::max(kOverrunCut, kOverrunTarget / control_.overrun_share);
  } else if (control_.estimate.has_value()) {
    const double slowdown = WithoutNoise(*control_.estimate, control_.budget);
    const double dearest = std::max(slowdown, WithoutNoise(*recent, control_.budget));
    const bool is_cheap = dearest < kHeadRoom * control_.budget;
    if (is_to_blame && slowdown > kTooClose * control_.budget) {
      lambda -= kRaise;
    } else if ((is_cheap || !is_to_blame) &&
               control_.overrun_share < kOverrunHeadRoom * kOverrunTarget) {
      lambda += kRaise;
    }
  }
  lambda = std::clamp(lambda, options_.overrun_ratio_min, options_.overrun_ratio_max);
  if (estimator_.comparisons() >= kProven && control_.estimate->slowdown <= control_.budget) {
    next_back_off_ = options_.back_off_min;
    debt_ = absl::ZeroDuration();
  }
  Describe();
}

void SlowdownController::Cut(const SlowdownEstimate& estimate) {
  AddDebt(estimate);
  control_.overrun_ratio = std::max(kCut * control_.overrun_ratio, options_.overrun_ratio_min);
  estimator_.Forget();
  Describe();
}

void SlowdownController::BackOff(const SlowdownEstimate& estimate, Instant now) {
  AddDebt(estimate);
  const absl::Duration wait =
      std::min(std::max(next_back_off_, debt_ / control_.budget), kBackOffLimit);
  next_back_off_ = std::min(2 * next_back_off_, options_.back_off_max);
  debt_ = absl::ZeroDuration();
  estimator_.Forget();
  control_.is_backed_off = true;
  ++control_.back_offs;
  control_.retry_at = now + wait;
  control_.overrun_ratio = options_.overrun_ratio_min;
  control_.estimate = estimate;
  control_.text = absl::StrFormat("%s exceeds the budget of %.3g %%", InPercent(estimate),
                                  100 * control_.budget);
}

void SlowdownController::Retry() {
  control_.is_backed_off = false;
  control_.estimate.reset();
  Describe();
}

void SlowdownController::Describe() {
  if (!control_.estimate.has_value()) {
    control_.text =
        absl::StrFormat("measuring: %d of %d hold-outs; budget %.3g %%", estimator_.comparisons(),
                        kComparisonsMin, 100 * control_.budget);
    return;
  }
  control_.text =
      absl::StrFormat("%s, budget %.3g %%", InPercent(*control_.estimate), 100 * control_.budget);
}

void SlowdownController::AddDebt(const SlowdownEstimate& estimate) {
  const double over = std::max(0.0, estimate.slowdown - control_.budget);
  debt_ += over * absl::Nanoseconds(estimate.span_ns);
}

}  // namespace pipefill
