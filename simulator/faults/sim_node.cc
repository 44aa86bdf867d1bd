#include "simulator/faults/sim_node.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/attach_message.h"
#include "agent/convert.h"
#include "common/check.h"
#include "common/version.h"
#include "simulator/faults/sim_node_agent.h"

namespace pipefill::simulator {
namespace {

// agentd's own are ten and four times as short; none of them is part of a promise.
constexpr absl::Duration kDrainPeriod = absl::Milliseconds(100);
constexpr absl::Duration kWatchPeriod = absl::Milliseconds(200);
constexpr absl::Duration kReportPeriod = absl::Seconds(1);
constexpr absl::Duration kReattachMost = absl::Seconds(1);
constexpr absl::Duration kStopTakes = absl::Milliseconds(300);
constexpr absl::Duration kSyncMost = absl::Milliseconds(20);
constexpr absl::Duration kSignalTakes = absl::Milliseconds(20);
constexpr absl::Duration kInheritedGrace = absl::Seconds(5);
constexpr absl::Duration kUnit = absl::Milliseconds(10);
constexpr absl::Duration kFarAway = absl::Hours(10'000);

// As what an exit is reported that no agentd saw.
AttemptEnd EndOfUnseen(const std::optional<StopRequest>& stop, const ProcessExit& exit) {
  TaskMachine machine({});
  machine.OnStarted();
  if (stop.has_value()) machine.OnStopRequested(*stop, Instant());
  machine.OnExited(exit);
  return machine.end();
}

}  // namespace

SimNode::SimNode(const Surroundings& surroundings, const Options& options)
    : world_(surroundings.world),
      network_(surroundings.network),
      watcher_(surroundings.watcher),
      options_(options),
      draw_(options.seed),
      has_device_(static_cast<size_t>(options.devices), true) {
  clock_.monotonic_ahead = draw_.Between(absl::Seconds(1), absl::Hours(1000));
}

SimNode::~SimNode() { KillAgent(); }

std::string SimNode::NameOf(int index) { return absl::StrCat("node", index); }
std::string SimNode::DeviceName(int device) const { return absl::StrCat("gpu", device); }

// --- Nuisances ---

void SimNode::StartAgent() {
  CHECK(!is_up());
  ++starts_;
  is_parked_ = true;
  agent_ = std::make_unique<Agent>(*this, draw_.Seed());
  Inherit();
  agent_->session.Start();
  Every(kDrainPeriod, [this] { Drain(); });
  Every(kWatchPeriod, [this] { Watch(); });
  Every(kReportPeriod, [this] { Report(); });
}

void SimNode::KillAgent() {
  agent_ = nullptr;
  WatchHeartbeat();
}

void SimNode::StopAgent() {
  if (!is_up()) return;
  agent_->desk.Close();
  v1::AgentMessage nothing_offered;
  nothing_offered.mutable_report();
  Tell(std::move(nothing_offered));
  world_.PostAt(world_.Now() + kStopTakes, [this, starts = starts_] {
    if (starts == starts_) KillAgent();
  });
}

void SimNode::LosePower() {
  network_.LosePower(options_.index);
  KillAgent();
  ++boots_;
  for (auto& [key, task] : tasks_) {
    SetWorking(task, false);
    world_.Cancel(task.tail_timer);
    watcher_.OnProcessGone(options_.index, key);
  }
  tasks_.clear();
  for (auto it = disk_.begin(); it != disk_.end();) {
    Record& record = it->second;
    if (!record.is_synced) {
      record.end = std::nullopt;
      record.exit = std::nullopt;
    }
    const bool is_gone = !record.is_synced && draw_.Chance(0.5);
    it = is_gone ? disk_.erase(it) : std::next(it);
  }
}

void SimNode::HangAgentFor(absl::Duration duration) {
  if (is_up()) agent_->loop.HangFor(duration);
}

void SimNode::SetMainJob(bool is_there) {
  has_main_job_ = is_there;
  UpdateWork();
}

void SimNode::SetDevice(int device, bool is_there) {
  has_device_[static_cast<size_t>(device)] = is_there;
}

std::vector<AttemptKey> SimNode::processes() const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, task] : tasks_) keys.push_back(key);
  return keys;
}

bool SimNode::has_gated_work() const {
  return std::any_of(tasks_.begin(), tasks_.end(), [](const auto& entry) {
    return entry.second.is_working && entry.second.is_attached;
  });
}

bool SimNode::is_settled() const { return agent_->held.empty() && agent_->desk.is_settled(); }

// --- AttemptHost ---

bool SimNode::HasDevice(absl::string_view device) const {
  for (int i = 0; i < options_.devices; ++i) {
    if (DeviceName(i) == device) return has_device_[static_cast<size_t>(i)];
  }
  return false;
}

