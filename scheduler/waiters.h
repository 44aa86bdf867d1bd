// The calls that wait for jobs to end.
//
// Thread-compatible: belongs to the scheduler loop.
#ifndef SCHEDULER_WAITERS_H_
#define SCHEDULER_WAITERS_H_

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "common/ids.h"
#include "scheduler/message.h"

namespace pipefill::scheduler {

class Waiters {
 public:
  using Answer = std::function<void(absl::Status)>;

  explicit Waiters(size_t limit) : limit_(limit) {}

  // ResourceExhausted if too many wait already; `answer` is then dropped.
  absl::Status Add(WaitId wait, JobId job, Answer answer);
  // Takes out the answers of all that wait for `job`, in the order in which they came.
  std::vector<Answer> TakeAll(JobId job);
  // Takes out one; nullptr if it has been answered.
  Answer Take(WaitId wait);

  size_t size() const { return jobs_.size(); }

 private:
  const size_t limit_;
  absl::btree_map<std::pair<JobId, WaitId>, Answer> answers_;
  absl::btree_map<WaitId, JobId> jobs_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_WAITERS_H_
