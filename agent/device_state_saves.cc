// The part of DeviceState that has tasks save.
#include "agent/device_state.h"

namespace pipefill {

void DeviceState::OrderSave(const AttemptKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || !found->second.gate.has_value()) return;
  Gate& gate = *found->second.gate;
  const CheckpointView view = gate.reader.View().checkpoint;
  if (!view.has_hooks) return;
  gate.saves_before_order = view.saves_done + view.saves_failed;
  turns_->OrderSave(gate.turn_seat, true);
}

void DeviceState::OrderSaves() {
  for (const auto& [key, seat] : tasks_) OrderSave(key);
}

void DeviceState::TakeOrderBack(Gate& gate) {
  if (!gate.saves_before_order.has_value()) return;
  const CheckpointView view = gate.reader.View().checkpoint;
  if (view.saves_done + view.saves_failed == *gate.saves_before_order) return;
  gate.saves_before_order.reset();
  turns_->OrderSave(gate.turn_seat, false);
}

}  // namespace pipefill
