#include "agent/tasks/task_supervisor.h"

#include <signal.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/pages/handshake.h"
#include "common/files.h"
#include "common/log.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

std::string Describe(const AttemptKey& key) {
  return fmt::format("job={} attempt={} fence={}", key.job, key.attempt, key.fence);
}

bool HasVariable(const std::string& environment, absl::string_view name, absl::string_view value) {
  const absl::string_view end("\0", 1);
  return absl::StrContains(absl::StrCat(end, environment),
                           absl::StrCat(end, name, "=", value, end));
}

// The mark that an attempt's processes hand down to their descendants. The socket tells the agents
// of several clusters on one node apart, whose fences may be equal.
struct AttemptMark {
  Fence fence;
  const std::string& socket;

  bool IsOn(pid_t pid) const {
    const absl::StatusOr<std::string> environment =
        ReadFile(absl::StrCat("/proc/", pid, "/environ"));
    return environment.ok() &&
           HasVariable(*environment, kFenceVariable, absl::StrCat(fence.value())) &&
           HasVariable(*environment, kSocketVariable, socket);
  }
};

// Kills every process for which `is_ours` holds; returns how many.
template <typename IsOurs>
int KillAll(const ProcessTable& everything, const IsOurs& is_ours) {
  int killed = 0;
  for (const auto& [pid, stat] : everything.processes()) {
    if (stat.state != 'Z' && is_ours(stat) && kill(pid, SIGKILL) == 0) ++killed;
  }
  return killed;
}

}  // namespace

TaskSupervisor::TaskSupervisor(EventLoop& loop, const AttemptFolders& folders,
                               SupervisorOptions options, TaskListener& listener)
    : loop_(loop),
      folders_(folders),
      options_(std::move(options)),
      listener_(listener),
      boot_id_(ReadBootId()) {}

std::vector<AttemptKey> TaskSupervisor::KillOrphans() {
  std::vector<AttemptKey> lost;
  const std::vector<ProcessRecord> records = folders_.ReadRecords();
  if (records.empty()) return lost;
  const ProcessTable everything = ReadProcessTable();
  for (const ProcessRecord& record : records) {
    const AttemptMark mark = {.fence = record.key.fence, .socket = options_.socket};
    const auto is_ours = [&](const ProcessStat& stat) {
      // The leader, unless its number has been given to another process, or a descendant.
      return (stat.pid == record.pid && stat.start_ticks == record.start_ticks) ||
             mark.IsOn(stat.pid);
    };
    const int killed = record.boot_id == boot_id_ ? KillAll(everything, is_ours) : 0;
    spdlog::warn("task_orphaned {} pid={} processes_killed={}", Describe(record.key), record.pid,
                 killed);
    folders_.RemoveRecord(record.key);
    lost.push_back(record.key);
  }
  return lost;
}

void TaskSupervisor::Launch(const AttemptSpec& spec, const Device& device) {
  if (tasks_.contains(spec.key)) return;
  TaskLimits limits = options_.limits;
  limits.memory_bytes = spec.memory_bytes;
  Task& task = *tasks_.emplace(spec.key, std::make_unique<Task>(spec, limits)).first->second;
  const absl::Status status = StartProcess(task, device);
  if (status.ok()) {
    spdlog::info("task_launched {} device={} pid={}", Describe(spec.key), spec.device,
                 task.process->pid());
    return;
  }
  Perform(task, task.machine.OnLaunchFailed(std::string(status.message())));
  tasks_.erase(spec.key);
}

absl::Status TaskSupervisor::StartProcess(Task& task, const Device& device) {
  ASSIGN_OR_RETURN(const AttemptPaths paths, folders_.Create(task.spec.key));
  ASSIGN_OR_RETURN(task.stdout_log,
                   AttemptLog::Create(loop_, paths.stdout_log, options_.log_max_bytes));
  ASSIGN_OR_RETURN(task.stderr_log,
                   AttemptLog::Create(loop_, paths.stderr_log, options_.log_max_bytes));
  const LaunchRequest request = {
      .command = task.spec.command,
      .environment = EnvironmentFor(task.spec, device),
      .workdir = task.spec.workdir.empty() ? paths.work : task.spec.workdir,
      .stdout_descriptor = task.stdout_log->writer(),
      .stderr_descriptor = task.stderr_log->writer(),
      .device = &device};
  const AttemptKey key = task.spec.key;
  ASSIGN_OR_RETURN(
      task.process,
      Process::Launch(
          loop_, request,
          {.on_started = [this, &task] { Perform(task, task.machine.OnStarted()); },
           .on_failed = [&task](std::string text) { task.launch_error = std::move(text); },
           .on_exited = [this, key](ProcessExit exit) { OnExited(key, exit); }}));
  task.stdout_log->CloseWriter();
  task.stderr_log->CloseWriter();
  NoteProcess(task);
  return absl::OkStatus();
}

