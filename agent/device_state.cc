#include "agent/device_state.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/convert.h"
#include "agent/devices/process_stat.h"
#include "agent/trace_record.h"
#include "common/log.h"

namespace pipefill {
namespace {

// Units of older signal pages than these are not matched to their rank any more.
constexpr size_t kRankKeysKept = 64;

v1::TraceRecord DroppedRecord(int32_t rank_key, int32_t task_key, uint64_t count) {
  v1::TraceRecord record;
  record.mutable_dropped()->set_rank_key(rank_key);
  record.mutable_dropped()->set_task_key(task_key);
  record.mutable_dropped()->set_count(static_cast<int64_t>(count));
  return record;
}

Refusal NoPage(const absl::Status& status) {
  return {
      .code = AttachCode::kInvalid,
      .text = absl::StrCat("attach: agentd cannot make a page: ", std::string(status.message()))};
}

}  // namespace

DeviceState::RankSeat::RankSeat(const Peer& rank_peer, const RankRequest& rank_request,
                                SealedPage sealed_page, const PredictorOptions& options)
    : peer(rank_peer),
      request(rank_request),
      page(std::move(sealed_page)),
      reader(*page.As<SignalPage>()),
      predictor(options) {}

DeviceState::Gate::Gate(ConnectionId id, SealedPage sealed_page)
    : connection(id), page(std::move(sealed_page)), reader(*page.As<TaskPage>()) {}

absl::StatusOr<std::unique_ptr<DeviceState>> DeviceState::Create(const Device& device,
                                                                 const DeviceOptions& options,
                                                                 const Surroundings& surroundings) {
  absl::StatusOr<std::unique_ptr<WindowWriter>> window = WindowWriter::Create(options.window);
  if (!window.ok()) return window.status();
  absl::StatusOr<std::unique_ptr<TurnBoard>> turns = TurnBoard::Create();
  if (!turns.ok()) return turns.status();
  return std::unique_ptr<DeviceState>(
      new DeviceState(device, options, *std::move(window), *std::move(turns), surroundings));
}

DeviceState::DeviceState(const Device& device, const DeviceOptions& options,
                         std::unique_ptr<WindowWriter> window, std::unique_ptr<TurnBoard> turns,
                         const Surroundings& surroundings)
    : device_(device),
      options_(options),
      window_(std::move(window)),
      turns_(std::move(turns)),
      trace_(surroundings.trace),
      main_jobs_(surroundings.main_jobs),
      account_(options.window.hold_out) {}

AttachAnswer DeviceState::AttachRank(const Peer& peer, const RankRequest& request) {
  if (rank_.has_value()) {
    return Refusal{
        .code = AttachCode::kBusy,
        .text = absl::StrCat("attach: device ", name(), " has rank ", rank_->request.rank, " of ",
                             rank_->request.main_job, " (pid ", rank_->peer.pid,
                             "); give each rank a device of its own")};
  }
  absl::StatusOr<SealedPage> page = MakeSignalPage();
  if (!page.ok()) return NoPage(page.status());
  rank_.emplace(peer, request, *std::move(page), options_.predictor);
  rank_->settings = main_jobs_.SettingsFor(request);
  rank_->is_after_break = !rank_->settings.is_measured();
  return PageGrant{.signal_generation = window_->signal_generation(),
                   .descriptors = {rank_->page.descriptor(), window_->descriptor()}};
}

AttachAnswer DeviceState::AttachTask(const Peer& peer, const AttemptKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) {
    return Refusal{.code = AttachCode::kUnknown,
                   .text = absl::StrCat("attach: no task of job ", key.job.value(), " attempt ",
                                        key.attempt.value(), " on device ", name())};
  }
  TaskSeat& seat = found->second;
  if (seat.gate.has_value()) {
    return Refusal{
        .code = AttachCode::kBusy,
        .text = absl::StrCat("attach: job ", key.job.value(), " attempt ", key.attempt.value(),
                             " has a gate already; one process of a task may attach")};
  }
  absl::StatusOr<SealedPage> page = MakeTaskPage();
  if (!page.ok()) return NoPage(page.status());
  const std::optional<uint32_t> turn_seat = turns_->TakeSeat(seat.policy_rank);
  if (!turn_seat.has_value()) {
    return Refusal{.code = AttachCode::kBusy,
                   .text = absl::StrCat("attach: device ", name(), " has ", kSeats,
                                        " tasks with a gate; it takes no more")};
  }
  seat.gate.emplace(peer.connection, *std::move(page));
  seat.gate->pid = peer.pid;
  seat.gate->turn_seat = *turn_seat;
  for (uint32_t slot = 0; slot < kBubbleSlots; ++slot) {
    if (seat.skips.IsClosed(slot)) turns_->SetClosed(*turn_seat, slot, true);
  }
  PageGrant grant = SignalGrant();
  grant.turn_seat = *turn_seat;
  grant.descriptors.insert(
      grant.descriptors.begin(),
      {window_->descriptor(), seat.gate->page.descriptor(), turns_->descriptor()});
  return grant;
}

