#include "scheduler/convert/ties.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "scheduler/convert/convert.h"
#include "scheduler/core/explain.h"

namespace pipefill::scheduler {
namespace {

v1::ArrayStatus StatusOf(const ArrayTasks& tasks) {
  v1::ArrayStatus to;
  to.set_tasks(tasks.size());
  to.set_succeeded(tasks.succeeded());
  to.set_failed(tasks.failed());
  to.set_cancelled(tasks.cancelled());
  to.set_running(tasks.in_flight() - tasks.waiting());
  to.set_waiting(tasks.waiting());
  to.set_later(tasks.later());
  return to;
}

// The first of its tasks that waits for a device; nullptr if there is none.
const Job* FirstWaiting(const Job& array, const JobTableView& jobs) {
  const JobId last = TaskIdOf(array.id, array.tasks->next() - 1);
  const Job* task = jobs.FindAtOrAbove(TaskIdOf(array.id, 0));
  while (task != nullptr && task->id <= last) {
    if (task->phase == JobPhase::kPending) return task;
    task = jobs.FindAtOrAbove(JobId(task->id.value() + 1));
  }
  return nullptr;
}

void AddArray(const Job& array, const JobTableView& jobs, const Plan& plan, Instant now,
              v1::Job* to) {
  const ArrayTasks& tasks = *array.tasks;
  *to->mutable_array() = StatusOf(tasks);
  if (IsTerminal(array.phase) || to->pending_reason() == v1::PENDING_REASON_DEPENDENCY) return;
  if (tasks.has_begun()) {
    to->set_state(v1::JOB_STATE_RUNNING);
    to->clear_pending_reason();
    to->clear_pending_text();
    return;
  }
  if (array.is_held) return;  // said already
  to->set_pending_reason(v1::PENDING_REASON_NOT_PLANNED_YET);
  to->set_pending_text("accepted; the next planning pass looks at its first tasks");
  const Job* first = FirstWaiting(array, jobs);
  if (first == nullptr) return;
  const v1::Job waiting = ToProto(*first, plan, now);
  to->set_pending_reason(waiting.pending_reason());
  to->set_pending_text(absl::StrCat("its first task: ", waiting.pending_text()));
}

std::string ExplainLater(const TaskPlace& task, const JobTableView& jobs) {
  const Job& array = *task.array;
  const ArrayTasks& tasks = *array.tasks;
  const Dependency* open = FindOpenDependency(jobs, array);
  if (open != nullptr) return ExplainDependency(jobs, *open);
  if (array.is_held) {
    return absl::StrCat("array ", array.id.value(), " is held; `pipefill release ",
                        array.id.value(), "` lets it start");
  }
  const int32_t throttle = array.spec->array->throttle;
  return absl::StrCat(
      task.place - tasks.next(), " tasks of array ", array.id.value(), " come before it; ",
      tasks.in_flight() - tasks.waiting(), " run and ", tasks.waiting(), " wait for a device",
      throttle == 0 ? "" : absl::StrCat(", at most ", throttle, " at the same time"));
}

}  // namespace

ArraySpec FromProto(const v1::ArraySpec& from) {
  ArraySpec to;
  to.throttle = from.throttle();
  to.ranges.reserve(static_cast<size_t>(from.ranges_size()));
  for (const v1::IndexRange& range : from.ranges()) {
    to.ranges.push_back({range.first(), range.last(), range.step() == 0 ? 1 : range.step()});
  }
  return to;
}

std::vector<Dependency> DependenciesOf(const v1::JobSpec& from) {
  std::vector<Dependency> to;
  to.reserve(static_cast<size_t>(from.dependencies_size()));
  for (const v1::Dependency& dependency : from.dependencies()) {
    DependencyCondition condition = DependencyCondition::kOk;
    if (dependency.condition() == v1::DEPENDENCY_CONDITION_ANY) {
      condition = DependencyCondition::kAny;
    } else if (dependency.condition() == v1::DEPENDENCY_CONDITION_NOT_OK) {
      condition = DependencyCondition::kNotOk;
    }
    to.push_back({JobId(dependency.job_id()), condition});
  }
  return to;
}

v1::ArraySpec ToProto(const ArraySpec& from) {
  v1::ArraySpec to;
  to.set_throttle(from.throttle);
  for (const IndexRange& range : from.ranges) {
    v1::IndexRange* added = to.add_ranges();
    added->set_first(range.first);
    added->set_last(range.last);
    added->set_step(range.step);
  }
  return to;
}

v1::Dependency ToProto(const Dependency& from) {
  v1::Dependency to;
  to.set_job_id(from.job.value());
  switch (from.condition) {
    case DependencyCondition::kOk:
      to.set_condition(v1::DEPENDENCY_CONDITION_OK);
      break;
    case DependencyCondition::kAny:
      to.set_condition(v1::DEPENDENCY_CONDITION_ANY);
      break;
    case DependencyCondition::kNotOk:
      to.set_condition(v1::DEPENDENCY_CONDITION_NOT_OK);
      break;
  }
  return to;
}

void AddTies(const Job& job, const JobTableView& jobs, const Plan& plan, Instant now, v1::Job* to) {
  to->set_array_id(job.array_of.value());
  to->set_array_index(job.array_index);
  const Dependency* open =
      job.phase == JobPhase::kPending ? FindOpenDependency(jobs, job) : nullptr;
  if (open != nullptr) {
    to->set_pending_reason(v1::PENDING_REASON_DEPENDENCY);
    to->set_pending_text(ExplainDependency(jobs, *open));
  }
  if (job.is_array()) AddArray(job, jobs, plan, now, to);
}

v1::Job ToProto(const TaskPlace& task, const JobTableView& jobs) {
  const Job& array = *task.array;
  v1::Job to;
  to.set_id(TaskIdOf(array.id, task.place).value());
  *to.mutable_spec() = ToProto(*array.spec);
  to.set_array_id(array.id.value());
  to.set_array_index(task.index());
  to.set_memory_bytes(array.memory_bytes);
  to.set_submitted_unix_ns(absl::ToUnixNanos(array.submitted_at));
  switch (task.result()) {
    case TaskResult::kNone:
      to.set_state(v1::JOB_STATE_PENDING);
      to.set_pending_reason(FindOpenDependency(jobs, array) == nullptr
                                ? v1::PENDING_REASON_ARRAY_THROTTLE
                                : v1::PENDING_REASON_DEPENDENCY);
      to.set_pending_text(ExplainLater(task, jobs));
      return to;
    case TaskResult::kSucceeded:
      to.set_state(v1::JOB_STATE_SUCCEEDED);
      break;
    case TaskResult::kFailed:
      to.set_state(v1::JOB_STATE_FAILED);
      break;
    case TaskResult::kCancelled:
      to.set_state(v1::JOB_STATE_CANCELLED);
      to.set_end_text("cancelled; it has no record");
      return to;
  }
  to.set_end_text("its record has left the history; only how it ended is known");
  return to;
}

}  // namespace pipefill::scheduler
