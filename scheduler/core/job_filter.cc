#include "scheduler/core/job_filter.h"

#include <algorithm>
#include <iterator>

#include "scheduler/core/job_ties.h"

namespace pipefill::scheduler {

bool JobFilter::Takes(const Job& job) const {
  if (!phases.empty() && std::find(phases.begin(), phases.end(), ShownPhase(job)) == phases.end()) {
    return false;
  }
  if (is_held_only && (!job.is_held || IsTerminal(job.phase))) return false;
  if (!tenant.empty() && job.spec->tenant != tenant) return false;
  if (!name.empty() && job.spec->name != name) return false;
  return selector.Takes(job.spec->labels);
}

std::vector<JobPhase> ActivePhases() {
  std::vector<JobPhase> phases;
  std::copy_if(kAllJobPhases.begin(), kAllJobPhases.end(), std::back_inserter(phases),
               [](JobPhase phase) { return !IsTerminal(phase); });
  return phases;
}

}  // namespace pipefill::scheduler