PageGrant DeviceState::SignalGrant() const {
  PageGrant grant = {.signal_generation = window_->signal_generation(), .descriptors = {}};
  if (has_rank()) grant.descriptors.push_back(rank_->page.descriptor());
  return grant;
}

std::optional<AttemptKey> DeviceState::OnMapped(ConnectionId connection, Instant now) {
  if (rank_.has_value() && rank_->peer.connection == connection) {
    CompleteRank(now);
    return std::nullopt;
  }
  for (auto& [key, seat] : tasks_) {
    if (!seat.gate.has_value() || seat.gate->connection != connection) continue;
    const absl::Status status = seat.gate->page.SealWriter();
    if (!status.ok()) spdlog::error("page_not_sealed job={} error=\"{}\"", key.job, status);
    seat.gate->is_sealed = true;
    UpdateGateCount();
    return key;
  }
  return std::nullopt;
}

void DeviceState::CompleteRank(Instant now) {
  const absl::Status status = rank_->page.SealWriter();
  if (!status.ok()) {
    // Without the seal the tasks must not see it: somebody else might write it.
    spdlog::error("page_not_sealed device={} error=\"{}\"", name(), status);
    return;
  }
  rank_->rank_key = trace_.NextRankKey();
  last_bubbles_.clear();
  rank_->standstill.emplace(options_.standstill,
                            Standstill::Parts{.signal = *rank_->page.As<SignalPage>(),
                                              .window = *window_,
                                              .predictor = rank_->predictor,
                                              .account = account_,
                                              .trace = trace_},
                            rank_->rank_key);
  const uint32_t generation = window_->RaiseSignalGeneration();
  account_.OnAttached(generation);
  rank_keys_[generation] = rank_->rank_key;
  if (rank_keys_.size() > kRankKeysKept) rank_keys_.erase(rank_keys_.begin());
  UpdateMode();

  v1::TraceRecord record;
  v1::RankAttached& attached = *record.mutable_rank_attached();
  attached.set_rank_key(rank_->rank_key);
  attached.set_device(name());
  *attached.mutable_rank() = DescribeRank(RankTotals());
  attached.set_now_ns(now.ns());
  trace_.Append(record);
  spdlog::info("rank_attached device={} main_job={} rank={} stage={} pid={} mode={} paused={}",
               name(), rank_->request.main_job, rank_->request.rank, rank_->request.stage,
               rank_->peer.pid, static_cast<int>(rank_->settings.mode), rank_->settings.is_paused);
}

v1::MainRank DeviceState::DescribeRank(const RankTotals& totals) const {
  v1::MainRank rank = ToProto(rank_->request, rank_->peer.pid, totals);
  rank.set_mode(static_cast<v1::FillMode>(rank_->settings.mode));
  return rank;
}

std::optional<RankSettings> DeviceState::effective() const {
  if (!rank_.has_value()) return std::nullopt;
  return rank_->settings;
}

