// What the state of schedulerd is bound by, and what it is handed out as, in whole and in part.
//
// Pure.
#ifndef SCHEDULER_CORE_CLUSTER_PARTS_H_
#define SCHEDULER_CORE_CLUSTER_PARTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "planner/snapshot.h"
#include "scheduler/core/job_machine.h"
#include "scheduler/core/job_table.h"
#include "scheduler/core/main_job_table.h"
#include "scheduler/core/profile_book.h"
#include "scheduler/core/refusal_table.h"
#include "scheduler/core/tenant_table.h"

namespace pipefill::scheduler {

struct ClusterLimits {
  // Jobs that the store may hold, ended ones included.
  int64_t jobs_max = 1'000'000;
  // How long, by the wall clock, and how many jobs are known after their end.
  absl::Duration history_keep = absl::Hours(720);
  int64_t history_jobs_max = 500'000;
  // Main jobs for which something may be set. An agent is told all of it as it dials in, so this
  // must stay well below what a stream queues.
  size_t main_jobs_max = 512;
  // A node that was heard of within this time is alive: another agent may not take its name.
  absl::Duration agent_lease = absl::Seconds(10);
  // Silence after which an agent is given up, and after which an attempt that it does not name is.
  absl::Duration agent_lost_after = absl::Seconds(15);
  BackOff back_off;
  std::vector<TenantLimits> tenants = {};
  // After which used device time counts half, between tenants.
  absl::Duration fair_half_life = absl::Hours(1);
  RefusalLimits refusals = {};
  // How long a place is kept for the job that tasks were evicted for.
  absl::Duration eviction_hold = absl::Seconds(30);
  // Tasks of one array that wait as jobs, and ended ones that keep a record.
  int64_t array_window = 256;
  int64_t array_history_max = 1'000;
};

// What has changed, as far as plans are concerned, since it was last asked for.
struct PlanChanges {
  absl::flat_hash_set<std::string> nodes;  // all about them
  absl::flat_hash_set<DeviceKey> devices;  // of any nodes: the tasks there
  absl::flat_hash_set<JobId> jobs;
};

struct JobCounts {
  int64_t pending = 0;
  int64_t held = 0;     // of the pending ones
  int64_t running = 0;  // with a live attempt
  int64_t ended = 0;
  int64_t arrays = 0;  // not over; their tasks are among the above
};

// The durable state at one moment; never changes.
struct DurableState {
  JobTableView jobs;
  JobId next_job_id;
  Fence last_fence;
  std::shared_ptr<const MainJobMap> main_jobs;
  std::vector<TenantUsed> tenants;
  std::vector<ProfileBook::Record> profiles;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_CLUSTER_PARTS_H_
