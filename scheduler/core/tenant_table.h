// Tenants: their limits, as configured, and what they use.
//
// Use is useful device time (CPU time of units inside bubbles) of ended attempts, of which half
// counts after each half-life, and of live ones as last reported. Wall times order it, so that
// replay gives the same.
//
// Pure but for being the owner of its state. Thread-compatible.
#ifndef SCHEDULER_CORE_TENANT_TABLE_H_
#define SCHEDULER_CORE_TENANT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "planner/snapshot.h"

namespace pipefill::scheduler {

inline constexpr const char* kDefaultTenant = "default";

struct TenantLimits {
  std::string name;
  double weight = 1;         // > 0
  int32_t resident_max = 0;  // 0 = no limit
  int64_t pending_max = 0;   // 0 = no limit
  bool may_borrow = false;
};

// One tenant, for people.
struct TenantUse {
  TenantLimits limits;
  double used_seconds = 0;
  int32_t resident = 0;
  int64_t pending = 0;
};

// Use of ended attempts, as it is kept.
struct TenantUsed {
  std::string name;
  double used_ns = 0;  // as of `at`
  absl::Time at;

  friend bool operator==(const TenantUsed&, const TenantUsed&) = default;
};

class TenantTable {
 public:
  // With no tenants any name will do; else only theirs, and kDefaultTenant.
  TenantTable(const std::vector<TenantLimits>& tenants, absl::Duration half_life);

  // Whether so many more jobs of it may wait. InvalidArgument: no such tenant; the text lists them.
  // ResourceExhausted: they would be more than may.
  absl::Status CheckSubmission(const std::string& tenant, int64_t jobs = 1) const;

  // Changes of what there is of the tenant.
  void AddPending(const std::string& tenant, int64_t change);
  void AddResident(const std::string& tenant, int32_t change);
  void AddLiveUse(const std::string& tenant, int64_t change_ns);
  // An attempt has ended that used as much.
  void AddUse(const std::string& tenant, int64_t used_ns, absl::Time wall);

  // Of those that have used something, for a snapshot and back.
  std::vector<TenantUsed> Used() const;
  void Restore(const TenantUsed& used);

  // All that have a limit, a job or some use.
  TenantMap Snapshot(absl::Time wall) const;
  std::vector<TenantUse> List(absl::Time wall) const;

 private:
  struct Account {
    double used_ns = 0;  // as of `at`
    absl::Time at;
    int64_t live_ns = 0;
    int32_t resident = 0;
    int64_t pending = 0;
  };

  TenantLimits LimitsOf(const std::string& tenant) const;
  double UsedNs(const Account& account, absl::Time wall) const;

  absl::btree_map<std::string, TenantLimits> limits_;
  const absl::Duration half_life_;
  absl::btree_map<std::string, Account> accounts_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_TENANT_TABLE_H_
