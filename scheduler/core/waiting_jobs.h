// The jobs that wait: those that may be placed, those that a user holds, and until when they must
// have started.
//
// Pure but for being the owner of its state. Thread-compatible.
#ifndef SCHEDULER_CORE_WAITING_JOBS_H_
#define SCHEDULER_CORE_WAITING_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

class WaitingJobs {
 public:
  // The job waits from now on, held or not as it says; it does not any more. An array is left out:
  // its tasks wait.
  void Add(const Job& job);
  void Remove(const Job& job);

  // That may be placed, in the order of their ids.
  const absl::btree_set<JobId>& open() const { return open_; }
  // All, and the held ones among them.
  int64_t size() const { return static_cast<int64_t>(open_.size() + held_.size()); }
  int64_t held() const { return static_cast<int64_t>(held_.size()); }

  // By the wall clock, when the next one must have started; nullopt = none must.
  std::optional<absl::Time> NextStartLimit() const;
  // Those that were to have started by `wall`, at most `limit`.
  std::vector<JobId> LateStarts(absl::Time wall, size_t limit) const;

 private:
  absl::btree_set<JobId> open_;
  absl::btree_set<JobId> held_;
  // Of both, those that have never started.
  absl::btree_set<std::pair<absl::Time, JobId>> start_limits_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_WAITING_JOBS_H_
