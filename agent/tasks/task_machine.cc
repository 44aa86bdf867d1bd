#include "agent/tasks/task_machine.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/quantity.h"

namespace pipefill {

bool TaskMachine::is_running() const {
  return phase_ == TaskPhase::kUnattached || phase_ == TaskPhase::kAttached ||
         phase_ == TaskPhase::kFrozen;
}

TaskActions TaskMachine::OnStarted() {
  if (phase_ != TaskPhase::kLaunching) return {};
  phase_ = TaskPhase::kUnattached;
  return {TaskAction::kReportStarted};
}

TaskActions TaskMachine::OnLaunchFailed(std::string text) {
  if (phase_ == TaskPhase::kLaunching) {
    end_ = {.cause = EndCause::kLaunchFailed, .text = std::move(text)};
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
  if (!is_first_sign && phase_ != TaskPhase::kUnattached) return {};
  phase_ = TaskPhase::kAttached;
  return is_first_sign ? TaskActions{TaskAction::kReportStarted} : TaskActions();
}

TaskActions TaskMachine::OnDetached() {
  if (phase_ == TaskPhase::kAttached) phase_ = TaskPhase::kUnattached;
  return {};
}

TaskActions TaskMachine::OnStopRequested(const StopRequest& request, Instant now) {
  if (phase_ == TaskPhase::kEnded) return {};
  if (phase_ == TaskPhase::kStopping) {
    kill_at_ = std::min(kill_at_, now + request.grace);
    if (terminate_at_.has_value()) terminate_at_ = std::min(*terminate_at_, kill_at_);
    return {};
  }
  if (phase_ == TaskPhase::kLaunching) return KillFor(request.cause, request.text, now);

  TaskActions actions;
  if (phase_ == TaskPhase::kFrozen) actions.push_back(TaskAction::kThaw);
  if (phase_ == TaskPhase::kUnattached) {
    actions.push_back(TaskAction::kTerminate);
    terminate_at_ = std::nullopt;
  } else {
    actions.push_back(TaskAction::kAskToStop);
    terminate_at_ = now + request.grace / 2;
  }
  phase_ = TaskPhase::kStopping;
  stop_cause_ = request.cause;
  stop_text_ = request.text;
  kill_at_ = now + request.grace;
  return actions;
}

TaskActions TaskMachine::OnMemoryUsed(int64_t bytes, Instant now) {
  if (bytes <= limits_.memory_bytes) return {};
  const std::string text = absl::StrCat("out of memory: the task used ", FormatBytes(bytes),
                                        ", its cap is ", FormatBytes(limits_.memory_bytes),
                                        "; submit it again with a larger memory size");
  if (is_running()) return KillFor(EndCause::kOutOfMemory, text, now);
  if (phase_ != TaskPhase::kStopping || now >= kill_at_) return {};
  // It is on its way out and may have saving to do, but not at the cost of the main job's memory.
  terminate_at_ = std::nullopt;
  kill_at_ = now + limits_.kill_again_after;
  return {TaskAction::kKill};
}

void TaskMachine::FollowUnit(const UnitView& unit, Instant now) {
  if (unit.start != unit_start_) {
    unit_start_ = unit.start;
    bubble_over_since_ = std::nullopt;
    is_overstay_counted_ = false;
    outside_cpu_ = absl::ZeroDuration();
    cpu_seen_ = unit.task_cpu;
  }
  if (!unit.is_bubble_open) outside_cpu_ += unit.task_cpu - cpu_seen_;
  cpu_seen_ = unit.task_cpu;

  if (unit.is_in_its_bubble) {
    bubble_over_since_ = std::nullopt;
    return;
  }
  if (!bubble_over_since_.has_value()) bubble_over_since_ = now;
  const absl::Duration grace =
      std::max(limits_.overstay_grace, limits_.overstay_grace_estimates * unit.estimate);
  if (is_overstay_counted_ || now - *bubble_over_since_ <= grace) return;
  is_overstay_counted_ = true;
  ++overstays_;
}

TaskActions TaskMachine::OnUnitSeen(const UnitView& unit, Instant now) {
  if (phase_ == TaskPhase::kFrozen && !unit.has_main_job) {
    phase_ = TaskPhase::kAttached;
    outside_cpu_ = absl::ZeroDuration();
    return {TaskAction::kThaw};
  }
  if (phase_ != TaskPhase::kAttached) return {};
  FollowUnit(unit, now);
  if (outside_cpu_ < limits_.freeze_after) return {};
  phase_ = TaskPhase::kFrozen;
  frozen_since_ = now;
  return {TaskAction::kFreeze};
}

TaskActions TaskMachine::OnTick(Instant now) {
  if (phase_ == TaskPhase::kFrozen && now >= frozen_since_ + limits_.kill_after) {
    return KillFor(EndCause::kSignalled,
                   absl::StrCat("a unit used ", pipefill::FormatDuration(outside_cpu_),
                                " of CPU time while no bubble was open and was killed; make units "
                                "shorter than the bubbles"),
                   now);
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
            .text = absl::StrCat("ended by signal ", exit.signal)};
  } else {
    end_ = {.cause = EndCause::kExited,
            .exit_code = exit.exit_code,
            .text = absl::StrCat("exit code ", exit.exit_code)};
  }
  phase_ = TaskPhase::kEnded;
  return {TaskAction::kReportEnded};
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
  return {
      .cause = stop_cause_, .exit_code = exit.exit_code, .signal = exit.signal, .text = stop_text_};
}

}  // namespace pipefill
