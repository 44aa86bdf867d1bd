#include "agent/tasks/task_supervisor.h"

#include <signal.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "agent/tasks/attempt_mark.h"
#include "agent/tasks/checkpoint_folders.h"
#include "agent/tasks/exit_record.h"
#include "client/pages/handshake.h"
#include "common/log.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

// Between two readings of its memory a task without a control group may map no more than this.
// Twice the cap, for libraries map more than they use, and some for those that map much at once.
constexpr int64_t kDataSpareBytes = int64_t{512} << 20;
int64_t DataMax(int64_t cap_bytes) { return 2 * cap_bytes + kDataSpareBytes; }

// As its record has them.
int64_t MaxRuntimeNs(const AttemptSpec& spec) {
  return spec.max_runtime == absl::InfiniteDuration() ? 0
                                                      : absl::ToInt64Nanoseconds(spec.max_runtime);
}

}  // namespace

TaskSupervisor::TaskSupervisor(EventLoop& loop, const AttemptFolders& folders,
                               SupervisorOptions options, TaskListener& listener)
    : loop_(loop),
      folders_(folders),
      options_(std::move(options)),
      listener_(listener),
      boot_id_(ReadBootId()) {}

TaskSupervisor::~TaskSupervisor() {
  if (is_released_) return;
  tasks_.clear();
  options_.groups.Sweep({});
}

void TaskSupervisor::Release() {
  is_released_ = true;
  for (const auto& [key, task] : tasks_) {
    if (task->process != nullptr) task->process->Release();
  }
}

void TaskSupervisor::Launch(const AttemptSpec& spec, const Device& device) {
  if (tasks_.contains(spec.key)) return;
  folders_.MakeRoom(LiveNames());
  TaskLimits limits = options_.limits;
  limits.memory_bytes = spec.memory_bytes;
  limits.runtime_max = spec.max_runtime;
  Task& task = *tasks_.emplace(spec.key, std::make_unique<Task>(spec, limits)).first->second;
  const absl::Status status = StartProcess(task, device);
  if (status.ok()) {
    spdlog::info("task_launched {} device={} keeper={}", Describe(spec.key), spec.device,
                 task.process->keeper().pid);
    return;
  }
  Perform(task, task.machine.OnLaunchFailed(std::string(status.message()), task.launch_cause));
  tasks_.erase(spec.key);
}

absl::Status TaskSupervisor::StartProcess(Task& task, const Device& device) {
  const AttemptSpec& spec = task.spec;
  ASSIGN_OR_RETURN(const AttemptPaths paths, folders_.Create(spec.key));
  task.record = {.key = spec.key,
                 .job_name = spec.job_name,
                 .device = spec.device,
                 .memory_bytes = spec.memory_bytes,
                 .policy_rank = spec.policy_rank,
                 .way = spec.way,
                 .boot_id = boot_id_,
                 .keeper = {},
                 .leader = {},
                 .launched_ns = loop_.Now().ns(),
                 .max_runtime_ns = MaxRuntimeNs(spec),
                 .stop = {},
                 .end = {}};
  // Before there is a process: whatever happens, the next agentd knows what to look for.
  WriteRecord(task.record);
  task.group = options_.groups.Make(spec.key, {.memory_bytes = spec.memory_bytes,
                                               .processes_max = options_.limits.processes_max});
  DescribeGuards(task);
  LaunchRequest request = {.command = spec.command,
                           .environment = EnvironmentFor(spec, device),
                           .workdir = spec.workdir.empty() ? paths.work : spec.workdir,
                           .folder = paths.folder,
                           .stdout_log = paths.stdout_log,
                           .stderr_log = paths.stderr_log,
                           .log_max_bytes = options_.log_max_bytes,
                           .device = &device,
                           .group = task.group};
  if (!FindProgram(request).ok()) task.launch_cause = EndCause::kLaunchFailed;
  if (task.group.memory_guard().empty()) request.data_max_bytes = DataMax(spec.memory_bytes);
  if (spec.way == FillWay::kProcess) RETURN_IF_ERROR(WrapCommand(task.group, &request));
  const AttemptKey key = spec.key;
  ASSIGN_OR_RETURN(
      task.process,
      Process::Launch(
          loop_, request,
          {.on_forked = [this, &task] { OnForked(task); },
           .on_started = [this, &task] { Perform(task, task.machine.OnStarted()); },
           .on_failed = [&task](std::string text) { task.launch_error = std::move(text); },
           .on_exited = [this,
                         key](const std::optional<ProcessExit>& exit) { OnExited(key, exit); }}));
  task.record.keeper = task.process->keeper();
  WriteRecord(task.record);
  return absl::OkStatus();
}

