#include "scheduler/core/dependency.h"

namespace pipefill::scheduler {

bool Holds(DependencyCondition condition, JobPhase phase) {
  switch (condition) {
    case DependencyCondition::kOk:
      return phase == JobPhase::kSucceeded;
    case DependencyCondition::kAny:
      return true;
    case DependencyCondition::kNotOk:
      return phase != JobPhase::kSucceeded;
  }
  return false;
}

absl::string_view ConditionName(DependencyCondition condition) {
  switch (condition) {
    case DependencyCondition::kOk:
      return "after-ok";
    case DependencyCondition::kAny:
      return "after-any";
    case DependencyCondition::kNotOk:
      return "after-not-ok";
  }
  return "";
}

void DependentTable::Add(JobId job, const std::vector<Dependency>& dependencies) {
  for (const Dependency& dependency : dependencies) pairs_.emplace(dependency.job, job);
}

void DependentTable::Remove(JobId job, const std::vector<Dependency>& dependencies) {
  for (const Dependency& dependency : dependencies) pairs_.erase({dependency.job, job});
}

std::vector<JobId> DependentTable::DependentsOf(JobId job) const {
  std::vector<JobId> dependents;
  for (auto it = pairs_.lower_bound({job, JobId(0)}); it != pairs_.end() && it->first == job;
       ++it) {
    dependents.push_back(it->second);
  }
  return dependents;
}

}  // namespace pipefill::scheduler
