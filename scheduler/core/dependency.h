// Jobs that start only when others have ended.
//
// A job may depend only on jobs that exist when it is submitted, so there are no circles. Whether a
// dependency is open follows from the job that it names: it is while that job is not over. As that
// job ends, in the same event, its dependents are cancelled or have one less to wait for; hence the
// record of a job that is over is needed by nobody.
//
// Pure.
#ifndef SCHEDULER_CORE_DEPENDENCY_H_
#define SCHEDULER_CORE_DEPENDENCY_H_

#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/strings/string_view.h"
#include "common/ids.h"
#include "scheduler/core/job_machine.h"

namespace pipefill::scheduler {

enum class DependencyCondition { kOk, kAny, kNotOk };

struct Dependency {
  JobId job;
  DependencyCondition condition = DependencyCondition::kOk;

  friend bool operator==(const Dependency&, const Dependency&) = default;
};

// That job ended otherwise than it should have.
struct LostDependency {
  JobId job;
  JobPhase phase = JobPhase::kFailed;

  friend bool operator==(const LostDependency&, const LostDependency&) = default;
};

// REQUIRES: the phase is terminal.
bool Holds(DependencyCondition condition, JobPhase phase);
// "after-ok", as users write it.
absl::string_view ConditionName(DependencyCondition condition);

// Who depends on whom: an end touches those that depend on it, and nobody else.
//
// Thread-compatible.
class DependentTable {
 public:
  void Add(JobId job, const std::vector<Dependency>& dependencies);
  void Remove(JobId job, const std::vector<Dependency>& dependencies);
  // In the order of their ids.
  std::vector<JobId> DependentsOf(JobId job) const;

 private:
  // What it depends on, the job.
  absl::btree_set<std::pair<JobId, JobId>> pairs_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_DEPENDENCY_H_
