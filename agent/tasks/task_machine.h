// The life of one attempt's processes, as decisions: told what happened and when, it says what to
// do.
//
// Pure.
//
//                 started                  attached
//   kLaunching ------------> kUnattached <----------> kAttached ------> kFrozen (kUnattached too)
//       |                        |          detached      |  overran       |
//       | cannot start           +-----------+------------+----------------+
//       |                                    | stop asked for, memory cap, frozen too long
//       |                                    v
//       |                                kStopping      ask (attached only) -> SIGTERM -> SIGKILL
//       v                                    | process gone (from every state)
//     kEnded <-------------------------------+
//
// A task may attach before the news that it has started arrives; that is the news then.
//
// Stopping. A stop while the program is still being started kills at once: nothing has run that
// could save. An attached task is asked over its connection first, half the grace later comes
// SIGTERM, and at the end of the grace SIGKILL, repeated every second until the process is gone. A
// task without a page gets SIGTERM at once. The first cause of a stop is the one that is reported;
// a later request may only shorten the grace.
//
// Time. A task that has run for its limit gets SIGTERM, attached or not, and is not asked to save:
// its job is over. Then as above.
//
// Memory. One reading above the cap kills: a cap that may be passed for a while is not one. Where
// the kernel keeps the cap, it kills one process, and the task ends as a whole for that.
//
// The ladder. A unit still running after its bubble ended is harmless while the main job, which
// comes first on the device, leaves it no CPU time. So the clock of the ladder is the CPU time
// that the task uses while no bubble is open; for a unit that waits and uses none, it is the time
// of later bubbles, in each of which it could have ended:
//   overstay_grace of CPU time after the bubble's end      counted once per unit, see overstays()
//   freeze_after of CPU time outside bubbles, in a unit    SIGSTOP, see freezes()
//   freeze_between_after of it, between two units          SIGSTOP
//   stuck_after of later bubbles, in one unit              SIGSTOP
//   stopped_after of wall time stopped by somebody else    SIGSTOP: now it is ours
//   start_cpu_max of CPU time, before its first unit       SIGSTOP
//   kill_after of wall time later                          SIGKILL, reported as kSignalled
// A frozen task goes on if its main job leaves, for then nobody is in its way.
//
// Before its first unit, and without a page, a task is held by its scheduling class alone: it may
// have to load a model. So a program that never attaches has no other bound than start_cpu_max,
// which counts its time inside bubbles too: nobody else accounts for it.
#ifndef AGENT_TASKS_TASK_MACHINE_H_
#define AGENT_TASKS_TASK_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "agent/tasks/attempt.h"
#include "common/instant.h"

namespace pipefill {

enum class TaskPhase { kLaunching, kUnattached, kAttached, kFrozen, kStopping, kEnded };

enum class TaskAction {
  kReportStarted,
  kAskToStop,    // kStop on the task's connection
  kTerminate,    // SIGTERM to all its processes
  kKill,         // SIGKILL
  kFreeze,       // SIGSTOP
  kThaw,         // SIGCONT
  kReportEnded,  // see end()
};
using TaskActions = std::vector<TaskAction>;

struct TaskLimits {
  int64_t memory_bytes = 0;
  int32_t processes_max = 4096;
  // The larger of the two counts. CPU time is known to 10 ms.
  absl::Duration overstay_grace = absl::Milliseconds(5);
  double overstay_grace_estimates = 2;
  absl::Duration freeze_after = absl::Seconds(2);
  // Longer than any saving of a result should take.
  absl::Duration freeze_between_after = absl::Seconds(30);
  // The larger of the two counts.
  absl::Duration stuck_after = absl::Seconds(60);
  double stuck_after_estimates = 20;
  absl::Duration stopped_after = absl::Seconds(60);
  // Longer than any loading of a model should take.
  absl::Duration start_cpu_max = absl::Minutes(30);
  absl::Duration kill_after = absl::Seconds(10);
  absl::Duration kill_again_after = absl::Seconds(1);
  absl::Duration runtime_max = absl::InfiniteDuration();
  // From SIGTERM to SIGKILL then.
  absl::Duration runtime_grace = absl::Seconds(5);
};

struct StopRequest {
  EndCause cause = EndCause::kCancelled;  // kCancelled or kLost
  absl::Duration grace = absl::ZeroDuration();
  std::string text = {};
};

// A look at a task; without a page there are no units.
struct UnitView {
  std::optional<Instant> start = {};  // of the unit in progress; nothing between units
  int64_t units_done = 0;             // over this page
  absl::Duration estimate = absl::ZeroDuration();
  bool is_in_its_bubble = true;  // the bubble it started in is still open, or there is no main job
  bool is_bubble_open = true;    // some bubble is open, or there is no main job
  bool has_main_job = true;
  absl::Duration task_cpu = absl::ZeroDuration();  // CPU time of all its processes so far
};

class TaskMachine {
 public:
  explicit TaskMachine(const TaskLimits& limits) : limits_(limits) {}