bool DeviceState::OnSettingsChanged(Instant now) {
  if (!rank_.has_value()) return false;
  const RankSettings before = rank_->settings;
  const RankSettings settings = main_jobs_.SettingsFor(rank_->request);
  if (settings == before) return false;
  spdlog::info("rank_settings device={} main_job={} mode={} paused={} budget_ppm={} static_ppm={}",
               name(), rank_->request.main_job, static_cast<int>(settings.mode), settings.is_paused,
               settings.budget_ppm, settings.static_share_ppm);
  rank_->settings = settings;
  // Gates first: they shut now, and what was measured until now is read afterwards.
  if (has_rank()) UpdateMode();
  if (before.is_filled() && !settings.is_filled()) OrderSaves();
  if (before.is_measured() && !settings.is_measured()) BreakOff(now);
  // Measured again: its silence counts from here on.
  const bool is_back = has_rank() && !before.is_measured() && settings.is_measured();
  if (is_back) rank_->standstill->OnEdges(now, now);
  return true;
}

void DeviceState::UpdateMode() {
  const RankSettings& settings = rank_->settings;
  // After a break units must wait for a bubble whose begin is known, or they would belong to none.
  const bool is_open = settings.is_filled() && !rank_->is_after_break && !rank_->is_backed_off;
  const FillMode closed = settings.is_measured() ? FillMode::kReport : FillMode::kOff;
  window_->SetMode(is_open ? FillMode::kFill : closed);
  rank_->predictor.SetStaticShare(settings.static_share_ppm / 1e6);
}

void DeviceState::BreakOff(Instant now) {
  if (has_rank()) {
    DrainRank(now);
    rank_->standstill->End(now);
    rank_->predictor.IgnoreIteration();
    account_.OnBreak(now);
    // A gap in which nothing was lost.
    trace_.Append(DroppedRecord(rank_->rank_key, 0, 0));
  }
  rank_->is_after_break = true;
}

std::optional<AttemptKey> DeviceState::OnConnectionEnded(ConnectionId connection, Instant now) {
  if (rank_.has_value() && rank_->peer.connection == connection) {
    EndRank(now);
    return std::nullopt;
  }
  for (auto& [key, seat] : tasks_) {
    if (!seat.gate.has_value() || seat.gate->connection != connection) continue;
    Drain(now);
    CloseGate(seat);
    return key;
  }
  return std::nullopt;
}

void DeviceState::EndRank(Instant now) {
  if (rank_->rank_key != 0) {
    Drain(now);
    rank_->standstill->End(now);
    account_.OnDetached(now);
    window_->SetMode(FillMode::kOff);
    window_->RaiseSignalGeneration();
    v1::TraceRecord record;
    record.mutable_rank_detached()->set_rank_key(rank_->rank_key);
    record.mutable_rank_detached()->set_now_ns(now.ns());
    trace_.Append(record);
    spdlog::info("rank_detached device={} main_job={} rank={}", name(), rank_->request.main_job,
                 rank_->request.rank);
    last_bubbles_ = ReportBubbles();
    ForgetSkips();
    OrderSaves();
  }
  rank_.reset();
}

void DeviceState::CloseGate(TaskSeat& seat) {
  const TaskView view = seat.gate->reader.View();
  seat.bubbles_denied_before += view.bubbles_denied;
  seat.pieces_before += view.pieces_done;
  seat.checkpoint = view.checkpoint;
  seat.unit_estimate_ns = view.unit_estimate_ns;
  turns_->LeaveSeat(seat.gate->turn_seat);
  seat.gate.reset();
  UpdateGateCount();
}

void DeviceState::UpdateGateCount() {
  window_->SetGates(
      static_cast<uint32_t>(std::count_if(tasks_.begin(), tasks_.end(), [](const auto& entry) {
        return entry.second.gate.has_value() && entry.second.gate->is_sealed;
      })));
}

