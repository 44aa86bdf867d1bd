// The part of FillTask that saves.
#include <algorithm>
#include <optional>
#include <utility>

#include "client/fill/fill_task.h"
#include "client/fill/posix_checkpoint_store.h"

namespace pipefill::sdk {

Error FillTask::SetCheckpoint(SaveHooks hooks) {
  std::unique_ptr<CheckpointStore> store;
  Error error;
  if (!save_settings_.folder.empty() && !is_refused()) {
    error = PosixCheckpointStore::Open(save_settings_.folder, &store);
  }
  auto saver = std::make_unique<Saver>(clock_, save_settings_, std::move(hooks), std::move(store));
  if (!error.ok()) saver->OnFailure(error);
  const Error resumed = SetSaver(std::move(saver));
  return error.ok() ? resumed : error;
}

Error FillTask::SetSaver(std::unique_ptr<Saver> saver) {
  EndUnit();
  saver_ = std::move(saver);
  const Error error = saver_->Resume();
  ShowSaves();
  return error;
}

Error FillTask::SaveNow() {
  EndUnit();
  if (saver_ == nullptr || are_saves_held_ || is_refused() || !saver_->has_unsaved()) return {};
  const bool is_in_unit = gate_.has_value() && WaitForSave();
  const Error error = RunSave(is_in_unit);
  if (gate_.has_value()) turn_->StopWanting();
  return error;
}

bool FillTask::IsSaveOrdered() {
  const bool is_ordered = (turn_->orders() & kOrderSave) != 0;
  if (!is_ordered) is_order_served_ = false;
  return is_ordered && !is_order_served_ && saver_->has_unsaved();
}

void FillTask::SaveIfDue() {
  if (saver_ == nullptr || are_saves_held_) return;
  const bool is_ordered = gate_.has_value() && IsSaveOrdered();
  if (!is_ordered && !saver_->is_due()) return;
  if (!gate_.has_value()) {
    const Error counted = RunSave(false);
    static_cast<void>(counted);
    return;
  }
  const bool is_in_unit = TryStartSave(is_ordered || saver_->is_overdue());
  // agentd orders it as well when bubbles have come to an end.
  if (!is_in_unit && !(is_ordered && gate_->is_off())) return;
  const Error counted = RunSave(is_in_unit);
  static_cast<void>(counted);
  is_order_served_ = is_ordered;
  turn_->Want(ExpectedNs());
}

bool FillTask::TryStartSave(bool is_urgent) {
  const std::optional<Opening> opening = gate_->Look();
  if (!opening.has_value()) return false;
  save_length_max_ns_ = is_urgent ? ExpectedNs() : UINT64_MAX;
  before_save_ = {.label = std::exchange(label_, kSaveLabel),
                  .range = std::exchange(range_, std::nullopt)};
  if (gate_->Fits(*opening, ExpectedNs()) && TryStart() == Step::kStarted) return true;
  label_ = before_save_.label;
  range_ = before_save_.range;
  return false;
}

bool FillTask::WaitForSave() {
  const uint64_t begin_ns = clock_.NowNs();
  turn_->Want(ExpectedNs());
  for (;;) {
    link_->Poll(0);
    if (link_->is_closed()) return false;
    gate_->SetSignal(link_->signal(), link_->signal_generation());
    if (gate_->needs_signal()) FetchSignal(kLookAgainNs);
    if (TryStartSave(true)) return true;
    const uint64_t waited_ns = clock_.NowNs() - begin_ns;
    if (waited_ns >= kLastSaveWaitNs) return false;
    gate_->Wait(std::min(kLastSaveWaitNs - waited_ns, kLookAgainNs));
  }
}

void FillTask::SaveLast() {
  if (saver_ == nullptr || are_saves_held_ || is_last_save_done_ || !saver_->has_unsaved()) return;
  is_last_save_done_ = true;
  const Error counted = RunSave(WaitForSave());
  static_cast<void>(counted);
}

Error FillTask::RunSave(bool is_in_unit) {
  const uint64_t begin_ns = clock_.NowNs();
  const bool ignored = saver_->Collect();
  static_cast<void>(ignored);
  const uint64_t collect_ns = clock_.NowNs() - begin_ns;
  if (is_in_unit) {
    FinishUnit();
    label_ = before_save_.label;
    range_ = before_save_.range;
  }
  if (gate_.has_value()) turn_->StopWanting();
  const Error error = saver_->Write(collect_ns);
  ShowSaves();
  return error;
}

void FillTask::ShowSaves() {
  if (saver_ == nullptr || !gate_.has_value()) return;
  const Saver::Numbers& numbers = saver_->numbers();
  const auto show = [](PageField<uint64_t>& field, uint64_t value) {
    field.store(value, std::memory_order_relaxed);
  };
  show(page()->saves_failed, numbers.failed);
  show(page()->save_cost_ns, numbers.cost_ns);
  show(page()->save_end_ns, numbers.end_ns);
  show(page()->unsaved_ns, saver_->unsaved_ns());
  uint32_t flags = kCheckpointHooks;
  if (numbers.resumed_from.has_value()) {
    flags |= kCheckpointResumed;
    show(page()->resumed_fence, numbers.resumed_from->writer.fence);
    show(page()->resumed_number, numbers.resumed_from->number);
    show(page()->resumed_useful_ns, numbers.resumed_useful_ns);
  }
  page()->checkpoint_flags.store(flags, std::memory_order_release);
  page()->saves_done.store(numbers.done, std::memory_order_release);
}

}  // namespace pipefill::sdk
