#include "agent/tasks/task_machine.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

// What lies longer between two looks was not looked at: agentd itself stood still.
constexpr absl::Duration kLookMax = absl::Seconds(1);

std::string DescribeSignal(int signal) {
  const std::string text = absl::StrCat("ended by signal ", signal);
  if (signal != SIGKILL) return text;
  return absl::StrCat(text,
                      ", which agentd did not send: a person did, or the kernel because the node "
                      "ran out of memory");
}

}  // namespace

std::string TaskMachine::Notes(const ProcessExit& exit) const {
  std::string text;
  if (processes_denied_ > 0) {
    absl::StrAppend(&text, "; ", processes_denied_,
                    " more processes were refused to it, its limit is ", limits_.processes_max,
                    " (processes_max of agentd)");
  }
  if (!exit.log_error.empty()) {
    absl::StrAppend(&text, "; its log ends early: ", exit.log_error);
  }
  return text;
}

bool TaskMachine::is_running() const {
  return phase_ == TaskPhase::kUnattached || phase_ == TaskPhase::kAttached ||
         phase_ == TaskPhase::kFrozen;
}

TaskActions TaskMachine::OnStarted() {
  if (phase_ != TaskPhase::kLaunching) return {};
  phase_ = TaskPhase::kUnattached;
  return {TaskAction::kReportStarted};
}

TaskActions TaskMachine::OnLaunchFailed(std::string text, EndCause cause) {
  if (phase_ == TaskPhase::kLaunching) {
    end_ = {.cause = cause, .text = std::move(text)};
  } else if (phase_ == TaskPhase::kStopping) {
    end_ = EndOfStopped({});
  } else {
    return {};
  }
  phase_ = TaskPhase::kEnded;
  return {TaskAction::kReportEnded};
}

TaskActions TaskMachine::OnAttached() {
  const bool is_first_sign = phase_ == TaskPhase::kLaunching;
  has_page_ = true;
  // It mapped its pages while it was told to stop.
  if (phase_ == TaskPhase::kStopping) return AskOnce();
  if (!is_first_sign && phase_ != TaskPhase::kUnattached) return {};
  phase_ = TaskPhase::kAttached;
  return is_first_sign ? TaskActions{TaskAction::kReportStarted} : TaskActions();
}

TaskActions TaskMachine::OnDetached() {
  has_page_ = false;
  if (phase_ == TaskPhase::kAttached) phase_ = TaskPhase::kUnattached;
  return {};
}

TaskActions TaskMachine::OnStopRequested(const StopRequest& request, Instant now) {
  if (phase_ == TaskPhase::kEnded) return {};
  if (phase_ == TaskPhase::kStopping) {
    kill_at_ = std::min(kill_at_, now + request.grace);
    if (terminate_at_.has_value()) terminate_at_ = std::min(*terminate_at_, kill_at_);
    // Its time was over, so nobody has asked it yet. Now it may run elsewhere as well, and no unit
    // of it may start here, even if it heeds no signal.
    return AskOnce();
  }
  if (phase_ == TaskPhase::kLaunching) return KillFor(request.cause, request.text, now);

  TaskActions actions;
  if (phase_ == TaskPhase::kFrozen) actions.push_back(TaskAction::kThaw);
  if (phase_ == TaskPhase::kUnattached) {
    // Asked as well, if it is about to hold its pages.
    actions = AskOnce();
    actions.push_back(TaskAction::kTerminate);
    terminate_at_ = std::nullopt;
  } else {
    for (const TaskAction action : AskOnce()) actions.push_back(action);
    terminate_at_ = now + request.grace / 2;
  }
  phase_ = TaskPhase::kStopping;
  stop_cause_ = request.cause;
  stop_text_ = request.text;
  kill_at_ = now + request.grace;
  return actions;
}

TaskActions TaskMachine::AskOnce() {
  if (!has_page_ || std::exchange(is_asked_, true)) return {};
  return {TaskAction::kAskToStop};
}

TaskActions TaskMachine::OnMemoryUsed(int64_t bytes, Instant now) {
  return bytes <= limits_.memory_bytes ? TaskActions() : OnMemoryKilled(bytes, now);
}

TaskActions TaskMachine::OnRuntimeSeen(absl::Duration runtime, Instant now) {
  if (runtime < limits_.runtime_max || !is_running()) return {};
  TaskActions actions;
  if (phase_ == TaskPhase::kFrozen) actions.push_back(TaskAction::kThaw);
  actions.push_back(TaskAction::kTerminate);
  phase_ = TaskPhase::kStopping;
  stop_cause_ = EndCause::kMaxRuntime;
  stop_text_ = absl::StrCat("max_runtime (limit ", pipefill::FormatDuration(limits_.runtime_max),
                            ", ran ", pipefill::FormatDuration(runtime), ")");
  terminate_at_ = std::nullopt;
  kill_at_ = now + limits_.runtime_grace;
  return actions;
}

