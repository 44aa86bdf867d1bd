#include "agent/agent_loop.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/convert.h"
#include "common/log.h"
#include "common/status.h"
#include "common/version.h"

namespace pipefill {
namespace {

constexpr absl::Duration kWatchPeriod = absl::Milliseconds(50);
// Schedulerd may want reports less often than that.
constexpr absl::Duration kReportPeriod = absl::Seconds(1);
// In watches: samples of the trace every 250 ms.
constexpr int64_t kSampleEvery = 5;
constexpr absl::Duration kShutdownPoll = absl::Milliseconds(20);
// Beyond the grace, for the exits of killed tasks.
constexpr absl::Duration kShutdownExtra = absl::Seconds(2);
// Once all tasks are gone, for schedulerd to acknowledge their ends.
constexpr absl::Duration kAcknowledgeWait = absl::Seconds(1);
constexpr int64_t kContentDefault = 256 << 10;
constexpr int64_t kContentMax = 1 << 20;

}  // namespace

AgentLoop::AgentLoop(const AgentParts& parts, SupervisorOptions supervisor_options)
    : parts_(parts),
      loop_(parts.loop),
      supervisor_(parts.loop, parts.folders, std::move(supervisor_options), *this),
      desk_(parts.loop, *this),
      controls_({.controller = parts.settings.controller,
                 .overrun_ratio = parts.settings.predictor.overrun_ratio,
                 .hold_out = parts.settings.window.hold_out},
                parts.trace) {}

void AgentLoop::Start(LocalService& service, SchedulerSession& session) {
  service_ = &service;
  session_ = &session;
  Inherit();
  session_->Start();
  Every(parts_.settings.drain_period, [this] { Drain(); });
  Every(kWatchPeriod, [this] { Watch(); });
  Every(kReportPeriod, [this] { Report(); });
}

void AgentLoop::Inherit() {
  std::set<std::string> devices;
  for (const auto& state : parts_.states) devices.insert(state->name());
  for (const InheritedEnd& inherited : supervisor_.Inherit(devices)) {
    desk_.OnEnded(inherited.key, inherited.end, ReadProgress(inherited.key));
  }
  for (const AttemptKey& key : supervisor_.live()) {
    FindState(supervisor_.Find(key)->device)->SetProgressBefore(key, ReadProgress(key));
  }
}

// What an agentd before this one has counted.
v1::FillProgress AgentLoop::ReadProgress(const AttemptKey& key) const {
  v1::FillProgress progress;
  if (!progress.ParseFromString(parts_.folders.ReadProgress(key))) progress.Clear();
  return progress;
}

v1::FillProgress AgentLoop::ProgressOf(const AttemptKey& key) const {
  v1::FillProgress progress =
      FindState(supervisor_.Find(key)->device)->ProgressOf(key, supervisor_.UseOf(key));
  parts_.folders.WriteProgress(key, progress.SerializeAsString());
  return progress;
}

void AgentLoop::Every(absl::Duration period, std::function<void()> body) {
  loop_.PostAt(loop_.Now() + period, [this, period, body = std::move(body)] {
    body();
    Every(period, body);
  });
}

// --- Timers ---

void AgentLoop::Drain() {
  const Instant now = loop_.Now();
  const bool is_parked = session_->contact().is_silent(now);
  if (is_parked != is_parked_) spdlog::info("gates_parked parked={}", is_parked);
  is_parked_ = is_parked;
  OrderSavesIfFading(now);
  for (const auto& state : parts_.states) {
    state->SetParked(is_parked);
    state->Drain(now);
  }
  controls_.Update(parts_.states, is_parked, now);
  parts_.trace.FlushIfDue(now);
}

void AgentLoop::OrderSavesIfFading(Instant now) {
  const bool is_fading = session_->contact().is_fading(now);
  if (is_fading && !is_fading_) {
    // If this goes on the attempts are started elsewhere, from what is saved by then.
    for (const AttemptKey& key : supervisor_.live()) {
      FindState(supervisor_.Find(key)->device)->OrderSave(key);
    }
  }
  is_fading_ = is_fading;
}

void AgentLoop::Watch() {
  supervisor_.Tick(nullptr);
  const bool is_sampled = ++watches_ % kSampleEvery == 0;
  for (const AttemptKey& key : supervisor_.live()) {
    DeviceState& state = *FindState(supervisor_.Find(key)->device);
    if (is_sampled) state.SampleTask(key, supervisor_.UseOf(key), loop_.Now());
    const std::optional<UnitView> unit = state.ViewUnit(key);
    if (unit.has_value()) supervisor_.OnUnitSeen(key, *unit);
  }
}

void AgentLoop::Report() {
  const ProcessTable processes = ReadProcessTable();
  supervisor_.Tick(&processes);
  for (const auto& state : parts_.states) {
    state->CheckStall(loop_.Now(), processes);
    state->ReadMemory(processes);
  }
  v1::AgentMessage message;
  for (const AttemptKey& key : supervisor_.live()) {
    v1::AttemptProgress& progress = *message.mutable_report()->add_progress();
    *progress.mutable_key() = ToProto(key);
    *progress.mutable_progress() = ProgressOf(key);
  }
  if (!session_->is_connected()) return;
  if (is_stopping_ || loop_.Now() < report_due_) return desk_.ResendEnds();
  // Half a step early, or a timer that is late by a little would put it off by a whole one.
  report_due_ = loop_.Now() + (session_->report_period() - kReportPeriod / 2);
  v1::AgentReport& report = *message.mutable_report();
  for (v1::Device& device : DescribeDevices(processes)) *report.add_devices() = std::move(device);
  for (const auto& state : parts_.states) {
    for (v1::BubbleStats& bubble : state->ReportBubbles())
      *report.add_bubbles() = std::move(bubble);
  }
  session_->Send(std::move(message));
  desk_.ResendEnds();
}

void AgentLoop::ReportNow() {
  report_due_ = Instant();
  Report();
}

// --- Ranks and gates ---

AttachAnswer AgentLoop::OnAttachRank(const Peer& peer, const RankRequest& request) {
  const absl::StatusOr<size_t> place = FindRankDevice(parts_.devices, request.device, peer.pid);
  if (!place.ok()) {
    return Refusal{.code = AttachCode::kNoDevice, .text = std::string(place.status().message())};
  }
  DeviceState& state = *parts_.states[*place];
  AttachAnswer answer = state.AttachRank(peer, request);
  if (std::holds_alternative<PageGrant>(answer)) connections_[peer.connection] = &state;
  return answer;
}

AttachAnswer AgentLoop::OnAttachTask(const Peer& peer, const TaskRequest& request) {
  const AttemptKey& key = request.key;
  const AttemptSpec* spec = supervisor_.Find(key);
  // Tasks run as agentd's user; others have no business with their pages.
  const bool is_our_user = peer.uid == geteuid() || peer.uid == 0;
  if (spec == nullptr || !is_our_user || supervisor_.IsStopping(key)) {
    return Refusal{
        .code = AttachCode::kUnknown,
        .text = absl::StrCat("attach: job ", key.job.value(), " attempt ", key.attempt.value(),
                             " is not running here, is being stopped, or its fence is stale")};
  }
  DeviceState& state = *FindState(spec->device);
  // It may be here before the news of its start.
  supervisor_.CatchUp(key);
  state.AddTask(*spec, supervisor_.PidOf(key), loop_.Now());
  AttachAnswer answer = state.AttachTask(peer, key);
  if (std::holds_alternative<PageGrant>(answer)) {
    connections_[peer.connection] = &state;
    supervisor_.OnPageGranted(key);
  }
  return answer;
}

void AgentLoop::OnMapped(ConnectionId connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  const std::optional<AttemptKey> task = found->second->OnMapped(connection, loop_.Now());
  if (task.has_value()) supervisor_.OnAttached(*task);
}

PageGrant AgentLoop::OnSignalRequest(ConnectionId connection) {
  const auto found = connections_.find(connection);
  return found == connections_.end() ? PageGrant() : found->second->SignalGrant();
}

void AgentLoop::OnConnectionEnded(ConnectionId connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  DeviceState* state = found->second;
  connections_.erase(found);
  const std::optional<AttemptKey> task = state->OnConnectionEnded(connection, loop_.Now());
  if (task.has_value()) supervisor_.OnDetached(*task);
}

// --- Tasks ---

void AgentLoop::OnTaskStarted(const AttemptSpec& spec, pid_t pid) {
  FindState(spec.device)->AddTask(spec, pid, loop_.Now());
  desk_.OnStarted(spec.key, pid);
}

void AgentLoop::OnTaskShouldStop(const AttemptKey& key) {
  FindState(supervisor_.Find(key)->device)->OrderSave(key);
  service_->SendStop(FindState(supervisor_.Find(key)->device)->GateOf(key));
}

void AgentLoop::OnTaskEnded(const AttemptSpec& spec, const AttemptEnd& end, const TaskUse& use) {
  const v1::FillProgress progress =
      FindState(spec.device)->RemoveTask(spec.key, end, use, loop_.Now());
  parts_.folders.WriteProgress(spec.key, progress.SerializeAsString());
  desk_.OnEnded(spec.key, end, progress);
}

// AttemptHost.

absl::Status AgentLoop::CheckRoom(const AttemptSpec& spec) const {
  const DeviceState* state = FindState(spec.device);
  if (state == nullptr) {
    return absl::NotFoundError(absl::StrCat("this node has no device ", spec.device));
  }
  const DeviceDescription& device = state->device().description();
  return CheckDeviceRoom(
      {.memory_bytes = device.memory_bytes, .seats = device.resident_limit},
      {.memory_bytes = supervisor_.CapsOn(spec.device), .seats = supervisor_.CountOn(spec.device)},
      spec);
}

void AgentLoop::StartTask(const AttemptSpec& spec) {
  supervisor_.Launch(spec, FindState(spec.device)->device());
}

void AgentLoop::SyncEnd(const AttemptKey& key, std::function<void(const absl::Status&)> done) {
  parts_.end_sync.Sync(key, std::move(done));
}

// --- schedulerd ---

v1::AgentHello AgentLoop::MakeHello() {
  main_jobs_named_.clear();
  v1::AgentHello hello;
  hello.set_node(parts_.settings.node);
  hello.set_boot_id(parts_.boot_id);
  hello.set_version(kVersion);
  for (v1::Device& device : DescribeDevices(ReadProcessTable())) {
    *hello.add_devices() = std::move(device);
  }
  for (const AttemptKey& key : desk_.Unsettled()) *hello.add_live_attempts() = ToProto(key);
  return hello;
}

void AgentLoop::OnConnected() {
  // All that are set came before the Welcome.
  parts_.main_jobs.KeepOnly(main_jobs_named_);
  OnSettingsChanged();
  report_due_ = Instant();
  desk_.ResendEnds();
}

void AgentLoop::OnCommand(const v1::AgentCommand& command) {
  switch (command.command_case()) {
    case v1::AgentCommand::kLaunch:
      desk_.Launch(command.launch());
      break;
    case v1::AgentCommand::kStop:
      desk_.Stop(command.stop());
      break;
    case v1::AgentCommand::kEndAcknowledged:
      desk_.OnEndAcknowledged(command.end_acknowledged());
      break;
    case v1::AgentCommand::kContent: {
      v1::AgentMessage message;
      *message.mutable_content_reply() = Read(command.content());
      session_->Send(std::move(message));
      break;
    }
    case v1::AgentCommand::kMainJobSettings:
      SetMainJob(command.main_job_settings());
      break;
    case v1::AgentCommand::kWelcome:
    case v1::AgentCommand::kKeepAlive:
      break;
    case v1::AgentCommand::COMMAND_NOT_SET:
      spdlog::warn("command_unknown");
      break;
  }
}

void AgentLoop::SetMainJob(const v1::MainJobSettings& settings) {
  main_jobs_named_.insert(settings.main_job());
  parts_.main_jobs.Set(FromProto(settings));
  // So that users see it at once.
  if (OnSettingsChanged()) ReportNow();
}

bool AgentLoop::OnSettingsChanged() {
  bool is_changed = false;
  for (const auto& state : parts_.states) {
    is_changed = state->OnSettingsChanged(loop_.Now()) || is_changed;
  }
  return is_changed;
}

v1::ContentReply AgentLoop::Read(const v1::ContentRequest& request) const {
  v1::ContentReply reply;
  reply.set_request_id(request.request_id());
  absl::StatusOr<v1::ReadContentResponse> content = ReadContent(request.request());
  if (content.ok()) {
    *reply.mutable_content() = *std::move(content);
  } else {
    reply.set_error_code(static_cast<int32_t>(content.status().code()));
    reply.set_error_text(std::string(content.status().message()));
  }
  return reply;
}

absl::StatusOr<v1::ReadContentResponse> AgentLoop::ReadContent(
    const v1::ReadContentRequest& request) const {
  const int64_t limit =
      request.limit() == 0 ? kContentDefault : std::min<int64_t>(request.limit(), kContentMax);
  v1::ReadContentResponse response;
  if (request.kind() == v1::CONTENT_KIND_TRACE) {
    ASSIGN_OR_RETURN(TraceChunk chunk, parts_.trace.ReadChunk(request.offset(), limit));
    response.set_data(std::move(chunk.data));
    response.set_next_offset(chunk.next_offset);
    response.set_at_end(chunk.is_at_end);
    return response;
  }
  if (request.kind() != v1::CONTENT_KIND_STDOUT && request.kind() != v1::CONTENT_KIND_STDERR) {
    return absl::InvalidArgumentError("read content: agentd does not know this kind");
  }
  const AttemptFolders::Name name(JobId(request.job_id()), AttemptNumber(request.attempt()));
  const std::vector<AttemptKey> live = supervisor_.live();
  // Before reading: what ends meanwhile is read to its end next time.
  const bool is_live = std::any_of(live.begin(), live.end(), [&](const AttemptKey& key) {
    return key.job == name.first && key.attempt == name.second;
  });
  const LogKind kind =
      request.kind() == v1::CONTENT_KIND_STDOUT ? LogKind::kStdout : LogKind::kStderr;
  const bool is_by_time = request.offset() == 0 && request.since_unix_ns() > 0;
  const int64_t offset = is_by_time ? parts_.folders.FindOffset(name, kind, request.since_unix_ns())
                                    : request.offset();
  ASSIGN_OR_RETURN(LogChunk chunk, parts_.folders.ReadLog(name, kind, offset, limit));
  response.set_data(std::move(chunk.data));
  response.set_next_offset(chunk.next_offset);
  response.set_at_end(chunk.is_at_end);
  response.set_final(!is_live);
  response.set_attempt(request.attempt());
  return response;
}

// --- The end ---

void AgentLoop::Shutdown(absl::Duration grace, std::function<void()> done) {
  is_stopping_ = true;
  desk_.Close();
  if (parts_.settings.keep_tasks_at_stop) {
    supervisor_.Release();
    session_->Stop();
    parts_.trace.Flush();
    return done();
  }
  // A report without devices first: nothing is to be placed here any more.
  v1::AgentMessage message;
  message.mutable_report();
  session_->Send(std::move(message));
  supervisor_.StopAll({.cause = EndCause::kLost, .grace = grace, .text = "agentd was stopped"});
  FinishShutdown(loop_.Now() + grace + kShutdownExtra, std::move(done));
}

void AgentLoop::FinishShutdown(Instant give_up_at, std::function<void()> done) {
  const bool is_told = desk_.is_settled() || !session_->is_connected();
  if (supervisor_.is_empty()) give_up_at = std::min(give_up_at, loop_.Now() + kAcknowledgeWait);
  if ((supervisor_.is_empty() && is_told) || loop_.Now() >= give_up_at) {
    session_->Stop();
    parts_.trace.Flush();
    return done();
  }
  loop_.PostAt(loop_.Now() + kShutdownPoll,
               [this, give_up_at, done = std::move(done)] { FinishShutdown(give_up_at, done); });
}

DeviceState* AgentLoop::FindState(absl::string_view device) const {
  const auto found = std::find_if(parts_.states.begin(), parts_.states.end(),
                                  [&](const auto& state) { return state->name() == device; });
  return found == parts_.states.end() ? nullptr : found->get();
}

std::vector<v1::Device> AgentLoop::DescribeDevices(const ProcessTable& processes) const {
  std::vector<v1::Device> devices;
  for (const auto& state : parts_.states) {
    devices.push_back(state->Report(processes, supervisor_.CapsOn(state->name()),
                                    supervisor_.CountOn(state->name())));
    const v1::FillControl* control = controls_.Find(state->rank_key());
    if (control != nullptr) *devices.back().mutable_main_rank()->mutable_control() = *control;
  }
  return devices;
}

}  // namespace pipefill