absl::Status TaskSupervisor::WrapCommand(const TaskGroup& group, LaunchRequest* request) const {
  if (options_.process_gate.empty()) {
    return absl::FailedPreconditionError(
        "this node cannot hold process jobs: there is no pipefill-process beside agentd; install "
        "it, or name it as process_gate in agentd's configuration");
  }
  // So that a program that is not there is told of as ever.
  ASSIGN_OR_RETURN(const std::string program, FindProgram(*request));
  std::vector<std::string> command = {options_.process_gate};
  if (!group.held_folder().empty()) command.insert(command.end(), {"--group", group.held_folder()});
  command.insert(command.end(), {"--", program});
  command.insert(command.end(), request->command.begin() + 1, request->command.end());
  request->command = std::move(command);
  return absl::OkStatus();
}

void TaskSupervisor::DescribeGuards(Task& task) {
  const int64_t cap_bytes = task.spec.memory_bytes;
  task.use.memory_guard =
      task.group.memory_guard().empty()
          ? absl::StrCat("resident memory looked at all the time, and at most ",
                         FormatBytes(DataMax(cap_bytes)), " mapped by each process")
          : task.group.memory_guard();
  if (task.spec.way != FillWay::kProcess) return;
  task.use.stopped_by = task.group.held_folder().empty() ? "SIGSTOP to each of its processes"
                                                         : "freezer of a control group";
}

void TaskSupervisor::OnForked(Task& task) {
  const pid_t pid = task.process->pid();
  task.processes.emplace(pid);
  spdlog::info("task_forked {} pid={}", Describe(task.spec.key), pid);
  task.record.leader = FindProcessId(pid).value_or(ProcessId());
  WriteRecord(task.record);
}

void TaskSupervisor::WriteRecord(const AttemptRecord& record) const {
  const absl::Status status = folders_.WriteRecord(record);
  if (status.ok()) return;
  spdlog::warn("task_record_failed {} error=\"{}\"", Describe(record.key), status);
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
  if (!spec.config.empty()) variables[kConfigVariable] = spec.config;
  if (!options_.checkpoint_dir.empty()) {
    variables[kCheckpointDirVariable] = CheckpointFolders(options_.checkpoint_dir)
                                            .FolderOf(spec.key.job, spec.job_submitted_unix_ns);
    // Unless the user has set it for the job.
    variables.try_emplace(kCheckpointEveryVariable,
                          absl::StrCat(absl::ToDoubleSeconds(options_.checkpoint_every_min), ":",
                                       absl::ToDoubleSeconds(options_.checkpoint_every_max)));
  }
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

void TaskSupervisor::CatchUp(const AttemptKey& key) {
  Task* task = FindTask(key);
  if (task != nullptr && task->process != nullptr) task->process->CatchUp();
}

void TaskSupervisor::OnPageGranted(const AttemptKey& key) {
  Task* task = FindTask(key);
  if (task != nullptr) task->machine.OnPageGranted();
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
  if (everything != nullptr) {
    for (auto& [key, task] : tasks_) LookForDenials(*task);
  }
  // Groups of tasks that have ended, whose last processes were still on their way out then.
  if (everything != nullptr) options_.groups.Sweep(LiveKeys());
}

void TaskSupervisor::WatchTask(Task& task, const ProcessTable* everything) {
  if (task.processes.has_value()) {
    const ProcessUse use = task.processes->Read(task.spec.memory_bytes, everything);
    task.use.memory_bytes = use.memory_bytes;
    task.use.memory_peak_bytes = std::max(task.use.memory_peak_bytes, use.memory_bytes);
    task.use.cpu = use.cpu;
    if (task.group.memory_guard().empty()) {
      Perform(task, task.machine.OnMemoryUsed(use.memory_bytes, loop_.Now()));
    }
    if (!task.group.has_processes_limit()) {
      Perform(task, task.machine.OnProcessesSeen(use.processes, loop_.Now()));
    }
    Perform(task, task.machine.OnStopSeen(task.processes->is_leader_stopped(), loop_.Now()));
  }
  LookForMemoryKill(task);
  const absl::Duration runtime = loop_.Now() - Instant::FromNs(task.record.launched_ns);
  Perform(task, task.machine.OnRuntimeSeen(runtime, loop_.Now()));
  Perform(task, task.machine.OnTick(loop_.Now()));
}

void TaskSupervisor::LookForMemoryKill(Task& task) {
  if (task.group.CountMemoryKills() == 0) return;
  const int64_t peak_bytes = task.group.ReadMemoryPeak();
  task.use.memory_peak_bytes = std::max(task.use.memory_peak_bytes, peak_bytes);
  Perform(task, task.machine.OnMemoryKilled(peak_bytes, loop_.Now()));
}

void TaskSupervisor::LookForDenials(Task& task) const {
  task.use.processes_denied = task.group.CountProcessesDenied();
  task.machine.OnProcessesDenied(task.use.processes_denied);
  const int log_error = ReadLogError(folders_.FolderOf(task.spec.key));
  if (log_error == 0) return;
  task.use.log_error = std::string(ErrnoStatus(log_error, "write").message());
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
        Continue(task);
        break;
      case TaskAction::kReportEnded:
        ReportEnd(task);
        break;
    }
  }
  task.use.overstays = task.machine.overstays();
  task.use.freezes = task.machine.freezes();
  const std::optional<StopRequest> stop = task.machine.stop();
  if (!stop.has_value() || task.record.stop.has_value()) return;
  task.record.stop = StopNote{.cause = stop->cause, .text = stop->text};
  WriteRecord(task.record);
}