// A greedy node tells of, and takes, more than there is.
TaskRoom SimNode::RoomOfDevice() const {
  const int factor = options_.plant == Plant::kGreedyNode ? 4 : 1;
  return {.memory_bytes = options_.device_bytes * factor, .seats = options_.seats * factor};
}

TaskRoom SimNode::UsedOn(absl::string_view device) const {
  TaskRoom used;
  for (const auto& [key, held] : agent_->held) {
    if (held.spec.device != device) continue;
    used.memory_bytes += held.spec.memory_bytes;
    ++used.seats;
  }
  return used;
}

absl::Status SimNode::CheckRoom(const AttemptSpec& spec) const {
  if (!HasDevice(spec.device)) return absl::NotFoundError("no such device");
  return CheckDeviceRoom(RoomOfDevice(), UsedOn(spec.device), spec);
}

void SimNode::StartTask(const AttemptSpec& spec) {
  const AttemptKey key = spec.key;
  TaskLimits limits;
  limits.memory_bytes = spec.memory_bytes;
  limits.runtime_max = spec.max_runtime;
  agent_->held.emplace(
      key, Agent::Held{.spec = spec, .machine = TaskMachine(limits), .since = agent_->loop.Now()});
  disk_[key] = {.spec = spec, .boot = boots_};
  const TaskBehaviour behaviour = DrawBehaviour(options_.behaviour_seed, key.job, key.attempt);
  if (behaviour.is_refused || !behaviour.is_launchable) {
    const EndCause cause = behaviour.is_refused ? EndCause::kRefused : EndCause::kLaunchFailed;
    return FeedLater(key, [cause](TaskMachine& machine) {
      return machine.OnLaunchFailed("cannot be started", cause);
    });
  }
  const bool is_endless = behaviour.outlives_limit && spec.max_runtime != absl::InfiniteDuration();
  tasks_[key] = {
      .spec = spec, .behaviour = behaviour, .work_left = is_endless ? kFarAway : behaviour.work};
  watcher_.OnProcess(options_.index, spec);
  world_.PostAt(world_.Now() + behaviour.start_delay, [this, key] { BeginProcess(key); });
}

bool SimNode::StopTask(const AttemptKey& key, const StopRequest& request) {
  if (!agent_->held.contains(key)) return false;
  Record& record = disk_.at(key);
  if (!record.stop.has_value()) record.stop = request;
  Feed(key,
       [&](TaskMachine& machine) { return machine.OnStopRequested(request, agent_->loop.Now()); });
  return true;
}

const AttemptSpec* SimNode::FindTask(const AttemptKey& key) const {
  const auto found = agent_->held.find(key);
  return found == agent_->held.end() ? nullptr : &found->second.spec;
}

std::vector<AttemptKey> SimNode::LiveTasks() const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, held] : agent_->held) keys.push_back(key);
  return keys;
}

pid_t SimNode::PidOf(const AttemptKey& key) const {
  const auto found = tasks_.find(key);
  return found != tasks_.end() && found->second.is_started ? 1000 : 0;
}

void SimNode::SyncEnd(const AttemptKey& key, std::function<void(const absl::Status&)> done) {
  const absl::Duration takes = disk_slowness_ + draw_.Between(absl::ZeroDuration(), kSyncMost);
  agent_->loop.PostAt(agent_->loop.Now() + takes, [this, key, done = std::move(done)] {
    const auto found = disk_.find(key);
    if (found != disk_.end()) found->second.is_synced = true;
    done(absl::OkStatus());
  });
}

void SimNode::RemoveRecord(const AttemptKey& key) { disk_.erase(key); }

void SimNode::Tell(v1::AgentMessage message) { agent_->session.Send(std::move(message)); }

// --- SessionHandler ---

v1::AgentHello SimNode::MakeHello() {
  agent_->main_jobs_named.clear();
  v1::AgentHello hello;
  hello.set_node(NameOf(options_.index));
  hello.set_boot_id(absl::StrCat(NameOf(options_.index), "-", starts_));
  hello.set_version(kVersion);
  for (v1::Device& device : DescribeDevices()) *hello.add_devices() = std::move(device);
  for (const AttemptKey& key : agent_->desk.Unsettled()) *hello.add_live_attempts() = ToProto(key);
  return hello;
}

void SimNode::OnConnected() {
  agent_->main_jobs.KeepOnly(agent_->main_jobs_named);
  agent_->report_due = Instant();
  agent_->was_connected = true;
  agent_->desk.ResendEnds();
}

