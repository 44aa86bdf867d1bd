// What the state of schedulerd is handed out as, in whole and in part.
//
// Pure.
#ifndef SCHEDULER_CORE_CLUSTER_PARTS_H_
#define SCHEDULER_CORE_CLUSTER_PARTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/ids.h"
#include "planner/snapshot.h"
#include "scheduler/core/job_table.h"
#include "scheduler/core/main_job_table.h"
#include "scheduler/core/profile_book.h"
#include "scheduler/core/tenant_table.h"

namespace pipefill::scheduler {

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
