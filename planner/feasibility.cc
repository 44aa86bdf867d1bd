#include "planner/feasibility.h"

namespace pipefill {
namespace {

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

bool Fits(const PendingJob& job, const DeviceSnapshot& device) {
  return IsOpen(device) && job.memory_bytes <= device.memory_free_bytes;
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
  return reason;
}

}  // namespace pipefill
