// What users want of jobs, and what time makes of those that wait.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "scheduler/core/cluster_state.h"

namespace pipefill::scheduler {

void ClusterState::KeepWish(Job& job, Wish::Kind kind, const EventTime& time, std::string text) {
  if (job.wishes.size() >= kWishesMax) job.wishes.erase(job.wishes.begin());
  const AttemptNumber attempt =
      HasLiveAttempt(job.phase) ? job.live_attempt().number : AttemptNumber();
  job.wishes.push_back({kind, time.wall, attempt, std::move(text)});
}

void ClusterState::SetHeld(Job& job, bool is_held) {
  if (job.is_array()) return SetTasksHeld(job, is_held);
  if (job.phase != JobPhase::kPending) {
    job.is_held = is_held;
    return;
  }
  waiting_.Remove(job);
  job.is_held = is_held;
  // Nobody's place is kept for it meanwhile.
  if (is_held) job.reserved = std::nullopt;
  waiting_.Add(job);
  changes_.jobs.insert(job.id);
}

void ClusterState::ApplyEvent(const CancelRequested& event, const EventTime& time) {
  const Job* known = jobs_.Find(event.job);
  // A task that is no job yet.
  if (known == nullptr) return CancelTasks(event.job, time);
  if (IsTerminal(known->phase)) return;  // cancelled already
  Job& job = jobs_.Edit(event.job);
  if (!job.is_cancel_requested) KeepWish(job, Wish::Kind::kCancel, time, event.reason);
  if (job.is_array()) return CancelTasks(event.job, time);
  job.is_cancel_requested = true;
  Move(job, JobInput::kCancelRequested, time);
  if (HasLiveAttempt(job.phase)) Leave(job);
}

void ClusterState::ApplyEvent(const MoveRequested& event, const EventTime& time) {
  Job& job = jobs_.Edit(event.job);
  KeepWish(job, Wish::Kind::kMove, time, absl::StrCat(event.to.node, "/", event.to.name));
  job.move_to = event.to;
  Leave(job);
}

void ClusterState::ApplyEvent(const JobHeld& event, const EventTime& time) {
  Job& job = jobs_.Edit(event.job);
  KeepWish(job, Wish::Kind::kHold, time, event.reason);
  SetHeld(job, true);
}

void ClusterState::ApplyEvent(const JobReleased& event, const EventTime& time) {
  Job& job = jobs_.Edit(event.job);
  KeepWish(job, Wish::Kind::kRelease, time, event.reason);
  SetHeld(job, false);
}

void ClusterState::ApplyEvent(const RequeueRequested& event, const EventTime& time) {
  Job& job = jobs_.Edit(event.job);
  KeepWish(job, Wish::Kind::kRequeue, time, event.reason);
  job.attempts.back().is_requeued = true;
  Leave(job);
}

void ClusterState::ApplyEvent(const StartExpired& event, const EventTime& time) {
  Job& job = jobs_.Edit(event.job);
  job.is_start_expired = true;
  Move(job, JobInput::kStartExpired, time);
}

}  // namespace pipefill::scheduler
