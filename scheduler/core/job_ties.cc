#include "scheduler/core/job_ties.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/core/cluster_state.h"

namespace pipefill::scheduler {
namespace {

absl::string_view Demand(DependencyCondition condition) {
  switch (condition) {
    case DependencyCondition::kOk:
      return "to succeed";
    case DependencyCondition::kAny:
      return "to end";
    case DependencyCondition::kNotOk:
      return "to fail or be cancelled";
  }
  return "";
}

// How the job ended, as the end of a sentence.
absl::string_view Outcome(JobPhase phase) {
  return phase == JobPhase::kCancelled ? "was cancelled" : PhaseName(phase);
}

absl::Status CheckDependencies(const JobTableView& jobs, const JobSpec& spec) {
  if (spec.dependencies.size() > kDependenciesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "spec.dependencies: has ", spec.dependencies.size(), ", at most ", kDependenciesMax));
  }
  for (const Dependency& dependency : spec.dependencies) {
    const JobId id = dependency.job;
    if (jobs.Find(id) != nullptr) continue;
    if (const auto task = FindTask(jobs, id); task.has_value()) {
      return absl::NotFoundError(absl::StrCat(
          "spec.dependencies: job ", id.value(), " is a task of array ", task->array->id.value(),
          " that has no record now; depend on the whole array, ", task->array->id.value()));
    }
    const bool was_known = id.value() >= 1 && id <= jobs.last_id();
    return absl::NotFoundError(absl::StrCat(
        "spec.dependencies: job ", id.value(),
        was_known ? " is not in the history any more, so how it ended is not known; leave it out"
                  : " not found; `pipefill jobs` lists the known ones"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTies(const JobTableView& jobs, const JobSpec& spec) {
  if (spec.array.has_value()) RETURN_IF_ERROR(CheckArray(*spec.array, kArrayTasksCap));
  return CheckDependencies(jobs, spec);
}

const Dependency* FindOpenDependency(const JobTableView& jobs, const Job& job) {
  // Those of an array held before its first task was admitted.
  if (job.is_task()) return nullptr;
  for (const Dependency& dependency : job.spec->dependencies) {
    const Job* known = jobs.Find(dependency.job);
    if (known != nullptr && !IsTerminal(known->phase)) return &dependency;
  }
  return nullptr;
}

std::optional<LostDependency> FindLostDependency(const JobTableView& jobs, const JobSpec& spec) {
  for (const Dependency& dependency : spec.dependencies) {
    const Job* known = jobs.Find(dependency.job);
    if (known == nullptr || !IsTerminal(known->phase)) continue;
    if (!Holds(dependency.condition, known->phase)) {
      return LostDependency{known->id, known->phase};
    }
  }
  return std::nullopt;
}

std::string ExplainDependency(const JobTableView& jobs, const Dependency& dependency) {
  const Job* known = jobs.Find(dependency.job);
  return absl::StrCat("waits for job ", dependency.job.value(), " (",
                      known == nullptr ? "over" : PhaseName(ShownPhase(*known)), "), which has ",
                      Demand(dependency.condition));
}

std::string ExplainLostDependency(const Job& job) {
  const LostDependency& lost = *job.lost_dependency;
  const auto& all = job.spec->dependencies;
  const auto dependency = std::find_if(all.begin(), all.end(), [&](const Dependency& d) {
    return d.job == lost.job && !Holds(d.condition, lost.phase);
  });
  return absl::StrCat("cancelled: job ", lost.job.value(),
                      dependency == all.end() ? "" : ", which had ",
                      dependency == all.end() ? "" : Demand(dependency->condition),
                      dependency == all.end() ? " " : ", ", Outcome(lost.phase));
}

std::optional<TaskPlace> FindTask(const JobTableView& jobs, JobId id) {
  const Job* below = jobs.FindAtOrBelow(id);
  if (below == nullptr) return std::nullopt;
  const Job* array = below->is_task() ? jobs.Find(below->array_of) : below;
  if (array == nullptr || !array->is_array()) return std::nullopt;
  const int64_t place = PlaceOf(array->id, id);
  if (place < 0 || place >= array->tasks->size()) return std::nullopt;
  return TaskPlace{array, place};
}

absl::Status CheckCancelTask(const TaskPlace& task) {
  if (task.result() == TaskResult::kNone) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("task ", task.index(), " of array ", task.array->id.value(),
                   " is over already; there is nothing to cancel"));
}

bool IsInLine(const JobTableView& jobs, const Job& job) {
  return !job.is_array() && FindOpenDependency(jobs, job) == nullptr;
}

absl::Status CheckInLine(const JobTableView& jobs, const Job& job) {
  if (IsInLine(jobs, job)) return absl::OkStatus();
  return absl::AbortedError(
      absl::StrCat("job ", job.id.value(), " ",
                   job.is_array() ? "is an array; only its tasks are placed"
                                  : ExplainDependency(jobs, *FindOpenDependency(jobs, job))));
}

JobOutcome OutcomeOfLaterCancel(JobId id, const TaskPlace& task) {
  JobOutcome outcome{.job = id, .phase = JobPhase::kCancelled};
  if (task.result() == TaskResult::kCancelled) {
    outcome.code = JobOutcome::Code::kUnchanged;
    outcome.text = "was cancelled before";
    return outcome;
  }
  const absl::Status open = CheckCancelTask(task);
  if (!open.ok()) return RefusedOutcome(id, open);
  outcome.code = JobOutcome::Code::kDone;
  outcome.text = "cancelled";
  return outcome;
}

JobPhase ShownPhase(const Job& job) {
  const bool is_begun = job.phase == JobPhase::kPending && job.is_array() && job.tasks->has_begun();
  return is_begun ? JobPhase::kRunning : job.phase;
}

int64_t OpenTasksIn(const Job& array, int64_t first, int64_t end) {
  int64_t open = 0;
  for (int64_t place = first; place < end; ++place) {
    open += array.tasks->ResultAt(place) == TaskResult::kNone ? 1 : 0;
  }
  return open;
}

int64_t TasksDue(const JobTableView& jobs, const Job& array, int64_t window) {
  const ArrayTasks& tasks = *array.tasks;
  const bool is_closed = IsTerminal(array.phase) || array.is_cancel_requested || array.is_held;
  if (is_closed || tasks.later() == 0) return 0;
  int64_t due = std::min(window - tasks.waiting(), tasks.later());
  const int64_t throttle = array.spec->array->throttle;
  if (throttle > 0) due = std::min(due, throttle - tasks.in_flight());
  if (due <= 0 || FindOpenDependency(jobs, array) != nullptr) return 0;
  return due;
}

absl::Status CheckAdmission(const JobTableView& jobs, const ArrayAdmitted& event) {
  const Job* array = jobs.Find(event.array);
  const auto refuse = [&](absl::string_view text) {
    return absl::AbortedError(absl::StrCat("job ", event.array.value(), " ", text));
  };
  if (array == nullptr) return JobNotFound(event.array, jobs.last_id());
  if (!array->is_array()) return refuse("is no array");
  const bool is_closed = IsTerminal(array->phase) || array->is_cancel_requested || array->is_held;
  if (is_closed) return refuse("admits no more tasks now");
  if (event.first != array->tasks->next()) return refuse("has admitted other tasks");
  if (event.end <= event.first || event.end > array->tasks->size()) {
    return refuse("has no such tasks");
  }
  const Dependency* open = FindOpenDependency(jobs, *array);
  return open == nullptr ? absl::OkStatus() : refuse(ExplainDependency(jobs, *open));
}

absl::Status CheckArrays(const JobTableView& jobs, const absl::btree_set<JobId>& open_arrays,
                         JobId next_job_id) {
  for (JobId id : open_arrays) {
    const ArrayTasks& tasks = *jobs.Find(id)->tasks;
    if (TaskIdOf(id, tasks.size() - 1) >= next_job_id) {
      return absl::DataLossError(
          absl::StrCat("array ", id.value(), " has tasks whose ids were never given"));
    }
    for (int64_t place = 0; place < tasks.next(); ++place) {
      if (tasks.ResultAt(place) != TaskResult::kNone) continue;
      const Job* task = jobs.Find(TaskIdOf(id, place));
      if (task != nullptr && task->array_of == id) continue;
      return absl::DataLossError(
          absl::StrCat("the task at place ", place, " of array ", id.value(), " is missing"));
    }
  }
  return absl::OkStatus();
}

TaskHistory::Rank TaskHistory::RankOf(const Job& task) {
  return {task.phase != JobPhase::kSucceeded, task.id};
}

void TaskHistory::Add(const Job& task) {
  absl::btree_set<Rank>& kept = kept_[task.array_of];
  kept.insert(RankOf(task));
  if (static_cast<int64_t>(kept.size()) <= kept_max_) return;
  surplus_.insert(kept.begin()->second);
  kept.erase(kept.begin());
}

void TaskHistory::Remove(const Job& task) {
  surplus_.erase(task.id);
  const auto known = kept_.find(task.array_of);
  if (known == kept_.end()) return;
  known->second.erase(RankOf(task));
  if (known->second.empty()) kept_.erase(known);
}

}  // namespace pipefill::scheduler
