#include "planner/feasibility.h"

#include <algorithm>

namespace pipefill {
namespace {

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

// Of the devices that would take the job if their bubbles did, the one with the longest units.
void NameBestRoom(const PendingJob& job, const std::vector<DeviceSnapshot>& devices,
                  PendingReason* reason) {
  const DeviceSnapshot* best = nullptr;
  for (const DeviceSnapshot& device : devices) {
    const bool is_open = IsOpen(device) && job.memory_bytes <= device.memory_free_bytes;
    if (!is_open || FitsBubbles(job, device)) continue;
    if (best == nullptr || device.room->longest_unit_ns > best->room->longest_unit_ns) {
      best = &device;
    }
  }
  if (best == nullptr) return;
  reason->code = PendingCode::kNoBubbleFits;
  reason->best_device = best->key;
  reason->best_room = *best->room;
  reason->need_unit = ClosestNeed(job, *best->room);
}

// Fills in the numbers of one device that has a main job to fill. Ties go to the first device.
void CountFilledDevice(const DeviceSnapshot& device, PendingReason* reason) {
  const bool is_first = reason->devices_filled == 0;
  ++reason->devices_filled;
  reason->resident += device.resident;
  reason->resident_limit += device.resident_limit;
  if (is_first || device.memory_bytes > reason->largest_bytes) {
    reason->largest_bytes = device.memory_bytes;
    reason->largest_device = device.key;
  }
  if (!device.has_seat()) return;
  if (reason->best_device == DeviceKey{} || device.memory_free_bytes > reason->best_free_bytes) {
    reason->best_free_bytes = device.memory_free_bytes;
    reason->best_device = device.key;
  }
}

PendingCode ChooseCode(const PendingReason& reason) {
  if (reason.devices == 0) return PendingCode::kNoAgent;
  if (reason.devices_filled == 0) return PendingCode::kNoMainJob;
  if (reason.best_device == DeviceKey{}) return PendingCode::kResidentLimit;
  return PendingCode::kMemory;
}

}  // namespace

bool IsOpen(const DeviceSnapshot& device) {
  return device.main_job == MainJobUse::kFilled && device.has_seat();
}

bool FitsBubbles(const PendingJob& job, const DeviceSnapshot& device) {
  if (job.needs == nullptr || !device.room.has_value()) return true;
  return std::any_of(job.needs->begin(), job.needs->end(), [&](const UnitNeed& need) {
    return FitsRoom(need, *device.room, job.memory_bytes);
  });
}

bool Fits(const PendingJob& job, const DeviceSnapshot& device) {
  return IsOpen(device) && job.memory_bytes <= device.memory_free_bytes && FitsBubbles(job, device);
}

bool IsBackingOff(const PendingJob& job, Instant now) {
  return job.not_before.has_value() && now < *job.not_before;
}

PendingReason ExplainWaiting(const PendingJob& job, const std::vector<DeviceSnapshot>& devices,
                             Instant now) {
  PendingReason reason;
  reason.need_bytes = job.memory_bytes;
  if (IsBackingOff(job, now)) {
    reason.code = PendingCode::kBackOff;
    reason.not_before = job.not_before;
    return reason;
  }
  for (const DeviceSnapshot& device : devices) {
    ++reason.devices;
    if (device.main_job == MainJobUse::kMeasured) ++reason.devices_measured;
    if (device.main_job == MainJobUse::kFilled) CountFilledDevice(device, &reason);
  }
  reason.code = ChooseCode(reason);
  if (reason.code == PendingCode::kMemory) NameBestRoom(job, devices, &reason);
  return reason;
}

}  // namespace pipefill
