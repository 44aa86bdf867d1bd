// What a DeviceState says about itself to schedulerd.
#include <algorithm>
#include <optional>
#include <vector>

#include "agent/checkpoint_report.h"
#include "agent/convert.h"
#include "agent/device_state.h"

namespace pipefill {

v1::Device DeviceState::Report(const ProcessTable& processes, int64_t caps_bytes,
                               int32_t resident) const {
  const DeviceDescription& description = device_.description();
  v1::Device report;
  report.set_node(options_.node);
  report.set_name(description.name);
  report.set_backend(description.backend);
  report.set_detail(description.detail);
  report.set_memory_bytes(description.memory_bytes);
  report.set_resident(resident);
  report.set_resident_limit(description.resident_limit);
  int64_t free_bytes = description.memory_bytes - caps_bytes;
  if (has_rank()) {
    free_bytes -= rank_->memory.ReservedBytes(device_.MemoryUsedBy(rank_->peer.pid, processes));
    *report.mutable_main_rank() = DescribeRank(account_.rank());
  }
  report.set_memory_free_bytes(std::max<int64_t>(0, free_bytes));
  return report;
}

void DeviceState::ReadMemory(const ProcessTable& processes) {
  if (has_rank()) rank_->memory.OnReading(device_.MemoryUsedBy(rank_->peer.pid, processes));
}

std::vector<v1::BubbleStats> DeviceState::ReportBubbles() const {
  if (!has_rank()) return last_bubbles_;
  std::vector<v1::BubbleStats> reports;
  for (const uint32_t slot : rank_->named_slots) {
    const std::optional<SlotName> bubble = rank_->reader.NameOf(slot);
    if (bubble.has_value()) reports.push_back(ReportBubble(slot, *bubble));
  }
  if (account_.failures().count > 0 || has_failure()) reports.push_back(ReportFailures());
  return reports;
}

v1::BubbleStats DeviceState::MakeBubbleReport(const BubbleTotals& totals) const {
  v1::BubbleStats report;
  report.set_node(options_.node);
  report.set_device(name());
  report.set_main_job(rank_->request.main_job);
  report.set_rank(rank_->request.rank);
  report.set_stage(rank_->request.stage);
  report.set_count(totals.count);
  report.set_bubble_ns(totals.bubble_ns);
  report.set_offered_ns(totals.offered_ns);
  report.set_filled_ns(totals.filled_ns);
  report.set_overrun_ns(totals.overrun_ns);
  report.set_units(totals.units);
  report.set_overruns(totals.overruns);
  return report;
}

v1::BubbleStats DeviceState::ReportFailures() const {
  v1::BubbleStats report = MakeBubbleReport(account_.failures());
  report.set_bubble_class(v1::BUBBLE_CLASS_FAILURE);
  report.set_offer(has_failure() ? v1::BUBBLE_OFFER_YES : v1::BUBBLE_OFFER_NOT_FILLING);
  return report;
}

v1::BubbleStats DeviceState::ReportBubble(uint32_t slot, const SlotName& bubble) const {
  const BubbleSummary summary = rank_->predictor.Summarise(slot);
  const BubbleTotals& totals = account_.bubble(slot);
  const BubbleWindow& window = rank_->predictor.WindowOf(slot);
  v1::BubbleStats report = MakeBubbleReport(totals);
  report.set_bubble_class(static_cast<v1::BubbleClass>(bubble.bubble_class));
  report.set_ordinal(static_cast<int32_t>(bubble.ordinal));
  report.set_p10_ns(summary.p10_ns);
  report.set_p50_ns(summary.p50_ns);
  report.set_p90_ns(summary.p90_ns);
  // A rank on cores knows what is free on the node, not what of it is the device's.
  const int64_t left_bytes =
      device_.description().memory_bytes - rank_->memory.ReservedBytes(/*used_bytes=*/0);
  report.set_memory_free_bytes(
      std::min(window.memory_free_bytes, std::max<int64_t>(0, left_bytes)));
  report.set_guard_ns(rank_->predictor.guard_ns(slot));
  // The predictor's reasons are about the bubble; whether the job is filled at all is another one.
  report.set_offer(window.is_offered && !window_->IsOffered(slot)
                       ? v1::BUBBLE_OFFER_NOT_FILLING
                       : static_cast<v1::BubbleOffer>(window.verdict));
  for (const int64_t unit_ns : rank_->predictor.unit_ns()) report.add_unit_ns(unit_ns);
  for (const int64_t start_ns : window.latest_start_ns) report.add_latest_start_ns(start_ns);
  report.set_earliest_start_ns(window.earliest_start_ns);
  return report;
}

v1::FillProgress DeviceState::ProgressOf(const AttemptKey& key, const TaskUse& use) const {
  v1::FillProgress progress;
  progress.set_memory_peak_bytes(use.memory_peak_bytes);
  progress.set_task_cpu_ns(absl::ToInt64Nanoseconds(use.cpu));
  progress.set_overstays(use.overstays);
  progress.set_freezes(use.freezes);
  progress.set_memory_guard(use.memory_guard);
  progress.set_stopped_by(use.stopped_by);
  progress.set_log_error(use.log_error);
  progress.set_processes_denied(use.processes_denied);
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return progress;
  const TaskSeat& seat = found->second;
  const TaskTotals totals = account_.task(seat.task_key);
  progress.set_units(totals.units);
  progress.set_unit_cpu_ns(totals.unit_cpu_ns);
  progress.set_unit_cpu_in_bubble_ns(totals.in_bubble_ns);
  progress.set_overrun_ns(totals.overrun_ns);
  progress.set_units_overrun(totals.units_overrun);
  progress.set_bubbles_denied(seat.bubbles_denied_before);
  progress.set_bubbles_skipped(seat.bubbles_skipped_before + seat.skips.bubbles_skipped());
  progress.set_unit_estimate_ns(seat.unit_estimate_ns);
  progress.set_pieces(seat.pieces_before);
  std::optional<CheckpointView> checkpoint = seat.checkpoint;
  if (seat.gate.has_value()) {
    const TaskView view = seat.gate->reader.View();
    progress.set_bubbles_denied(seat.bubbles_denied_before + view.bubbles_denied);
    progress.set_unit_estimate_ns(view.unit_estimate_ns);
    progress.set_pieces(seat.pieces_before + view.pieces_done);
    checkpoint = view.checkpoint;
  }
  if (checkpoint.has_value()) ReportCheckpoints(*checkpoint, options_.unix_offset_ns, &progress);
  AddProgressBefore(seat.before, &progress);
  return progress;
}

void DeviceState::SampleTask(const AttemptKey& key, const TaskUse& use, Instant now) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  v1::TraceRecord record;
  v1::TaskSample& sample = *record.mutable_task_sample();
  sample.set_task_key(found->second.task_key);
  sample.set_now_ns(now.ns());
  sample.set_memory_bytes(use.memory_bytes);
  sample.set_cpu_ns(absl::ToInt64Nanoseconds(use.cpu));
  trace_.Append(record);
}

}  // namespace pipefill