  // The program runs.
  TaskActions OnStarted();
  // `cause` is kLaunchFailed, or kRefused where it is not the job's fault.
  TaskActions OnLaunchFailed(std::string text, EndCause cause = EndCause::kLaunchFailed);
  // Its pages were handed out: from now on it can be asked to stop, and may start a unit before the
  // news that it holds them.
  void OnPageGranted() { has_page_ = phase_ != TaskPhase::kEnded; }
  // The task holds its pages / its connection has ended.
  TaskActions OnAttached();
  TaskActions OnDetached();
  TaskActions OnStopRequested(const StopRequest& request, Instant now);
  TaskActions OnMemoryUsed(int64_t bytes, Instant now);
  // The kernel killed a process of the task for its cap; `peak_bytes` is the most it had.
  TaskActions OnMemoryKilled(int64_t peak_bytes, Instant now);
  // How long it has run since it was launched. Call every 50 ms or so.
  TaskActions OnRuntimeSeen(absl::Duration runtime, Instant now);
  // By number; more than the limit kill.
  TaskActions OnProcessesSeen(int32_t processes, Instant now);
  // Call every 50 ms or so while the task runs.
  TaskActions OnUnitSeen(const UnitView& unit, Instant now);
  // Call as often: whether the leader is stopped, by whomever.
  TaskActions OnStopSeen(bool is_stopped, Instant now);
  // Call no later than next_tick().
  TaskActions OnTick(Instant now);
  // So many processes more it wanted to have, and was refused by the kernel for its limit.
  void OnProcessesDenied(int64_t processes) { processes_denied_ = processes; }
  // The leader is gone.
  TaskActions OnExited(const ProcessExit& exit);
  // It is gone, and nobody knows how it ended.
  TaskActions OnVanished();

  TaskPhase phase() const { return phase_; }
  std::optional<Instant> next_tick() const;
  // Units that used more than the grace of CPU time after their bubble.
  int64_t overstays() const { return overstays_; }
  // Times the task was stopped for standing in the way.
  int64_t freezes() const { return freezes_; }
  // As what the end will be reported, once that is decided.
  std::optional<StopRequest> stop() const;
  // REQUIRES: phase() is kEnded.
  const AttemptEnd& end() const;

 private:
  // Unattached, attached or frozen: the program runs and nobody has asked it to stop.
  bool is_running() const;
  // Nothing without a page, or the second time.
  TaskActions AskOnce();
  TaskActions KillFor(EndCause cause, std::string text, Instant now);
  void FollowUnit(const UnitView& unit, Instant now);
  // Why the task stands in the way; nothing if it does not.
  std::optional<std::string> FindFault(const UnitView& unit) const;
  TaskActions Freeze(std::string reason, Instant now);
  AttemptEnd EndOfStopped(const ProcessExit& exit) const;
  // What else there is to say of the end.
  std::string Notes(const ProcessExit& exit) const;

  const TaskLimits limits_;
  TaskPhase phase_ = TaskPhase::kLaunching;

  // kStopping.
  EndCause stop_cause_ = EndCause::kCancelled;
  std::string stop_text_;
  std::optional<Instant> terminate_at_;
  Instant kill_at_;
  bool is_asked_ = false;
  // kFrozen.
  Instant frozen_since_;
  std::string freeze_reason_;
  std::optional<Instant> stopped_since_;  // by somebody else

  bool has_page_ = false;
  // The unit, or the time between two, that OnUnitSeen saw last, and since when.
  std::optional<Instant> unit_start_;
  int64_t units_done_ = -1;  // not looked yet
  bool is_overstay_counted_ = false;
  absl::Duration cpu_;          // with a main job
  absl::Duration outside_cpu_;  // while no bubble was open
  absl::Duration later_bubbles_;
  absl::Duration cpu_seen_;
  Instant seen_at_;
  int64_t overstays_ = 0;
  int64_t freezes_ = 0;
  int64_t processes_denied_ = 0;

  AttemptEnd end_;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_TASK_MACHINE_H_
