// ClusterState and what ties jobs together: arrays with their tasks, jobs with those that they
// depend on. All of it is a consequence of events, and takes place as they are applied, so replay
// gives it again.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/job_forecast.h"

namespace pipefill::scheduler {

// What one event changes.
struct ClusterState::TieChanges {
  ClusterState& state;
  const EventTime& time;

  JobTies& ties() const { return state.ties_; }

  // Keeps due_arrays in step.
  void UpdateDue(const Job& array) const {
    if (TasksDue(state.jobs(), array, state.limits_.array_window) > 0) {
      ties().due_arrays.insert(array.id);
    } else {
      ties().due_arrays.erase(array.id);
    }
  }

  // The task is no job, and will be none.
  void CancelLater(Job& array, int64_t place) const {
    array.tasks->SetResult(place, TaskResult::kCancelled);
    ties().ended_now.push_back(TaskIdOf(array.id, place));
  }

  void CancelAll(Job& array) const {
    for (int64_t place = 0; place < array.tasks->size(); ++place) {
      if (array.tasks->ResultAt(place) != TaskResult::kNone) continue;
      if (place >= array.tasks->next()) {
        CancelLater(array, place);
        continue;
      }
      Job& task = state.jobs_.Edit(TaskIdOf(array.id, place));
      task.is_cancel_requested = true;
      state.Move(task, JobInput::kCancelRequested, time);
      if (HasLiveAttempt(task.phase)) state.Leave(task);
    }
    UpdateDue(array);
    EndIfOver(array);
  }

  void EndIfOver(Job& array) const {
    const ArrayTasks& tasks = *array.tasks;
    if (!tasks.is_over()) return;
    JobInput input = JobInput::kCancelRequested;
    if (tasks.succeeded() == tasks.size()) {
      input = JobInput::kTasksSucceeded;
    } else if (tasks.failed() > 0 && !array.is_cancel_requested) {
      input = JobInput::kTasksFailed;
    }
    ties().open_arrays.erase(array.id);
    state.Move(array, input, time);
  }

  void Lose(Job& job, const LostDependency& lost) const {
    job.lost_dependency = lost;
    if (job.is_array()) return CancelAll(job);
    state.Move(job, JobInput::kCancelRequested, time);
  }

  void SettleTask(const Job& task) const {
    Job& array = state.jobs_.Edit(task.array_of);
    array.tasks->SetResult(PlaceOf(array.id, task.id), ResultOf(task.phase));
    ties().history.Add(task);
    UpdateDue(array);
    EndIfOver(array);
  }

