#include "planner/feasibility.h"

#include <algorithm>

namespace pipefill {
namespace {

// Expected of a task until its first report comes in.
constexpr double kUsedSecondsFirst = 10;

struct Leaving {
  int seats = 0;
  int64_t bytes = 0;
};

Leaving LeavingOf(const DeviceSnapshot& device) {
  Leaving leaving;
  for (const ResidentTask& task : device.residents) {
    if (!task.is_leaving) continue;
    ++leaving.seats;
    leaving.bytes += task.memory_bytes;
  }
  return leaving;
}

// As FreeBytes, where `own` of what is reserved is the job's own.
int64_t FreeBytesBeside(const DeviceSnapshot& device, int own_seats, int64_t own_bytes) {
  if (!IsOpen(device)) return -1;
  const int held_seats = device.held_seats - own_seats;
  if (held_seats <= 0) return device.memory_free_bytes;
  const Leaving leaving = LeavingOf(device);
  if (device.resident - leaving.seats + held_seats >= device.resident_limit) return -1;
  const int64_t later_bytes =
      device.memory_free_bytes + leaving.bytes - (device.held_bytes - own_bytes);
  return std::max<int64_t>(-1, std::min(device.memory_free_bytes, later_bytes));
}

PendingCode ChooseCode(const PendingReason& reason, bool is_tenant_full) {
  const PlanNumbers& numbers = reason.numbers;
  if (numbers.devices == 0) return PendingCode::kNoAgent;
  if (numbers.devices_filled == 0) return PendingCode::kNoMainJob;
  if (reason.need_bytes > numbers.largest_bytes) return PendingCode::kInfeasible;
  if (numbers.devices_quarantined == numbers.devices_filled) return PendingCode::kQuarantine;
  if (is_tenant_full) return PendingCode::kQuota;
  if (numbers.best_device == DeviceKey{}) return PendingCode::kResidentLimit;
  return PendingCode::kMemory;
}

}  // namespace

bool IsOpen(const DeviceSnapshot& device) {
  return device.main_job == MainJobUse::kFilled && !device.is_quarantined && device.has_seat();
}

int64_t FreeBytes(const DeviceSnapshot& device) { return FreeBytesBeside(device, 0, 0); }

bool Fits(const PendingJob& job, const DeviceSnapshot& device) {
  const bool is_own =
      device.held_seats > 0 && job.reserved.has_value() && job.reserved->device == device.key;
  const int64_t free_bytes =
      is_own ? FreeBytesBeside(device, 1, job.memory_bytes) : FreeBytes(device);
  return job.memory_bytes <= free_bytes;
}

bool IsBackingOff(const PendingJob& job, Instant now) {
  return job.not_before.has_value() && now < *job.not_before;
}

bool HasReservation(const PendingJob& job, Instant now) {
  return job.reserved.has_value() && now < job.reserved->until;
}

void PutOn(const PendingJob& job, DeviceSnapshot* device) {
  const double share = std::max(device->bubble_share - device->filled_share,
                                device->bubble_share / (1 + device->resident));
  device->filled_share = std::min(device->bubble_share, device->filled_share + share);
  device->load_seconds += job.seconds_left.value_or(0);
  ++device->resident;
  device->memory_free_bytes -= job.memory_bytes;
}

void CountFor(TenantSnapshot* tenant) {
  ++tenant->resident;
  tenant->used_seconds += kUsedSecondsFirst;
}

void AddDevice(const DeviceSnapshot& device, PlanNumbers* numbers) {
  ++numbers->devices;
  if (device.main_job == MainJobUse::kMeasured) ++numbers->devices_measured;
  if (device.main_job != MainJobUse::kFilled) return;
  const bool is_first = numbers->devices_filled == 0;
  ++numbers->devices_filled;
  if (device.is_quarantined) ++numbers->devices_quarantined;
  numbers->resident += device.resident;
  numbers->resident_limit += device.resident_limit;
  if (is_first || device.memory_bytes > numbers->largest_bytes) {
    numbers->largest_bytes = device.memory_bytes;
    numbers->largest_device = device.key;
  }
  const int64_t free_bytes = FreeBytes(device);
  if (free_bytes < 0) return;
  if (numbers->best_device == DeviceKey{} || free_bytes > numbers->best_free_bytes) {
    numbers->best_free_bytes = free_bytes;
    numbers->best_device = device.key;
  }
}

PendingReason ExplainWaiting(const PendingJob& job, const Plan& plan, Instant now) {
  PendingReason reason;
  reason.need_bytes = job.memory_bytes;
  if (IsBackingOff(job, now)) {
    reason.code = PendingCode::kBackOff;
    reason.not_before = job.not_before;
    return reason;
  }
  reason.numbers = plan.numbers;
  if (HasReservation(job, now)) {
    reason.code = PendingCode::kReserved;
    reason.reserved = job.reserved;
    return reason;
  }
  const auto tenant = plan.tenants.find(job.tenant);
  const bool is_full = tenant != plan.tenants.end() && tenant->second.is_full();
  reason.code = ChooseCode(reason, is_full);
  if (reason.code != PendingCode::kQuota) return reason;
  reason.tenant = job.tenant;
  reason.tenant_resident = tenant->second.resident;
  reason.tenant_resident_max = tenant->second.resident_max;
  return reason;
}

}  // namespace pipefill