void TaskSupervisor::NoteProcess(Task& task) {
  const pid_t pid = task.process->pid();
  task.processes.emplace(pid);
  const std::optional<ProcessStat> stat = ReadProcess(pid);
  if (!stat.has_value()) return;
  const absl::Status status = folders_.WriteRecord(
      {.key = task.spec.key, .pid = pid, .start_ticks = stat->start_ticks, .boot_id = boot_id_});
  if (!status.ok())
    spdlog::warn("task_record_failed {} error=\"{}\"", Describe(task.spec.key), status);
}

std::vector<std::string> TaskSupervisor::EnvironmentFor(const AttemptSpec& spec,
                                                        const Device& device) const {
  std::map<std::string, std::string> variables = options_.environment;
  for (const auto& [name, value] : device.TaskEnvironment()) variables[name] = value;
  for (const auto& [name, value] : spec.env) variables[name] = value;
  if (!options_.python_path.empty()) {
    std::string& path = variables["PYTHONPATH"];
    path = path.empty() ? options_.python_path : absl::StrCat(options_.python_path, ":", path);
  }
  variables[kSocketVariable] = options_.socket;
  variables[kJobVariable] = absl::StrCat(spec.key.job.value());
  variables[kAttemptVariable] = absl::StrCat(spec.key.attempt.value());
  variables[kFenceVariable] = absl::StrCat(spec.key.fence.value());
  variables[kDeviceVariable] = spec.device;
  std::vector<std::string> environment;
  environment.reserve(variables.size());
  for (const auto& [name, value] : variables) environment.push_back(absl::StrCat(name, "=", value));
  return environment;
}

bool TaskSupervisor::Stop(const AttemptKey& key, const StopRequest& request) {
  Task* task = FindTask(key);
  if (task == nullptr) return false;
  spdlog::info("task_stopping {} reason=\"{}\" grace={}", Describe(key), request.text,
               request.grace);
  Perform(*task, task->machine.OnStopRequested(request, loop_.Now()));
  return true;
}

void TaskSupervisor::StopAll(const StopRequest& request) {
  for (const AttemptKey& key : live()) Stop(key, request);
}

void TaskSupervisor::OnAttached(const AttemptKey& key) {
  Task* task = FindTask(key);
  if (task != nullptr) Perform(*task, task->machine.OnAttached());
}

void TaskSupervisor::OnDetached(const AttemptKey& key) {
  Task* task = FindTask(key);
  if (task != nullptr) Perform(*task, task->machine.OnDetached());
}

void TaskSupervisor::OnUnitSeen(const AttemptKey& key, UnitView unit) {
  Task* task = FindTask(key);
  if (task == nullptr) return;
  unit.task_cpu = task->use.cpu;
  Perform(*task, task->machine.OnUnitSeen(unit, loop_.Now()));
  const int64_t overstays = task->machine.overstays();
  if (overstays < std::max<int64_t>(1, 2 * task->overstays_logged)) return;
  // At 1, 2, 4, 8, ... of them.
  task->overstays_logged = overstays;
  spdlog::warn("unit_overstayed {} overstays={}", Describe(key), overstays);
}

void TaskSupervisor::Tick(const ProcessTable* everything) {
  for (auto& [key, task] : tasks_) WatchTask(*task, everything);
}

void TaskSupervisor::WatchTask(Task& task, const ProcessTable* everything) {
  if (task.processes.has_value()) {
    const ProcessUse use = task.processes->Read(task.spec.memory_bytes, everything);
    task.use.memory_bytes = use.memory_bytes;
    task.use.memory_peak_bytes = std::max(task.use.memory_peak_bytes, use.memory_bytes);
    task.use.cpu = use.cpu;
    Perform(task, task.machine.OnMemoryUsed(use.memory_bytes, loop_.Now()));
  }
  Perform(task, task.machine.OnTick(loop_.Now()));
}

