// What people are told about plans: tenants, and why a job waits.
#include "scheduler/convert/convert.h"

namespace pipefill::scheduler {

v1::TenantStatus ToProto(const TenantUse& from) {
  v1::TenantStatus to;
  to.set_name(from.limits.name);
  to.set_weight(from.limits.weight);
  to.set_used_seconds(from.used_seconds);
  to.set_resident(from.resident);
  to.set_resident_max(from.limits.resident_max);
  to.set_pending(from.pending);
  to.set_pending_max(from.limits.pending_max);
  to.set_borrow(from.limits.may_borrow);
  return to;
}

v1::PendingDetail ToProto(const WaitDetail& from) {
  v1::PendingDetail to;
  to.set_rule(from.rule);
  to.set_need_bytes(from.need_bytes);
  to.set_have_bytes(from.have_bytes);
  to.set_nearest_node(from.nearest.node);
  to.set_nearest_device(from.nearest.name);
  to.set_place(static_cast<int64_t>(from.place));
  to.set_waiting(static_cast<int64_t>(from.waiting));
  for (const std::string& line : from.help) to.add_help(line);
  return to;
}

}  // namespace pipefill::scheduler
