// The part of DeviceState that main_job_controls.h talks to.

#include <algorithm>
#include <utility>

#include "agent/device_state.h"
#include "common/log.h"

namespace pipefill {

std::optional<RankObservation> DeviceState::TakeObservation(bool is_parked) {
  if (!has_rank()) return std::nullopt;
  const RankTotals totals = account_.rank();
  return RankObservation{.main_job = rank_->request.main_job,
                         .rank = rank_->request.rank,
                         .rank_key = rank_->rank_key,
                         .settings = rank_->settings,
                         .is_parked = is_parked,
                         .has_failure = has_failure(),
                         .has_offer = HasOffer(),
                         .has_working_task = HasWorkingTask(),
                         .iterations = std::exchange(rank_->iterations, {}),
                         .fillable_ns = totals.fillable_ns,
                         .overrun_ns = totals.overrun_ns};
}

bool DeviceState::HasOffer() const {
  return std::any_of(rank_->named_slots.begin(), rank_->named_slots.end(),
                     [this](uint32_t slot) { return rank_->predictor.WindowOf(slot).is_offered; });
}

bool DeviceState::HasWorkingTask() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [this](const auto& entry) {
    const TaskSeat& seat = entry.second;
    return seat.gate.has_value() && seat.gate->is_sealed && account_.task(seat.task_key).units > 0;
  });
}

void DeviceState::Steer(const SlowdownControl& control) {
  if (control.is_backed_off != rank_->is_backed_off) {
    rank_->is_backed_off = control.is_backed_off;
    UpdateMode();
  }
  if (control.overrun_ratio != rank_->predictor.overrun_ratio()) {
    rank_->predictor.SetOverrunRatio(control.overrun_ratio);
  }
  rank_->predictor.SetStaticShare(static_cast<double>(rank_->settings.static_share_ppm) / kPpm);
  UpdateGuards(control.overrun_ratio);
}

void DeviceState::UpdateGuards(double overrun_ratio) {
  for (const uint32_t slot : rank_->named_slots) {
    const BubbleTotals& totals = account_.bubble(slot);
    const BubbleUse use = {.bubbles = totals.offered,
                           .unit_cpu_ns = totals.filled_ns + totals.overrun_ns,
                           .overrun_ns = totals.overrun_ns};
    OverrunGuard& guard = rank_->guards[slot];
    if (!guard.IsDue(use)) continue;
    if (guard.Update(use, overrun_ratio, rank_->predictor.Summarise(slot).p50_ns)) {
      rank_->predictor.SetGuard(slot, guard.guard_ns());
    }
  }
}

void DeviceState::JudgeUnits() {
  for (const SettledUnit& unit : account_.TakeSettled()) {
    if (unit.slot >= kBubbleSlots || !has_rank()) continue;
    for (auto& [key, seat] : tasks_) {
      if (seat.task_key != unit.task_key || !seat.gate.has_value()) continue;
      if (!seat.skips.OnUnit(unit.slot, {.cpu_ns = unit.cpu_ns, .overrun_ns = unit.overrun_ns})) {
        continue;
      }
      turns_->SetClosed(seat.gate->turn_seat, unit.slot, true);
      spdlog::warn(
          "bubble_closed_to_task device={} task_key={} slot={} why=most of its units' time was "
          "overrun",
          name(), seat.task_key, unit.slot);
    }
  }
}

void DeviceState::CountSkipped(uint32_t slot) {
  for (auto& [key, seat] : tasks_) {
    if (!seat.gate.has_value() || !seat.skips.OnBubble(slot)) continue;
    turns_->SetClosed(seat.gate->turn_seat, slot, false);
  }
}

void DeviceState::ForgetSkips() {
  for (auto& [key, seat] : tasks_) {
    for (uint32_t slot = 0; seat.gate.has_value() && slot < kBubbleSlots; ++slot) {
      if (seat.skips.IsClosed(slot)) turns_->SetClosed(seat.gate->turn_seat, slot, false);
    }
    seat.bubbles_skipped_before += seat.skips.bubbles_skipped();
    seat.skips = SkipList();
  }
}

}  // namespace pipefill
