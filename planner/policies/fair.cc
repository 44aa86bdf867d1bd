#include "planner/policies/fair.h"

namespace pipefill {

Score FairPolicy::ScoreJob(const PendingJob& /*job*/, const TenantSnapshot& tenant) const {
  return {-tenant.used_seconds / tenant.weight};
}

}  // namespace pipefill
