#include "scheduler/core/tenant_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace pipefill::scheduler {

TenantTable::TenantTable(const std::vector<TenantLimits>& tenants, absl::Duration half_life)
    : half_life_(half_life) {
  for (const TenantLimits& tenant : tenants) {
    limits_[tenant.name] = tenant;
    accounts_[tenant.name];
  }
}

absl::Status TenantTable::CheckSubmission(const std::string& tenant, int64_t jobs) const {
  if (!limits_.empty() && !limits_.contains(tenant) && tenant != kDefaultTenant) {
    std::string known;
    for (const auto& [name, limits] : limits_) {
      absl::StrAppend(&known, known.empty() ? "" : ", ", name);
    }
    return absl::InvalidArgumentError(absl::StrCat("spec.tenant: there is no tenant \"", tenant,
                                                   "\"; known: ", known, ", ", kDefaultTenant));
  }
  const TenantLimits limits = LimitsOf(tenant);
  auto account = accounts_.find(tenant);
  const int64_t pending = account == accounts_.end() ? 0 : account->second.pending;
  if (limits.pending_max == 0 || pending + jobs <= limits.pending_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "tenant ", tenant, " has ", pending, " jobs waiting, and may have ", limits.pending_max,
      "; wait for some to start, or raise its "
      "pending_max in the configuration"));
}

void TenantTable::AddPending(const std::string& tenant, int64_t change) {
  accounts_[tenant].pending += change;
}

void TenantTable::AddResident(const std::string& tenant, int32_t change) {
  accounts_[tenant].resident += change;
}

void TenantTable::AddLiveUse(const std::string& tenant, int64_t change_ns) {
  accounts_[tenant].live_ns += change_ns;
}

void TenantTable::AddUse(const std::string& tenant, int64_t used_ns, absl::Time wall) {
  Account& account = accounts_[tenant];
  // Nothing grows old: a snapshot, which leaves such accounts out, must not make a difference.
  if (account.used_ns == 0) account.at = wall;
  account.used_ns = UsedNs(account, wall) + static_cast<double>(used_ns);
  account.at = std::max(account.at, wall);
}

std::vector<TenantUsed> TenantTable::Used() const {
  std::vector<TenantUsed> used;
  for (const auto& [name, account] : accounts_) {
    if (account.used_ns != 0) used.push_back({name, account.used_ns, account.at});
  }
  return used;
}

void TenantTable::Restore(const TenantUsed& used) {
  Account& account = accounts_[used.name];
  account.used_ns = used.used_ns;
  account.at = used.at;
}

TenantMap TenantTable::Snapshot(absl::Time wall) const {
  TenantMap tenants;
  for (const auto& [name, account] : accounts_) {
    const TenantLimits limits = LimitsOf(name);
    const double used_ns = UsedNs(account, wall) + static_cast<double>(account.live_ns);
    tenants[name] = {.weight = limits.weight,
                     .used_seconds = used_ns * 1e-9,
                     .resident = account.resident,
                     .resident_max = limits.resident_max,
                     .may_borrow = limits.may_borrow};
  }
  return tenants;
}

std::vector<TenantUse> TenantTable::List(absl::Time wall) const {
  std::vector<TenantUse> uses;
  for (const auto& [name, account] : accounts_) {
    uses.push_back({LimitsOf(name),
                    (UsedNs(account, wall) + static_cast<double>(account.live_ns)) * 1e-9,
                    account.resident, account.pending});
  }
  return uses;
}

TenantLimits TenantTable::LimitsOf(const std::string& tenant) const {
  auto it = limits_.find(tenant);
  if (it != limits_.end()) return it->second;
  TenantLimits limits;
  limits.name = tenant;
  return limits;
}

double TenantTable::UsedNs(const Account& account, absl::Time wall) const {
  if (account.used_ns == 0) return 0;
  // A wall clock may be set back.
  const absl::Duration age = std::max(wall - account.at, absl::ZeroDuration());
  return account.used_ns * std::exp2(-absl::FDivDuration(age, half_life_));
}

}  // namespace pipefill::scheduler
