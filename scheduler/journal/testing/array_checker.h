// Follows all arrays of a state through a property test: each task is a job at most once and ends
// at most once, and none is forgotten.
//
// Thread-compatible.
#ifndef SCHEDULER_JOURNAL_TESTING_ARRAY_CHECKER_H_
#define SCHEDULER_JOURNAL_TESTING_ARRAY_CHECKER_H_

#include <rapidcheck.h>

#include <map>
#include <set>
#include <vector>

#include "common/ids.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_table.h"

namespace pipefill::scheduler {

class ArrayChecker {
 public:
  void OnAdmitted(JobId task) { RC_ASSERT(admitted_.insert(task).second); }

  // Call after each event.
  void Check(const JobTableView& jobs, JobId next_job_id) {
    for (JobId id(1); id < next_job_id; id = JobId(id.value() + 1)) {
      const Job* array = jobs.Find(id);
      if (array != nullptr && array->is_array()) CheckArray(jobs, *array);
    }
  }

 private:
  void CheckArray(const JobTableView& jobs, const Job& array) {
    const ArrayTasks& tasks = *array.tasks;
    std::vector<TaskResult>& results = results_[array.id];
    results.resize(static_cast<size_t>(tasks.size()));
    int64_t in_flight = 0;
    for (int64_t place = 0; place < tasks.size(); ++place) {
      const JobId task_id = TaskIdOf(array.id, place);
      const Job* task = jobs.Find(task_id);
      TaskResult& known = results[static_cast<size_t>(place)];
      RC_ASSERT(known == TaskResult::kNone || known == tasks.ResultAt(place));
      known = tasks.ResultAt(place);
      if (task == nullptr) {
        RC_ASSERT(known != TaskResult::kNone || place >= tasks.next());
        continue;
      }
      RC_ASSERT(admitted_.contains(task_id));
      RC_ASSERT(known == (IsTerminal(task->phase) ? ResultOf(task->phase) : TaskResult::kNone));
      in_flight += IsTerminal(task->phase) ? 0 : 1;
    }
    RC_ASSERT(in_flight == tasks.in_flight());
    RC_ASSERT(IsTerminal(array.phase) == tasks.is_over());
    const int32_t throttle = array.spec->array->throttle;
    RC_ASSERT(throttle == 0 || in_flight <= throttle);
  }

  std::map<JobId, std::vector<TaskResult>> results_;  // of arrays
  std::set<JobId> admitted_;                          // tasks
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_TESTING_ARRAY_CHECKER_H_
