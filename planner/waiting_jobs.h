// The jobs that a StandingPlanner knows to wait: per tenant, sorted by priority and score, and
// those that wait after a failed attempt.
//
//   Set ---> backing off ---Wake---> in line
//      \------------------------------^
//
// Thread-compatible.
#ifndef PLANNER_WAITING_JOBS_H_
#define PLANNER_WAITING_JOBS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "planner/policy.h"
#include "planner/score_lead.h"
#include "planner/snapshot.h"
#include "planner/sorted_chunks.h"

namespace pipefill {

class WaitingJobs {
 public:
  struct Known {
    PendingJob job;
    Score score;              // for a tenant that has used nothing
    bool is_in_line = false;  // if not, it is backing off
  };
  struct Entry {
    int64_t value = 0;  // less what it needs; kAlways if it must be looked at
    ScoreLead lead;
    int32_t priority = 0;
    JobId id;
    const Known* known = nullptr;
  };
  struct Before {
    bool operator()(const Entry& a, const Entry& b) const;
  };
  using Line = SortedChunks<Entry, Before>;

  // More than any bound.
  static constexpr int64_t kAlways = std::numeric_limits<int64_t>::max();

  // Replaces what was known of the job.
  void Set(PendingJob job, const Policy& policy);
  // No effect if it is not known.
  void Remove(JobId id);
  // Scores all of them again.
  void SetPolicy(const Policy& policy);

  // Ends the back-off of those that have waited long enough.
  void Wake(Instant now);
  // Forgets reservations that have expired; such a job may have to back off again.
  void DropReservations(Instant now, const Policy& policy);

  size_t size() const { return jobs_.size(); }
  const PendingJob* Find(JobId id) const;
  const Known* FindInLine(JobId id) const;
  // By tenant; none is empty.
  const absl::btree_map<std::string, Line>& lines() const { return lines_; }
  // Those with a reservation, expired or not.
  const absl::btree_set<JobId>& reserved() const { return reserved_; }
  // nullopt if none backs off.
  std::optional<Instant> next_wake() const;
  // nullopt if there are none, for all three.
  std::optional<JobId> last_id() const;
  std::optional<int32_t> highest_priority() const;

 private:
  static Entry EntryOf(const Known& known);
  void Enter(Known* known);

  absl::flat_hash_map<JobId, std::unique_ptr<Known>> jobs_;
  absl::btree_set<JobId> ids_;
  absl::btree_map<std::string, Line> lines_;
  // By when that ends.
  absl::btree_set<std::pair<Instant, JobId>> backing_off_;
  absl::btree_set<JobId> reserved_;
  absl::btree_map<int32_t, size_t> priorities_;
};

}  // namespace pipefill

#endif  // PLANNER_WAITING_JOBS_H_