void DeviceState::AddTask(const AttemptSpec& spec, pid_t pid, Instant now) {
  if (tasks_.contains(spec.key)) return;
  TaskSeat& seat = tasks_[spec.key];
  seat.task_key = trace_.NextTaskKey();
  seat.policy_rank = spec.policy_rank;
  v1::TraceRecord record;
  v1::TaskAttached& attached = *record.mutable_task_attached();
  attached.set_task_key(seat.task_key);
  *attached.mutable_attempt() = ToProto(spec.key);
  attached.set_job_name(spec.job_name);
  attached.set_device(name());
  attached.set_memory_bytes(spec.memory_bytes);
  attached.set_pid(pid);
  attached.set_now_ns(now.ns());
  trace_.Append(record);
}

void DeviceState::SetProgressBefore(const AttemptKey& key, const v1::FillProgress& progress) {
  const auto found = tasks_.find(key);
  if (found != tasks_.end()) found->second.before = progress;
}

v1::FillProgress DeviceState::RemoveTask(const AttemptKey& key, const AttemptEnd& end,
                                         const TaskUse& use, Instant now) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return ProgressOf(key, use);
  Drain(now);
  if (found->second.gate.has_value()) CloseGate(found->second);
  v1::FillProgress progress = ProgressOf(key, use);
  v1::TraceRecord record;
  record.mutable_task_ended()->set_task_key(found->second.task_key);
  record.mutable_task_ended()->set_now_ns(now.ns());
  *record.mutable_task_ended()->mutable_end() = ToProto(key, end, progress);
  trace_.Append(record);
  account_.ForgetTask(found->second.task_key);
  tasks_.erase(found);
  return progress;
}

bool DeviceState::IsRunning(uint32_t turn_seat, Instant now) const {
  for (const auto& [key, seat] : tasks_) {
    if (!seat.gate.has_value() || seat.gate->turn_seat != turn_seat) continue;
    const TaskView view = seat.gate->reader.View();
    if (!view.unit_start.has_value()) return false;
    // Most units are over long before; one that is not may belong to a task that somebody has
    // stopped.
    if (now - *view.unit_start <= TurnBoard::kStuckAfter) return true;
    const std::optional<ProcessStat> process = ReadProcess(seat.gate->pid);
    return process.has_value() && process->state != 'T' && process->state != 't';
  }
  return false;
}

ConnectionId DeviceState::GateOf(const AttemptKey& key) const {
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || !found->second.gate.has_value()) return 0;
  return found->second.gate->connection;
}

std::optional<UnitView> DeviceState::ViewUnit(const AttemptKey& key) const {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return std::nullopt;
  UnitView view;
  if (found->second.gate.has_value()) {
    const TaskView task = found->second.gate->reader.View();
    view = {.start = task.unit_start,
            .units_done = task.units_done,
            .estimate = absl::Nanoseconds(task.unit_estimate_ns)};
  }
  view.has_main_job = has_rank();
  if (!view.has_main_job) return view;
  const SignalView signal = ReadSignal(*rank_->page.As<SignalPage>());
  const bool is_in_failure = rank_->standstill->Contains(signal, view.start);
  view.is_bubble_open = signal.is_open() || is_in_failure;
  view.is_in_its_bubble =
      is_in_failure || !view.start.has_value() ||
      (signal.is_open() && signal.begin_ns <= static_cast<uint64_t>(view.start->ns()));
  return view;
}

void DeviceState::Drain(Instant now) {
  window_->Heartbeat(now);
  turns_->Watch(now, [&](uint32_t turn_seat) { return IsRunning(turn_seat, now); });
  // Tasks first: a unit's bubble must not be over in the account before its edges were read.
  std::vector<DrainedUnit> units;
  for (auto& [key, seat] : tasks_) DrainTask(seat, now, units);
  if (has_rank() && rank_->settings.is_measured()) DrainRank(now);
  // Not measured: the edges are taken out all the same, so that those of later do not follow old
  // ones.
  if (has_rank() && !rank_->settings.is_measured()) rank_->reader.Drain(now);
  for (const DrainedUnit& drained : units) TakeUnit(drained);
  JudgeUnits();
}