void SimNode::OnCommand(const v1::AgentCommand& command) {
  switch (command.command_case()) {
    case v1::AgentCommand::kLaunch:
      return agent_->desk.Launch(command.launch());
    case v1::AgentCommand::kStop:
      return agent_->desk.Stop(command.stop());
    case v1::AgentCommand::kEndAcknowledged:
      if (options_.plant == Plant::kDeafAgent) return;
      return agent_->desk.OnEndAcknowledged(command.end_acknowledged());
    case v1::AgentCommand::kMainJobSettings:
      agent_->main_jobs_named.insert(command.main_job_settings().main_job());
      agent_->main_jobs.Set(FromProto(command.main_job_settings()));
      Drain();
      agent_->report_due = Instant();
      return Report();
    default:
      return;
  }
}

// --- agentd ---

void SimNode::Every(absl::Duration period, const std::function<void()>& body) {
  agent_->loop.PostAt(agent_->loop.Now() + period, [this, period, body] {
    body();
    Every(period, body);
  });
}

// As TaskSupervisor::Inherit does it with real folders and processes.
void SimNode::Inherit() {
  if (options_.plant == Plant::kForgetfulAgent) return disk_.clear();
  for (auto& [key, record] : disk_) InheritOne(record);
}

void SimNode::InheritOne(Record& record) {
  const AttemptKey key = record.spec.key;
  if (!record.end.has_value() && record.exit.has_value()) {
    record.end = EndOfUnseen(record.stop, *record.exit);
  }
  if (record.end.has_value()) return agent_->desk.OnEnded(key, *record.end, {});
  const auto task = tasks_.find(key);
  const bool is_there = record.boot == boots_ && task != tasks_.end();
  if (!is_there || !HasDevice(record.spec.device)) {
    if (is_there) ExitProcess(key, {.signal = SIGKILL});
    record.end = {.cause = EndCause::kLost, .text = "agentd was restarted without its tasks"};
    return agent_->desk.OnEnded(key, *record.end, {});
  }
  TaskLimits limits;
  limits.memory_bytes = record.spec.memory_bytes;
  limits.runtime_max = record.spec.max_runtime;
  agent_->held.emplace(
      key, Agent::Held{
               .spec = record.spec, .machine = TaskMachine(limits), .since = agent_->loop.Now()});
  task->second.is_frozen = false;
  Feed(key, [](TaskMachine& machine) { return machine.OnStarted(); });
  if (task->second.is_attached) {
    SetWorking(task->second, false);
    task->second.is_attached = false;
    AttachLater(key, draw_.Between(absl::Milliseconds(1), kReattachMost));
  }
  if (!record.stop.has_value()) return;
  StopRequest stop = *record.stop;
  stop.grace = kInheritedGrace;
  Feed(key,
       [&](TaskMachine& machine) { return machine.OnStopRequested(stop, agent_->loop.Now()); });
}

void SimNode::Drain() {
  const Instant now = agent_->loop.Now();
  is_parked_ = agent_->session.contact().is_silent(now);
  if (options_.plant == Plant::kEndlessLease && agent_->was_connected) is_parked_ = false;
  is_paused_ = agent_->main_jobs.SettingsFor({.main_job = kMainJob, .device = ""}).is_paused;
  if (options_.plant == Plant::kDeafGates) is_paused_ = false;
  heartbeat_ = world_.Now();
  WatchHeartbeat();
  UpdateWork();
}

void SimNode::Watch() {
  for (const AttemptKey& key : LiveTasks()) WatchTask(key);
}

void SimNode::WatchTask(const AttemptKey& key) {
  const auto process = tasks_.find(key);
  if (process == tasks_.end()) return;
  const Task task = process->second;
  const Instant now = agent_->loop.Now();
  const absl::Duration runtime = now - agent_->held.at(key).since;
  Feed(key, [&](TaskMachine& machine) { return machine.OnRuntimeSeen(runtime, now); });
  if (task.is_working && task.behaviour.grows) {
    Feed(key, [&](TaskMachine& machine) {
      return machine.OnMemoryUsed(2 * task.spec.memory_bytes, now);
    });
  }
  if (task.is_attached && task.behaviour.overstays) {
    // One unit that never ends, and takes all the CPU time there is.
    const UnitView unit = {
        .start = now + (task.working_since - world_.Now()),
        .is_in_its_bubble = false,
        .is_bubble_open = false,
        .has_main_job = has_main_job_,
        .task_cpu = task.is_working ? world_.Now() - task.working_since : absl::ZeroDuration()};
    Feed(key, [&](TaskMachine& machine) { return machine.OnUnitSeen(unit, now); });
  }
  Feed(key, [&](TaskMachine& machine) { return machine.OnStopSeen(task.is_held, now); });
  Feed(key, [&](TaskMachine& machine) { return machine.OnTick(now); });
}

