// The life of one attempt's processes, as decisions: told what happened and when, it says what to
// do.
//
// Pure.
//
//                 started                  attached
//   kLaunching ------------> kUnattached <----------> kAttached ------> kFrozen
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
// Memory. One reading above the cap kills: a cap that may be passed for a while is not one.
//
// Overstaying. A unit still running after its bubble ended is harmless while the main job, which
// comes first on the device, leaves it no CPU time. So the clock of this ladder is the CPU time
// that the task uses while no bubble is open:
//   overstay_grace of wall time after the bubble's end  counted once per unit, see overstays()
//   freeze_after of CPU time outside bubbles            SIGSTOP
//   kill_after of wall time later                       SIGKILL, reported as kSignalled
// A frozen task goes on if its main job leaves, for then nobody is in its way.
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
  // The larger of the two counts.
  absl::Duration overstay_grace = absl::Milliseconds(5);
  double overstay_grace_estimates = 2;
  absl::Duration freeze_after = absl::Seconds(2);
  absl::Duration kill_after = absl::Seconds(10);
  absl::Duration kill_again_after = absl::Seconds(1);
};

struct StopRequest {
  EndCause cause = EndCause::kCancelled;  // kCancelled or kLost
  absl::Duration grace = absl::ZeroDuration();
  std::string text = {};
};

// A look at the unit in progress.
struct UnitView {
  Instant start = {};
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
  TaskActions OnLaunchFailed(std::string text);
  // The task holds its pages / its connection has ended.
  TaskActions OnAttached();
  TaskActions OnDetached();
  TaskActions OnStopRequested(const StopRequest& request, Instant now);
  TaskActions OnMemoryUsed(int64_t bytes, Instant now);
  // Call every 50 ms or so while a unit runs.
  TaskActions OnUnitSeen(const UnitView& unit, Instant now);
  // Call no later than next_tick().
  TaskActions OnTick(Instant now);
  // The leader is gone.
  TaskActions OnExited(const ProcessExit& exit);

  TaskPhase phase() const { return phase_; }
  std::optional<Instant> next_tick() const;
  // Units that outlived their bubble by more than the grace.
  int64_t overstays() const { return overstays_; }
  // REQUIRES: phase() is kEnded.
  const AttemptEnd& end() const;

 private:
  // Unattached, attached or frozen: the program runs and nobody has asked it to stop.
  bool is_running() const;
  TaskActions KillFor(EndCause cause, std::string text, Instant now);
  void FollowUnit(const UnitView& unit, Instant now);
  AttemptEnd EndOfStopped(const ProcessExit& exit) const;

  const TaskLimits limits_;
  TaskPhase phase_ = TaskPhase::kLaunching;

  // kStopping.
  EndCause stop_cause_ = EndCause::kCancelled;
  std::string stop_text_;
  std::optional<Instant> terminate_at_;
  Instant kill_at_;
  // kFrozen.
  Instant frozen_since_;

  // The unit that OnUnitSeen saw last.
  std::optional<Instant> unit_start_;
  std::optional<Instant> bubble_over_since_;
  bool is_overstay_counted_ = false;
  absl::Duration outside_cpu_;
  absl::Duration cpu_seen_;
  int64_t overstays_ = 0;

  AttemptEnd end_;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_TASK_MACHINE_H_