void DeviceState::DrainTask(TaskSeat& seat, Instant now, std::vector<DrainedUnit>& units) {
  if (!seat.gate.has_value()) return;
  TakeOrderBack(*seat.gate);
  const Drained<UnitRecord> drained = seat.gate->reader.Drain(now);
  for (const UnitRecord& unit : drained.records) {
    units.push_back({.task_key = seat.task_key, .unit = unit});
  }
  if (drained.dropped > 0) trace_.Append(DroppedRecord(0, seat.task_key, drained.dropped));
  if (drained.rejected > 0) {
    spdlog::warn("units_rejected task_key={} count={}", seat.task_key, drained.rejected);
  }
}

void DeviceState::DrainRank(Instant now) {
  const Drained<EdgeEvent> drained = rank_->reader.Drain(now);
  // What was dropped is older than what is left.
  if (!drained.records.empty()) {
    const auto first_ns = static_cast<int64_t>(drained.records.front().time_ns);
    rank_->standstill->OnEdges(now, Instant::FromNs(first_ns));
  }
  if (drained.dropped > 0) {
    rank_->predictor.IgnoreIteration();
    account_.OnEdgesDropped(drained.dropped);
    trace_.Append(DroppedRecord(rank_->rank_key, 0, drained.dropped));
  }
  for (const EdgeEvent& edge : drained.records) TakeEdge(edge);
  rank_->predictor.OnTime(now.ns());
  for (const uint32_t slot : rank_->predictor.TakeChanged()) {
    window_->Publish(slot, rank_->predictor.WindowOf(slot));
  }
  if (drained.rejected > 0) {
    spdlog::warn("edges_rejected device={} count={}", name(), drained.rejected);
  }
}

void DeviceState::TakeEdge(const EdgeEvent& edge) {
  NameSlot(edge.slot);
  const bool is_offered = window_->IsOffered(edge.slot);
  trace_.Append(EdgeTraceRecord(rank_->rank_key, edge, is_offered));
  const auto time_ns = static_cast<int64_t>(edge.time_ns);
  if (edge.kind == EdgeKind::kIterationBegin) rank_->predictor.OnIterationBegin(time_ns);
  const bool is_break_over = rank_->is_after_break && edge.kind == EdgeKind::kBubbleBegin;
  const EdgeEffect effect = account_.OnEdge(edge, is_offered);
  if (is_break_over) {
    rank_->is_after_break = false;
    UpdateMode();
  }
  if (effect.ended.has_value()) rank_->iterations.push_back(*effect.ended);
  if (effect.closed.has_value() && effect.closed->slot < kBubbleSlots) {
    rank_->predictor.OnLength(effect.closed->slot, effect.closed->length_ns);
    if (window_->IsOffered(effect.closed->slot)) CountSkipped(effect.closed->slot);
  }
  if (effect.hinted_slot.has_value() && *effect.hinted_slot < kBubbleSlots) {
    rank_->predictor.OnMemoryHint(*effect.hinted_slot, static_cast<int64_t>(edge.value));
  }
  if (edge.kind == EdgeKind::kIterationEnd) rank_->predictor.OnIterationEnd(time_ns);
}

void DeviceState::CheckStall(Instant now, const ProcessTable& processes) {
  if (!has_rank() || !rank_->settings.is_measured()) return;
  // An edge may have come since the last beat.
  Drain(now);
  rank_->standstill->Look(now, processes, rank_->peer.pid);
}

void DeviceState::NameSlot(uint32_t slot) {
  if (slot >= kBubbleSlots || rank_->named_slots.contains(slot)) return;
  const std::optional<SlotName> bubble = rank_->reader.NameOf(slot);
  if (!bubble.has_value()) return;
  rank_->named_slots.insert(slot);
  trace_.Append(SlotNameTraceRecord(rank_->rank_key, slot, *bubble));
}

void DeviceState::TakeUnit(const DrainedUnit& drained) {
  account_.OnUnit(drained.task_key, drained.unit);
  const auto rank_key = rank_keys_.find(drained.unit.generation);
  trace_.Append(UnitTraceRecord(drained.task_key,
                                rank_key == rank_keys_.end() ? 0 : rank_key->second, drained.unit));
}

}  // namespace pipefill