TaskActions TaskMachine::OnProcessesSeen(int32_t processes, Instant now) {
  if (processes <= limits_.processes_max || !is_running()) return {};
  return KillFor(
      EndCause::kSignalled,
      absl::StrCat("the task had ", processes, " processes and was killed; its limit is ",
                   limits_.processes_max, " (processes_max of agentd)"),
      now);
}

TaskActions TaskMachine::OnMemoryKilled(int64_t peak_bytes, Instant now) {
  const std::string text = absl::StrCat("out_of_memory (cap ", FormatBytes(limits_.memory_bytes),
                                        ", peak ", FormatBytes(peak_bytes), ")");
  if (is_running()) return KillFor(EndCause::kOutOfMemory, text, now);
  if (phase_ != TaskPhase::kStopping || now >= kill_at_) return {};
  // It is on its way out and may have saving to do, but not at the cost of the main job's memory.
  terminate_at_ = std::nullopt;
  kill_at_ = now + limits_.kill_again_after;
  return {TaskAction::kKill};
}

void TaskMachine::FollowUnit(const UnitView& unit, Instant now) {
  if (unit.start != unit_start_ || unit.units_done != units_done_) {
    unit_start_ = unit.start;
    units_done_ = unit.units_done;
    is_overstay_counted_ = false;
    cpu_ = absl::ZeroDuration();
    outside_cpu_ = absl::ZeroDuration();
    later_bubbles_ = absl::ZeroDuration();
    cpu_seen_ = unit.task_cpu;
    seen_at_ = now;
  }
  if (unit.has_main_job) cpu_ += unit.task_cpu - cpu_seen_;
  if (!unit.is_bubble_open) outside_cpu_ += unit.task_cpu - cpu_seen_;
  if (unit.is_bubble_open && !unit.is_in_its_bubble) {
    later_bubbles_ += std::min(now - seen_at_, kLookMax);
  }
  cpu_seen_ = unit.task_cpu;
  seen_at_ = now;

  if (!unit.start.has_value() || is_overstay_counted_) return;
  const absl::Duration grace =
      std::max(limits_.overstay_grace, limits_.overstay_grace_estimates * unit.estimate);
  if (outside_cpu_ <= grace) return;
  is_overstay_counted_ = true;
  ++overstays_;
}

std::optional<std::string> TaskMachine::FindFault(const UnitView& unit) const {
  if (!unit.start.has_value() && unit.units_done == 0) {
    if (cpu_ < limits_.start_cpu_max) return std::nullopt;
    const std::string used = pipefill::FormatDuration(cpu_);
    if (has_page_) {
      return absl::StrCat("the task used ", used,
                          " of CPU time before its first unit and was killed; do that work inside "
                          "units, or raise ladder.start_cpu_max of agentd");
    }
    return absl::StrCat(
        "the task used ", used,
        " of CPU time without asking for a unit and was killed; let it use the SDK, submit it with "
        "--process, or raise ladder.start_cpu_max of agentd");
  }
  if (!unit.start.has_value()) {
    if (outside_cpu_ < limits_.freeze_between_after) return std::nullopt;
    return absl::StrCat("the task used ", pipefill::FormatDuration(outside_cpu_),
                        " of CPU time between two units while no bubble was open and was killed; "
                        "do that work inside units");
  }
  if (outside_cpu_ >= limits_.freeze_after) {
    return absl::StrCat("a unit used ", pipefill::FormatDuration(outside_cpu_),
                        " of CPU time while no bubble was open and was killed; make units shorter "
                        "than the bubbles");
  }
  if (later_bubbles_ >=
      std::max(limits_.stuck_after, limits_.stuck_after_estimates * unit.estimate)) {
    return absl::StrCat("a unit had not ended after ", pipefill::FormatDuration(later_bubbles_),
                        " of later bubbles and was killed; let units fail instead of waiting");
  }
  return std::nullopt;
}

TaskActions TaskMachine::Freeze(std::string reason, Instant now) {
  phase_ = TaskPhase::kFrozen;
  frozen_since_ = now;
  freeze_reason_ = std::move(reason);
  ++freezes_;
  return {TaskAction::kFreeze};
}