void TaskSupervisor::SignalAll(Task& task, int signal) {
  task.process->SignalGroup(signal);
  if (!task.processes.has_value()) return;
  for (const pid_t pid : task.processes->members()) {
    if (pid != task.process->pid()) kill(pid, signal);
  }
}

void TaskSupervisor::Continue(Task& task) {
  if (task.spec.way == FillWay::kProcess) {
    kill(task.process->pid(), SIGCONT);
  } else {
    SignalAll(task, SIGCONT);
  }
}

std::set<AttemptKey> TaskSupervisor::LiveKeys() const {
  std::set<AttemptKey> keys;
  for (const auto& [key, task] : tasks_) keys.insert(key);
  return keys;
}

std::set<AttemptFolders::Name> TaskSupervisor::LiveNames() const {
  std::set<AttemptFolders::Name> names;
  for (const auto& [key, task] : tasks_) names.emplace(key.job, key.attempt);
  return names;
}

void TaskSupervisor::OnExited(const AttemptKey& key, const std::optional<ProcessExit>& exit) {
  Task* task = FindTask(key);
  if (task == nullptr) return;
  LookForMemoryKill(*task);
  LookForDenials(*task);
  if (exit.has_value() && !exit->log_error.empty()) task->use.log_error = exit->log_error;
  task->group.KillAll();
  const AttemptMark mark = {.fence = key.fence, .socket = options_.socket};
  const int left_over = KillMarked(mark, {}, ReadProcessTable());
  if (left_over > 0) spdlog::info("task_left_over {} processes={}", Describe(key), left_over);
  if (!task->launch_error.empty()) {
    Perform(*task, task->machine.OnLaunchFailed(task->launch_error));
  } else {
    Perform(*task, exit.has_value() ? task->machine.OnExited(*exit) : task->machine.OnVanished());
  }
  tasks_.erase(key);
  folders_.Prune(LiveNames());
}

void TaskSupervisor::ReportEnd(Task& task) {
  const AttemptEnd& end = task.machine.end();
  spdlog::info("task_ended {} cause={} exit_code={} signal={} text=\"{}\"", Describe(task.spec.key),
               static_cast<int>(end.cause), end.exit_code, end.signal, end.text);
  listener_.OnTaskEnded(task.spec, end, task.use);
  // Until schedulerd has acknowledged it the next agentd must be able to tell it too. Last: with it
  // everything else that belongs to the end is there.
  task.record.end = end;
  WriteRecord(task.record);
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

bool TaskSupervisor::IsStopping(const AttemptKey& key) const {
  const auto found = tasks_.find(key);
  return found != tasks_.end() && found->second->machine.phase() == TaskPhase::kStopping;
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
