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

bool FitsRoom(const UnitNeed& need, const BubbleRoom& room, int64_t cap_bytes) {
  return need.unit_ns <= room.longest_unit_ns &&
         need.resident_bytes <= std::min(room.least_bytes, cap_bytes) &&
         need.peak_bytes <= std::min(room.most_bytes, cap_bytes);
}

// The need that fits the memory of `room` and has the shortest units; if none fits it, the one that
// needs least.
const UnitNeed& ClosestNeed(const PendingJob& job, const BubbleRoom& room) {
  const auto fits_memory = [&](const UnitNeed& need) {
    return FitsRoom({0, need.resident_bytes, need.peak_bytes}, room, job.memory_bytes);
  };
  return *std::min_element(
      job.needs->begin(), job.needs->end(), [&](const UnitNeed& a, const UnitNeed& b) {
        if (fits_memory(a) != fits_memory(b)) return fits_memory(a);
        return fits_memory(a) ? a.unit_ns < b.unit_ns : a.peak_bytes < b.peak_bytes;
      });
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

bool FitsBubbles(const PendingJob& job, const DeviceSnapshot& device) {
  if (job.needs == nullptr || !device.room.has_value()) return true;
  return std::any_of(job.needs->begin(), job.needs->end(), [&](const UnitNeed& need) {
    return FitsRoom(need, *device.room, job.memory_bytes);
  });
}

bool Fits(const PendingJob& job, const DeviceSnapshot& device) {
  const bool is_own =
      device.held_seats > 0 && job.reserved.has_value() && job.reserved->device == device.key;
  const int64_t free_bytes =
      is_own ? FreeBytesBeside(device, 1, job.memory_bytes) : FreeBytes(device);
  return job.memory_bytes <= free_bytes && FitsBubbles(job, device);
}

bool IsBackingOff(const PendingJob& job, Instant now) {
  return job.not_before.has_value() && now < *job.not_before;
}

bool HasReservation(const PendingJob& job, Instant now) {
  return job.reserved.has_value() && now < job.reserved->until;
}

void Hold(const PendingJob& job, DeviceSnapshot* device) {
  ++device->held_seats;
  device->held_bytes += job.memory_bytes;
}

void HoldReservations(ClusterSnapshot* snapshot) {
  for (const PendingJob& job : snapshot->pending) {
    if (!HasReservation(job, snapshot->now)) continue;
    for (DeviceSnapshot& device : snapshot->devices) {
      if (device.key == job.reserved->device) Hold(job, &device);
    }
  }
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

void NoteMisfit(const PendingJob& job, const DeviceSnapshot& device, Misfits* misfits) {
  if (job.memory_bytes > FreeBytes(device) || FitsBubbles(job, device)) return;
  const Misfit misfit{device.key, *device.room};
  auto [it, is_new] = misfits->try_emplace(JobNeed{job.needs, job.memory_bytes}, misfit);
  if (is_new) return;
  const int64_t known_ns = it->second.room.longest_unit_ns;
  const int64_t unit_ns = misfit.room.longest_unit_ns;
  const bool is_better =
      unit_ns > known_ns || (unit_ns == known_ns && misfit.device < it->second.device);
  if (is_better) it->second = misfit;
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
  const auto misfit = plan.misfits.find(JobNeed{job.needs, job.memory_bytes});
  if (reason.code == PendingCode::kMemory && misfit != plan.misfits.end()) {
    reason.code = PendingCode::kNoBubbleFits;
    reason.misfit = misfit->second;
    reason.need_unit = ClosestNeed(job, reason.misfit.room);
  }
  if (reason.code != PendingCode::kQuota) return reason;
  reason.tenant = job.tenant;
  reason.tenant_resident = tenant->second.resident;
  reason.tenant_resident_max = tenant->second.resident_max;
  return reason;
}

}  // namespace pipefill
