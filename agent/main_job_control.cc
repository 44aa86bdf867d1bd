#include "agent/main_job_control.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace pipefill {
namespace {

// A sum that fell is one of a new attachment.
int64_t Growth(int64_t before, int64_t now) { return now >= before ? now - before : now; }

double BudgetOf(const RankSettings& settings) {
  return static_cast<double>(std::max<uint32_t>(settings.budget_ppm, 1)) / kPpm;
}

struct StateAndText {
  v1::FillState state;
  std::string text;
};

StateAndText StateOf(const RankObservation& rank, const SlowdownControl& control) {
  if (!rank.settings.is_measured()) {
    return {v1::FILL_STATE_OFF, "mode off: neither measured nor filled"};
  }
  if (rank.settings.is_paused) return {v1::FILL_STATE_PAUSED, "paused by a user"};
  if (!rank.settings.is_filled()) {
    return {v1::FILL_STATE_REPORTING, "mode report: measured, never filled"};
  }
  if (rank.is_parked) return {v1::FILL_STATE_PARKED, "agentd does not hear from schedulerd"};
  if (rank.has_failure) {
    return {v1::FILL_STATE_FAILURE, "the main job stands still: its device is one open bubble"};
  }
  if (control.is_backed_off) return {v1::FILL_STATE_BACKED_OFF, control.text};
  if (!rank.has_offer) {
    return {v1::FILL_STATE_LEARNING, "no bubble is known well enough, or long enough, yet"};
  }
  if (!rank.has_working_task) return {v1::FILL_STATE_FILLING, "no task is ready to fill"};
  return {v1::FILL_STATE_FILLING, control.text};
}

}  // namespace

MainJobControl::MainJobControl(const ControllerOptions& options, double overrun_ratio,
                               const HoldOut& hold_out, double budget)
    : hold_out_(hold_out), controller_(options, overrun_ratio, budget) {}

bool MainJobControl::Update(const std::vector<RankObservation>& ranks, Instant now) {
  const RankObservation& lowest = ranks.front();
  bool is_changed = controller_.OnTick(now);
  is_changed = controller_.SetBudget(BudgetOf(lowest.settings), now) || is_changed;
  TakeSums(ranks);
  const bool is_fillable = !control().is_backed_off &&
                           std::any_of(ranks.begin(), ranks.end(), [](const RankObservation& rank) {
                             return rank.could_be_filled();
                           });
  if (!is_fillable) fillable_since_.reset();
  for (const EndedIteration& iteration : lowest.iterations) {
    is_changed = TakeIteration(iteration, now) || is_changed;
  }
  if (is_fillable && !control().is_backed_off) {
    if (!fillable_since_.has_value()) fillable_since_ = now;
  } else {
    fillable_since_.reset();
  }
  return is_changed;
}

void MainJobControl::TakeSums(const std::vector<RankObservation>& ranks) {
  std::map<int32_t, Sums> after;
  for (const RankObservation& rank : ranks) {
    const Sums& before = before_[rank.rank_key];
    sums_.fillable_ns += Growth(before.fillable_ns, rank.fillable_ns);
    sums_.overrun_ns += Growth(before.overrun_ns, rank.overrun_ns);
    after[rank.rank_key] = {.fillable_ns = rank.fillable_ns, .overrun_ns = rank.overrun_ns};
  }
  before_ = std::move(after);
  // What nothing could fill is nothing to compare overrun with.
  if (!fillable_since_.has_value()) sums_ = {};
}

bool MainJobControl::TakeIteration(const EndedIteration& iteration, Instant now) {
  const bool is_fillable =
      fillable_since_.has_value() && iteration.begin_ns >= fillable_since_->ns();
  ControlledIteration controlled = {
      .sample = {.number = iteration.number, .length_ns = iteration.length_ns}};
  if (is_fillable && IsHeldOut(hold_out_, iteration.number)) {
    controlled.sample.kind = IterationFill::kHeldOut;
  } else if (is_fillable) {
    controlled.sample.kind = IterationFill::kFilled;
    const Sums sums = std::exchange(sums_, {});
    controlled.bubble_ns = sums.fillable_ns;
    controlled.overrun_ns = sums.overrun_ns;
  }
  return controller_.OnIteration(controlled, now);
}

v1::FillControl DescribeFill(const RankObservation& rank, const SlowdownControl& control,
                             Instant now) {
  v1::FillControl report;
  const StateAndText state = StateOf(rank, control);
  report.set_state(state.state);
  report.set_text(state.text);
  report.set_overrun_ratio(control.overrun_ratio);
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const std::optional<SlowdownEstimate>& estimate = control.estimate;
  report.set_slowdown(estimate.has_value() ? estimate->slowdown : kUnknown);
  report.set_slowdown_low(estimate.has_value() ? estimate->low : kUnknown);
  report.set_slowdown_high(estimate.has_value() ? estimate->high : kUnknown);
  report.set_hold_outs(estimate.has_value() ? estimate->hold_outs : 0);
  report.set_filled(estimate.has_value() ? estimate->filled : 0);
  report.set_budget_ppm(rank.settings.budget_ppm);
  report.set_back_offs(control.back_offs);
  if (control.is_backed_off && control.retry_at > now) {
    report.set_retry_in_ns(absl::ToInt64Nanoseconds(control.retry_at - now));
  }
  return report;
}

}  // namespace pipefill
