// Which jobs a user means: by labels, tenant, name and phase.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_FILTER_H_
#define SCHEDULER_CORE_JOB_FILTER_H_

#include <string>
#include <vector>

#include "scheduler/core/job.h"
#include "scheduler/core/labels.h"

namespace pipefill::scheduler {

// What is empty takes all.
struct JobFilter {
  Selector selector = {};
  std::string tenant = {};
  std::string name = {};
  std::vector<JobPhase> phases = {};
  bool is_held_only = false;  // those that are over are not held

  bool Takes(const Job& job) const;
};

// That are not over.
std::vector<JobPhase> ActivePhases();

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_FILTER_H_
