// How jobs hang together: tasks with their array, jobs with those that they depend on.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_TIES_H_
#define SCHEDULER_CORE_JOB_TIES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "scheduler/core/dependency.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_control.h"
#include "scheduler/core/job_table.h"

namespace pipefill::scheduler {

inline constexpr size_t kDependenciesMax = 100;

// Of a submission. NotFound: it depends on a job that is not known, or not any more;
// InvalidArgument: on too many, or its array cannot be.
absl::Status CheckTies(const JobTableView& jobs, const JobSpec& spec);

// The first job that `job` waits for; nullptr if it waits for none.
const Dependency* FindOpenDependency(const JobTableView& jobs, const Job& job);
// What it depends on and will never be as it should; nullopt if all may still be.
std::optional<LostDependency> FindLostDependency(const JobTableView& jobs, const JobSpec& spec);

// "waits for job 12 (running), which has to succeed"
std::string ExplainDependency(const JobTableView& jobs, const Dependency& dependency);
// "job 12, which had to succeed, failed"
std::string ExplainLostDependency(const Job& job);

// A task of an array by its id, whether or not it has a record.
struct TaskPlace {
  const Job* array = nullptr;
  int64_t place = 0;

  TaskResult result() const { return array->tasks->ResultAt(place); }
  int32_t index() const { return array->spec->array->IndexAt(place); }
};
// nullopt if no known array has set that id aside.
std::optional<TaskPlace> FindTask(const JobTableView& jobs, JobId id);

// FailedPrecondition: the task is over.
absl::Status CheckCancelTask(const TaskPlace& task);
// What a cancellation does to a task that is no job, or none any more.
JobOutcome OutcomeOfLaterCancel(JobId id, const TaskPlace& task);

// Whether the job, which is pending, stands in line for a device: it is no array, and depends on
// nothing that is open. Aborted.
absl::Status CheckInLine(const JobTableView& jobs, const Job& job);
bool IsInLine(const JobTableView& jobs, const Job& job);

// As users see it: an array runs once a task of it has begun.
JobPhase ShownPhase(const Job& job);

// Tasks at the places [first, end) that have not ended. REQUIRES: places of the array.
int64_t OpenTasksIn(const Job& array, int64_t first, int64_t end);
// How many tasks the array may admit now, as far as its own limits go.
int64_t TasksDue(const JobTableView& jobs, const Job& array, int64_t window);
// NotFound; Aborted: it cannot admit those.
absl::Status CheckAdmission(const JobTableView& jobs, const ArrayAdmitted& event);
// DataLoss: a task that is under way has no record, or an array has ids that were never given.
absl::Status CheckArrays(const JobTableView& jobs, const absl::btree_set<JobId>& open_arrays,
                         JobId next_job_id);

// Ended tasks that have a record, by array: of those that are too many the ones that succeeded
// leave first, the oldest before the others.
//
// Thread-compatible.
class TaskHistory {
 public:
  // `kept_max`: for one array.
  explicit TaskHistory(int64_t kept_max) : kept_max_(kept_max) {}

  // REQUIRES: `task` is over.
  void Add(const Job& task);
  void Remove(const Job& task);
  // Those that are too many.
  const absl::btree_set<JobId>& surplus() const { return surplus_; }

 private:
  using Rank = std::pair<bool, JobId>;  // whether it stays longer

  static Rank RankOf(const Job& task);

  const int64_t kept_max_;
  absl::btree_map<JobId, absl::btree_set<Rank>> kept_;
  absl::btree_set<JobId> surplus_;
};

// What is kept of all this beside the jobs, to find it fast. Follows from the jobs.
struct JobTies {
  explicit JobTies(int64_t history_max) : history(history_max) {}

  DependentTable dependents;
  TaskHistory history;
  absl::btree_set<JobId> open_arrays;  // that are not over
  absl::btree_set<JobId> due_arrays;   // that may admit tasks
  // Jobs that have ended, and tasks that ended before they were jobs, since the loop asked. What
  // the ends of the first `settled` ones lead to has been applied.
  std::vector<JobId> ended_now;
  size_t settled = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_TIES_H_