TaskActions TaskMachine::OnUnitSeen(const UnitView& unit, Instant now) {
  if (phase_ == TaskPhase::kFrozen && !unit.has_main_job && !stopped_since_.has_value()) {
    phase_ = has_page_ ? TaskPhase::kAttached : TaskPhase::kUnattached;
    cpu_ = absl::ZeroDuration();
    outside_cpu_ = absl::ZeroDuration();
    later_bubbles_ = absl::ZeroDuration();
    return {TaskAction::kThaw};
  }
  if (phase_ != TaskPhase::kAttached && phase_ != TaskPhase::kUnattached) return {};
  FollowUnit(unit, now);
  std::optional<std::string> fault = FindFault(unit);
  return fault.has_value() ? Freeze(*std::move(fault), now) : TaskActions();
}

TaskActions TaskMachine::OnStopSeen(bool is_stopped, Instant now) {
  if (!is_running() || phase_ == TaskPhase::kFrozen) return {};
  if (!is_stopped) {
    stopped_since_ = std::nullopt;
    return {};
  }
  if (!stopped_since_.has_value()) stopped_since_ = now;
  if (now - *stopped_since_ < limits_.stopped_after) return {};
  return Freeze(absl::StrCat("the task was stopped (SIGSTOP) by somebody else for ",
                             pipefill::FormatDuration(now - *stopped_since_),
                             " and was killed; continue it sooner, or cancel the job"),
                now);
}

TaskActions TaskMachine::OnTick(Instant now) {
  if (phase_ == TaskPhase::kFrozen && now >= frozen_since_ + limits_.kill_after) {
    return KillFor(EndCause::kSignalled, freeze_reason_, now);
  }
  if (phase_ != TaskPhase::kStopping) return {};
  if (now >= kill_at_) {
    terminate_at_ = std::nullopt;
    kill_at_ = now + limits_.kill_again_after;
    return {TaskAction::kKill};
  }
  if (terminate_at_.has_value() && now >= *terminate_at_) {
    terminate_at_ = std::nullopt;
    return {TaskAction::kTerminate};
  }
  return {};
}

TaskActions TaskMachine::OnExited(const ProcessExit& exit) {
  if (phase_ == TaskPhase::kEnded) return {};
  if (phase_ == TaskPhase::kStopping) {
    end_ = EndOfStopped(exit);
  } else if (exit.signal != 0) {
    end_ = {.cause = EndCause::kSignalled,
            .signal = exit.signal,
            .text = DescribeSignal(exit.signal) + Notes(exit)};
  } else {
    end_ = {.cause = EndCause::kExited,
            .exit_code = exit.exit_code,
            .text = absl::StrCat("exit code ", exit.exit_code, Notes(exit))};
  }
  phase_ = TaskPhase::kEnded;
  return {TaskAction::kReportEnded};
}

TaskActions TaskMachine::OnVanished() {
  if (phase_ == TaskPhase::kStopping) return OnExited({.signal = SIGKILL});
  if (phase_ == TaskPhase::kEnded) return {};
  end_ = {.cause = EndCause::kLost, .text = "its keeper was killed; nobody knows how it ended"};
  phase_ = TaskPhase::kEnded;
  return {TaskAction::kReportEnded};
}

std::optional<StopRequest> TaskMachine::stop() const {
  if (phase_ != TaskPhase::kStopping) return std::nullopt;
  return StopRequest{.cause = stop_cause_, .text = stop_text_};
}

std::optional<Instant> TaskMachine::next_tick() const {
  if (phase_ == TaskPhase::kFrozen) return frozen_since_ + limits_.kill_after;
  if (phase_ != TaskPhase::kStopping) return std::nullopt;
  return terminate_at_.has_value() ? std::min(*terminate_at_, kill_at_) : kill_at_;
}

const AttemptEnd& TaskMachine::end() const {
  CHECK(phase_ == TaskPhase::kEnded);
  return end_;
}

TaskActions TaskMachine::KillFor(EndCause cause, std::string text, Instant now) {
  phase_ = TaskPhase::kStopping;
  stop_cause_ = cause;
  stop_text_ = std::move(text);
  terminate_at_ = std::nullopt;
  kill_at_ = now + limits_.kill_again_after;
  return {TaskAction::kKill};
}

AttemptEnd TaskMachine::EndOfStopped(const ProcessExit& exit) const {
  return {.cause = stop_cause_,
          .exit_code = exit.exit_code,
          .signal = exit.signal,
          .text = stop_text_ + Notes(exit)};
}

}  // namespace pipefill
