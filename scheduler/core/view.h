// What is published for reading after each batch: a picture of the whole state that never changes.
// Whatever an answer tells a user is in the view that is published before it.
//
// Thread-safe: a view is never changed.
#ifndef SCHEDULER_CORE_VIEW_H_
#define SCHEDULER_CORE_VIEW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "planner/plan.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_filter.h"
#include "scheduler/core/job_table.h"
#include "scheduler/core/main_job_table.h"
#include "scheduler/core/node_table.h"
#include "scheduler/core/refusal_table.h"
#include "scheduler/core/tenant_table.h"

namespace pipefill::scheduler {

// How things are kept.
struct StoreView {
  int64_t journal_records = 0;  // that a restart would replay
  absl::Time snapshot_at = absl::InfinitePast();
  std::string refusing_text;  // why new jobs are refused; empty = they are not

  friend bool operator==(const StoreView&, const StoreView&) = default;
};

struct ClusterView {
  JobTableView jobs;
  // Never null.
  std::shared_ptr<const NodeMap> nodes = std::make_shared<const NodeMap>();
  // The latest one: why jobs wait. Never null.
  std::shared_ptr<const Plan> plan = std::make_shared<const Plan>();
  JobCounts counts;
  std::vector<TenantUse> tenants;
  // Never null. Some may have ended already.
  std::shared_ptr<const QuarantineMap> quarantines = std::make_shared<const QuarantineMap>();
  // Why the fallback plans; empty = the policy does.
  std::string policy_error;
  StoreView store;
  // Never null.
  std::shared_ptr<const MainJobMap> main_jobs = std::make_shared<const MainJobMap>();
};

// NotFound. Lives as long as the view.
absl::StatusOr<const Job*> FindJob(const ClusterView& view, JobId id);
// Whether the job, or the task of an array, which need not have a record, is over. NotFound.
absl::StatusOr<bool> IsOver(const ClusterView& view, JobId id);

struct JobPage {
  std::vector<const Job*> jobs;
  JobId next_cursor;  // 0 = no more
};
struct JobPageRequest {
  size_t limit = 100;  // > 0
  JobId cursor;        // 0 = from the newest; else next_cursor of the page before
  JobFilter filter = {};
  JobId array = {};  // only its tasks that have a record; 0 = all jobs but tasks of arrays
  // Jobs that are looked at for one page: a filter may take few of many.
  size_t looks_max = 50'000;
};
// Newest first.
JobPage ListJobs(const ClusterView& view, const JobPageRequest& request);
// The same, oldest first: `cursor` 0 = from the oldest.
JobPage ListJobsFromOldest(const ClusterView& view, const JobPageRequest& request);

// The devices of connected nodes as last reported, in device order; and their bubbles.
std::vector<Device> ListDevices(const ClusterView& view);
// Of one main job; of all if `main_job` is empty.
std::vector<BubbleStats> ListBubbles(const ClusterView& view, const std::string& main_job);
// Main jobs with a rank attached, or for which something was set, by name.
std::vector<MainJobSettings> ListMainJobs(const ClusterView& view);
std::vector<std::string> ListConnectedNodes(const ClusterView& view);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_VIEW_H_