void SimNode::Report() {
  if (!agent_->session.is_connected()) return;
  if (agent_->loop.Now() < agent_->report_due) return agent_->desk.ResendEnds();
  agent_->report_due = agent_->loop.Now() + (agent_->session.report_period() - kReportPeriod / 2);
  v1::AgentMessage message;
  v1::AgentReport& report = *message.mutable_report();
  for (v1::Device& device : DescribeDevices()) *report.add_devices() = std::move(device);
  for (const auto& [key, task] : tasks_) {
    v1::AttemptProgress& progress = *report.add_progress();
    *progress.mutable_key() = ToProto(key);
    const absl::Duration done = task.behaviour.work - task.work_left;
    progress.mutable_progress()->set_units(done / kUnit);
    progress.mutable_progress()->set_unit_cpu_ns(absl::ToInt64Nanoseconds(done));
    progress.mutable_progress()->set_unit_cpu_in_bubble_ns(absl::ToInt64Nanoseconds(done));
  }
  Tell(std::move(message));
  agent_->desk.ResendEnds();
}

void SimNode::FeedLater(const AttemptKey& key, std::function<TaskActions(TaskMachine&)> input) {
  agent_->loop.Post([this, key, input = std::move(input)] { Feed(key, input); });
}

void SimNode::Feed(const AttemptKey& key, const std::function<TaskActions(TaskMachine&)>& input) {
  const auto found = agent_->held.find(key);
  if (found == agent_->held.end()) return;
  TaskMachine& machine = found->second.machine;
  const TaskPhase before = machine.phase();
  const TaskActions actions = input(machine);
  watcher_.OnTaskPhases(before, machine.phase());
  Perform(key, actions);
}

void SimNode::Perform(const AttemptKey& key, const TaskActions& actions) {
  const auto found = tasks_.find(key);
  Task* const task = found == tasks_.end() ? nullptr : &found->second;
  for (const TaskAction action : actions) {
    switch (action) {
      case TaskAction::kReportStarted:
        agent_->desk.OnStarted(key, PidOf(key));
        break;
      case TaskAction::kAskToStop:
        if (task == nullptr || !task->is_attached) break;
        task->is_asked = true;
        UpdateWork();
        if (!task->behaviour.ignores_ask) LeaveLater(key, task->behaviour.save, {.exit_code = 0});
        break;
      case TaskAction::kTerminate:
        if (task != nullptr && !task->behaviour.ignores_terminate) {
          LeaveLater(key, kSignalTakes, {.signal = SIGTERM});
        }
        break;
      case TaskAction::kKill:
        if (options_.plant == Plant::kHastyAgent) {
          if (task != nullptr) task->is_leaving = true;
          FeedLater(key,
                    [](TaskMachine& machine) { return machine.OnExited({.signal = SIGKILL}); });
        } else if (task != nullptr) {
          LeaveLater(key, kSignalTakes, {.signal = SIGKILL});
        }
        break;
      case TaskAction::kFreeze:
      case TaskAction::kThaw:
        if (task != nullptr) {
          task->is_frozen = action == TaskAction::kFreeze;
          task->is_held = false;
        }
        UpdateWork();
        break;
      case TaskAction::kReportEnded:
        return EndTask(key);
    }
  }
}

void SimNode::EndTask(const AttemptKey& key) {
  AttemptEnd end = agent_->held.at(key).machine.end();
  // What another agentd might say, of which this schedulerd must make something.
  const TaskBehaviour behaviour = DrawBehaviour(options_.behaviour_seed, key.job, key.attempt);
  if (behaviour.is_misreported) end.cause = EndCause::kCancelled;
  disk_.at(key).end = end;
  agent_->held.erase(key);
  if (options_.plant != Plant::kSilentAgent) agent_->desk.OnEnded(key, end, {});
}

std::vector<v1::Device> SimNode::DescribeDevices() const {
  std::vector<v1::Device> devices;
  for (int i = 0; i < options_.devices; ++i) {
    if (!has_device_[static_cast<size_t>(i)]) continue;
    v1::Device device;
    device.set_node(NameOf(options_.index));
    device.set_name(DeviceName(i));
    device.set_backend("sim");
    const TaskRoom room = RoomOfDevice();
    const TaskRoom used = UsedOn(DeviceName(i));
    device.set_memory_bytes(room.memory_bytes);
    device.set_memory_free_bytes(std::max<int64_t>(0, room.memory_bytes - used.memory_bytes));
    device.set_resident(used.seats);
    device.set_resident_limit(room.seats);
    if (has_main_job_) {
      v1::MainRank& rank = *device.mutable_main_rank();
      rank.set_main_job(kMainJob);
      rank.set_rank(i);
      rank.set_ranks(options_.devices);
      rank.set_mode(v1::FILL_MODE_FILL);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace pipefill::simulator