  void SettleDependents(JobId job) const {
    for (JobId id : ties().dependents.DependentsOf(job)) {
      Job& dependent = state.jobs_.Edit(id);
      if (IsTerminal(dependent.phase)) continue;
      const std::optional<LostDependency> lost = FindLostDependency(state.jobs(), *dependent.spec);
      if (lost.has_value()) {
        Lose(dependent, *lost);
      } else if (FindOpenDependency(state.jobs(), dependent) == nullptr) {
        // That job may have taught how long its units are.
        state.TakeUpProfile(dependent);
        state.changes_.jobs.insert(id);
        if (dependent.is_array()) UpdateDue(dependent);
      }
    }
  }
};

// --- Reads ---

std::vector<ArrayAdmitted> ClusterState::DueTasks(int64_t limit) const {
  std::vector<ArrayAdmitted> due;
  int64_t room = std::min(limit, limits_.jobs_max - jobs_.size());
  for (JobId id : ties_.due_arrays) {
    if (room <= 0) break;
    const Job& array = *jobs_.Find(id);
    const int64_t count = std::min(room, TasksDue(jobs(), array, limits_.array_window));
    due.push_back({id, array.tasks->next(), array.tasks->EndOf(count)});
    room -= count;
  }
  return due;
}

std::vector<JobId> ClusterState::TakeEnded() {
  ties_.settled = 0;
  return std::exchange(ties_.ended_now, {});
}

// --- Apply ---

void ClusterState::Tie(JobId id, const EventTime& time) {
  const TieChanges changes{*this, time};
  Job& job = jobs_.Edit(id);
  if (job.spec->array.has_value()) {
    job.tasks = ArrayTasks(job.spec->array->size());
    ties_.open_arrays.insert(id);
    jobs_.SkipTo(TaskIdOf(id, job.tasks->size() - 1));
  }
  ties_.dependents.Add(id, job.spec->dependencies);
  const std::optional<LostDependency> lost = FindLostDependency(jobs(), *job.spec);
  if (lost.has_value()) return changes.Lose(job, *lost);
  if (job.is_array()) changes.UpdateDue(job);
}

void ClusterState::ApplyEvent(const ArrayAdmitted& event, const EventTime& time) {
  Job& array = jobs_.Edit(event.array);
  Job task;
  task.spec = array.spec;
  task.array_of = array.id;
  task.memory_bytes = task.spec->memory_bytes;
  task.submitted_at = time.wall;
  TakeUpProfile(task);
  for (int64_t place = event.first; place < event.end; ++place) {
    if (array.tasks->ResultAt(place) != TaskResult::kNone) continue;
    task.id = TaskIdOf(array.id, place);
    task.array_index = array.spec->array->IndexAt(place);
    jobs_.Add(task);
    waiting_.Add(task);
    tenants_.AddPending(task.spec->tenant, 1);
    changes_.jobs.insert(task.id);
    array.tasks->AddWaiting(1);
  }
  array.tasks->Admit(event.end);
  TieChanges{*this, time}.UpdateDue(array);
}

void ClusterState::CancelTasks(JobId id, const EventTime& time) {
  const TieChanges changes{*this, time};
  const std::optional<TaskPlace> task = FindTask(jobs(), id);
  Job& array = jobs_.Edit(task.has_value() ? task->array->id : id);
  if (!task.has_value()) {
    if (IsTerminal(array.phase)) return;  // cancelled already
    array.is_cancel_requested = true;
    return changes.CancelAll(array);
  }
  changes.CancelLater(array, task->place);
  changes.UpdateDue(array);
  changes.EndIfOver(array);
}

void ClusterState::SetTasksHeld(Job& array, bool is_held) {
  array.is_held = is_held;
  for (int64_t place = 0; place < array.tasks->next(); ++place) {
    if (array.tasks->ResultAt(place) != TaskResult::kNone) continue;
    SetHeld(jobs_.Edit(TaskIdOf(array.id, place)), is_held);
  }
  TieChanges{*this, EventTime()}.UpdateDue(array);
}

void ClusterState::AddWaiting(JobId id, int64_t change) {
  Job& array = jobs_.Edit(id);
  array.tasks->AddWaiting(change);
  TieChanges{*this, EventTime()}.UpdateDue(array);
}

void ClusterState::Settle(const EventTime& time) {
  const TieChanges changes{*this, time};
  while (ties_.settled < ties_.ended_now.size()) {
    const JobId id = ties_.ended_now[ties_.settled++];
    const Job* job = jobs_.Find(id);
    // A task that was no job yet: noted already.
    if (job == nullptr) continue;
    if (job->is_task()) {
      changes.SettleTask(*job);
    } else {
      ties_.dependents.Remove(id, job->spec->dependencies);
    }
    changes.SettleDependents(id);
  }
}

void ClusterState::Drop(const Job& job) {
  if (job.is_array()) {
    const JobId last = TaskIdOf(job.id, job.tasks->size() - 1);
    JobId next = TaskIdOf(job.id, 0);
    while (const Job* task = jobs().FindAtOrAbove(next)) {
      if (task->id > last) break;
      next = JobId(task->id.value() + 1);
      Drop(*task);
    }
  }
  if (job.is_task()) ties_.history.Remove(job);
  if (!job.key.empty()) jobs_by_key_.erase(job.key);
  ended_.erase({*job.ended_at, job.id});
  jobs_.Drop(job.id);
}

// --- Snapshots ---

absl::Status ClusterState::RestoreTies(Job& job) {
  const auto damaged = [&](absl::string_view text) {
    return absl::DataLossError(absl::StrCat("job ", job.id.value(), " cannot be: ", text));
  };
  // Jobs come in the order of their ids: a task after its array.
  const std::optional<TaskPlace> place = FindTask(jobs(), job.id);
  if (place.has_value() != job.is_task()) return damaged("its id is, or is not, that of a task");
  const bool is_over = IsTerminal(job.phase);
  if (place.has_value()) {
    const TaskResult result = is_over ? ResultOf(job.phase) : TaskResult::kNone;
    const bool is_known = place->array->id == job.array_of && !job.is_array() &&
                          place->place < place->array->tasks->next() && place->result() == result;
    if (!is_known) return damaged("its array does not say so");
    Job& array = jobs_.Edit(job.array_of);
    job.spec = array.spec;
    job.array_index = place->index();
    if (job.phase == JobPhase::kPending) array.tasks->AddWaiting(1);
    if (is_over) ties_.history.Add(job);
    TieChanges{*this, EventTime()}.UpdateDue(array);
    return absl::OkStatus();
  }
  if (job.is_array() != job.spec->array.has_value()) return damaged("its tasks are not as many");
  if (!is_over) ties_.dependents.Add(job.id, job.spec->dependencies);
  if (!job.is_array()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckArray(*job.spec->array, kArrayTasksCap));
  if (!job.attempts.empty() || HasLiveAttempt(job.phase) || is_over != job.tasks->is_over()) {
    return damaged("its tasks say otherwise");
  }
  if (!is_over) ties_.open_arrays.insert(job.id);
  TieChanges{*this, EventTime()}.UpdateDue(job);
  return absl::OkStatus();
}

}  // namespace pipefill::scheduler
