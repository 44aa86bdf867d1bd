#include "scheduler/core/why.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/quantity.h"
#include "planner/eviction.h"
#include "planner/feasibility.h"
#include "scheduler/core/explain.h"

namespace pipefill::scheduler {
namespace {

constexpr int32_t kPriorityMax = 1000;

std::string NameOf(const DeviceKey& device) { return absl::StrCat(device.node, "/", device.name); }

// A task without which the job would fit.
struct Blocker {
  DeviceKey device;
  ResidentTask task;
};

bool FitsWithout(const PendingJob& job, DeviceSnapshot device, const ResidentTask& task) {
  --device.resident;
  device.memory_free_bytes += task.memory_bytes;
  std::erase_if(device.residents, [&](const ResidentTask& other) { return other.job == task.job; });
  return Fits(job, device);
}

// The one of the lowest priority; the first one of those.
std::optional<Blocker> FindBlocker(const PendingJob& job, const KnownDevices& devices) {
  std::optional<Blocker> lowest;
  for (const auto& [key, known] : devices.by_key()) {
    const DeviceSnapshot& device = known->device;
    for (const ResidentTask& task : device.residents) {
      if (lowest.has_value() && task.priority >= lowest->task.priority) continue;
      if (device.memory_free_bytes + task.memory_bytes < job.memory_bytes) continue;
      if (FitsWithout(job, device, task)) lowest = Blocker{key, task};
    }
  }
  return lowest;
}

std::string ExplainBlocker(const PendingJob& job, const Blocker& blocker, Instant now) {
  const ResidentTask& task = blocker.task;
  std::string text = absl::StrCat("job ", task.job.value(), " of priority ", task.priority,
                                  " holds the place on ", NameOf(blocker.device));
  if (task.is_leaving) return absl::StrCat(text, "; it is being stopped");
  if (task.priority >= job.priority) {
    if (task.priority >= kPriorityMax) return text;
    return absl::StrCat(text, "; with priority ", task.priority + 1,
                        " or more this job could take it");
  }
  if (!task.is_evictable) {
    return absl::StrCat(text, "; it has not started yet, or its user does not let it be evicted");
  }
  if (task.evictable_at <= now) return text;
  return absl::StrCat(text, "; it may be evicted in ",
                      pipefill::FormatDuration(task.evictable_at - now),
                      ", when it has run for its least time");
}

void AddMemoryHelp(const PendingReason& reason, WaitDetail* detail) {
  const PlanNumbers& numbers = reason.numbers;
  if (reason.code == PendingCode::kInfeasible) {
    detail->help.push_back(absl::StrCat("could run at all with ",
                                        FormatBytes(reason.need_bytes - numbers.largest_bytes),
                                        " less, on ", NameOf(numbers.largest_device)));
  }
  if (numbers.best_device == DeviceKey{} || numbers.best_free_bytes <= 0) return;
  if (reason.code != PendingCode::kMemory && reason.code != PendingCode::kInfeasible) return;
  detail->help.push_back(absl::StrCat("would start now with ",
                                      FormatBytes(reason.need_bytes - numbers.best_free_bytes),
                                      " less, on ", NameOf(numbers.best_device)));
}

void AddQuarantineHelp(const QuarantineMap& quarantines, Instant now, WaitDetail* detail) {
  for (const auto& [node, quarantine] : quarantines) {
    if (quarantine.until <= now) continue;
    detail->help.push_back(absl::StrCat("node ", node, " is tried again in ",
                                        pipefill::FormatDuration(quarantine.until - now), ": ",
                                        quarantine.text));
  }
}

void AddBlockerHelp(const PendingJob& job, const StandingPlanner& planner, Instant now,
                    WaitDetail* detail) {
  const std::optional<Blocker> blocker = FindBlocker(job, planner.devices());
  if (!blocker.has_value()) return;
  if (detail->nearest == DeviceKey{}) detail->nearest = blocker->device;
  detail->help.push_back(ExplainBlocker(job, *blocker, now));
}

}  // namespace

std::optional<WaitDetail> DetailWaiting(const StandingPlanner& planner, const Plan& plan, JobId id,
                                        const QuarantineMap& quarantines, Instant now) {
  const PendingJob* job = planner.FindJob(id);
  if (job == nullptr || id > plan.last_job) return std::nullopt;
  const PendingReason reason = ExplainWaiting(*job, plan, now);
  WaitDetail detail;
  detail.rule = ExplainReason(reason, now);
  detail.need_bytes = job->memory_bytes;
  detail.have_bytes = reason.numbers.best_free_bytes;
  detail.nearest = reason.numbers.best_device;
  const auto place = planner.PlaceOf(id, plan.tenants);
  if (place.has_value()) {
    detail.place = place->place;
    detail.waiting = place->waiting;
  }
  if (reason.code == PendingCode::kReserved) detail.nearest = reason.reserved->device;
  AddMemoryHelp(reason, &detail);
  const bool is_taken =
      reason.code == PendingCode::kMemory || reason.code == PendingCode::kResidentLimit;
  if (is_taken) AddBlockerHelp(*job, planner, now, &detail);
  if (reason.code == PendingCode::kQuarantine) AddQuarantineHelp(quarantines, now, &detail);
  if (detail.nearest == DeviceKey{}) detail.nearest = reason.numbers.largest_device;
  return detail;
}

}  // namespace pipefill::scheduler