void TaskSupervisor::Perform(Task& task, const TaskActions& actions) {
  for (const TaskAction action : actions) {
    switch (action) {
      case TaskAction::kReportStarted:
        listener_.OnTaskStarted(task.spec, task.process->pid());
        break;
      case TaskAction::kAskToStop:
        listener_.OnTaskShouldStop(task.spec.key);
        break;
      case TaskAction::kTerminate:
        task.process->SignalGroup(SIGTERM);
        break;
      case TaskAction::kKill:
        spdlog::info("task_killed {} memory={} cap={}", Describe(task.spec.key),
                     FormatBytes(task.use.memory_bytes), FormatBytes(task.spec.memory_bytes));
        SignalAll(task, SIGKILL);
        break;
      case TaskAction::kFreeze:
        spdlog::warn("task_frozen {}", Describe(task.spec.key));
        SignalAll(task, SIGSTOP);
        break;
      case TaskAction::kThaw:
        spdlog::info("task_thawed {}", Describe(task.spec.key));
        SignalAll(task, SIGCONT);
        break;
      case TaskAction::kReportEnded:
        ReportEnd(task);
        break;
    }
  }
}

void TaskSupervisor::SignalAll(Task& task, int signal) {
  task.process->SignalGroup(signal);
  if (!task.processes.has_value()) return;
  for (const pid_t pid : task.processes->members()) {
    if (pid != task.process->pid()) kill(pid, signal);
  }
}

void TaskSupervisor::OnExited(const AttemptKey& key, const ProcessExit& exit) {
  Task* task = FindTask(key);
  if (task == nullptr) return;
  const AttemptMark mark = {.fence = key.fence, .socket = options_.socket};
  const int left_over =
      KillAll(ReadProcessTable(), [&](const ProcessStat& stat) { return mark.IsOn(stat.pid); });
  if (left_over > 0) spdlog::info("task_left_over {} processes={}", Describe(key), left_over);
  Perform(*task, task->launch_error.empty() ? task->machine.OnExited(exit)
                                            : task->machine.OnLaunchFailed(task->launch_error));
  tasks_.erase(key);
  std::set<AttemptFolders::Name> live_names;
  for (const auto& [live_key, live_task] : tasks_) {
    live_names.emplace(live_key.job, live_key.attempt);
  }
  folders_.Prune(live_names);
}

void TaskSupervisor::ReportEnd(Task& task) {
  if (task.stdout_log != nullptr) task.stdout_log->Finish();
  if (task.stderr_log != nullptr) task.stderr_log->Finish();
  folders_.RemoveRecord(task.spec.key);
  const AttemptEnd& end = task.machine.end();
  spdlog::info("task_ended {} cause={} exit_code={} signal={} text=\"{}\"", Describe(task.spec.key),
               static_cast<int>(end.cause), end.exit_code, end.signal, end.text);
  listener_.OnTaskEnded(task.spec, end, task.use);
}

TaskSupervisor::Task* TaskSupervisor::FindTask(const AttemptKey& key) {
  const auto found = tasks_.find(key);
  return found == tasks_.end() ? nullptr : found->second.get();
}

const AttemptSpec* TaskSupervisor::Find(const AttemptKey& key) const {
  const auto found = tasks_.find(key);
  return found == tasks_.end() ? nullptr : &found->second->spec;
}

std::vector<AttemptKey> TaskSupervisor::live() const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, task] : tasks_) keys.push_back(key);
  return keys;
}

TaskUse TaskSupervisor::UseOf(const AttemptKey& key) const {
  const auto found = tasks_.find(key);
  return found == tasks_.end() ? TaskUse() : found->second->use;
}

pid_t TaskSupervisor::PidOf(const AttemptKey& key) const {
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || found->second->process == nullptr) return 0;
  return found->second->process->pid();
}

int32_t TaskSupervisor::CountOn(absl::string_view device) const {
  return static_cast<int32_t>(std::count_if(tasks_.begin(), tasks_.end(), [&](const auto& entry) {
    return entry.second->spec.device == device;
  }));
}

int64_t TaskSupervisor::CapsOn(absl::string_view device) const {
  int64_t caps_bytes = 0;
  for (const auto& [key, task] : tasks_) {
    if (task->spec.device == device) caps_bytes += task->spec.memory_bytes;
  }
  return caps_bytes;
}

}  // namespace pipefill
