// TaskSupervisor and what the agentd before this one has left.
#include <utility>

#include "agent/tasks/attempt_mark.h"
#include "agent/tasks/task_supervisor.h"
#include "common/log.h"

namespace pipefill {
namespace {

// For a task that the agentd before this one was stopping.
constexpr absl::Duration kInheritedGrace = absl::Seconds(5);

absl::Duration MaxRuntime(const AttemptRecord& record) {
  return record.max_runtime_ns == 0 ? absl::InfiniteDuration()
                                    : absl::Nanoseconds(record.max_runtime_ns);
}

// As what the exit of a task is to be reported that nobody watched.
AttemptEnd EndOf(const AttemptRecord& record, const ProcessExit& exit) {
  TaskMachine machine({});
  machine.OnStarted();
  if (record.stop.has_value()) {
    machine.OnStopRequested({.cause = record.stop->cause, .text = record.stop->text}, Instant());
  }
  machine.OnExited(exit);
  return machine.end();
}

}  // namespace

std::vector<InheritedEnd> TaskSupervisor::Inherit(const std::set<std::string>& devices) {
  std::vector<InheritedEnd> ended;
  const std::vector<AttemptRecord> records = folders_.ReadRecords();
  if (records.empty()) {
    options_.groups.Sweep({});
    return ended;
  }
  const ProcessTable everything = ReadProcessTable();
  for (const AttemptRecord& record : records) {
    std::optional<AttemptEnd> end = TakeOver(record, devices, everything);
    if (end.has_value()) ended.push_back({.key = record.key, .end = *std::move(end)});
  }
  options_.groups.Sweep(LiveKeys());
  return ended;
}

std::optional<AttemptEnd> TaskSupervisor::TakeOver(AttemptRecord record,
                                                   const std::set<std::string>& devices,
                                                   const ProcessTable& everything) {
  if (record.end.has_value()) return record.end;
  const bool is_same_boot = record.boot_id == boot_id_;
  std::optional<ProcessExit> exit = folders_.ReadExit(record.key);
  if (!exit.has_value() && is_same_boot && devices.contains(record.device)) {
    if (Adopt(record, everything)) return std::nullopt;
    // It may have ended between the two looks.
    exit = folders_.ReadExit(record.key);
  }
  const AttemptMark mark = {.fence = record.key.fence, .socket = options_.socket};
  const int killed =
      is_same_boot ? KillMarked(mark, {record.keeper, record.leader}, everything) : 0;
  record.end = exit.has_value() ? EndOf(record, *exit)
                                : AttemptEnd{.cause = EndCause::kLost,
                                             .text = "agentd was restarted without its tasks"};
  WriteRecord(record);
  spdlog::warn("task_inherited {} ended=1 cause={} text=\"{}\" processes_killed={}",
               Describe(record.key), static_cast<int>(record.end->cause), record.end->text, killed);
  return record.end;
}

bool TaskSupervisor::Adopt(const AttemptRecord& record, const ProcessTable& everything) {
  const AttemptKey key = record.key;
  if (record.leader.pid == 0) return false;
  absl::StatusOr<std::unique_ptr<Process>> process = Process::Adopt(
      loop_,
      {.keeper = record.keeper, .leader = record.leader.pid, .folder = folders_.FolderOf(key)},
      {.on_exited = [this, key](const std::optional<ProcessExit>& exit) { OnExited(key, exit); }});
  if (!process.ok()) return false;
  const AttemptSpec spec = {.key = key,
                            .job_name = record.job_name,
                            .device = record.device,
                            .command = {},
                            .env = {},
                            .workdir = "",
                            .memory_bytes = record.memory_bytes,
                            .policy_rank = record.policy_rank,
                            .way = record.way,
                            .job_submitted_unix_ns = 0,
                            .max_runtime = MaxRuntime(record)};
  TaskLimits limits = options_.limits;
  limits.memory_bytes = spec.memory_bytes;
  limits.runtime_max = spec.max_runtime;
  Task& task = *tasks_.emplace(key, std::make_unique<Task>(spec, limits)).first->second;
  task.record = record;
  task.process = *std::move(process);
  task.processes.emplace(record.leader.pid);
  // Finds all members, for the signal.
  task.processes->Read(spec.memory_bytes, &everything);
  task.group = options_.groups.Find(key);
  DescribeGuards(task);
  Continue(task);
  spdlog::info("task_inherited {} ended=0 device={} pid={}", Describe(key), spec.device,
               record.leader.pid);
  Perform(task, task.machine.OnStarted());
  if (!record.stop.has_value()) return true;
  Perform(task,
          task.machine.OnStopRequested(
              {.cause = record.stop->cause, .grace = kInheritedGrace, .text = record.stop->text},
              loop_.Now()));
  return true;
}

}  // namespace pipefill
