#include "scheduler/core/move.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/quantity.h"
#include "common/status.h"
#include "planner/feasibility.h"

namespace pipefill::scheduler {
namespace {

std::string NameOf(const DeviceKey& device) { return absl::StrCat(device.node, "/", device.name); }

std::string WhyNot(const DeviceSnapshot& device, int64_t need_bytes) {
  if (device.main_job != MainJobUse::kFilled) return "it has no main job to fill";
  if (!device.has_seat()) {
    return absl::StrCat("it holds ", device.resident, " of ", device.resident_limit, " tasks");
  }
  if (need_bytes <= device.memory_free_bytes) return "its bubbles do not take the job's units";
  return absl::StrCat("it has ", FormatBytes(device.memory_free_bytes), " free");
}

}  // namespace

absl::StatusOr<DeviceKey> ChooseMove(const ClusterState& state, const MoveWish& wish, Instant now) {
  RETURN_IF_ERROR(state.Check(MoveRequested{wish.job, {}}, now));
  const Job& job = **state.FindJob(wish.job);
  const DeviceKey& from = job.live_attempt().device;
  const PendingJob need = {.id = job.id,
                           .memory_bytes = job.memory_bytes,
                           .not_before = std::nullopt,
                           .preferred = std::nullopt,
                           .needs = job.needs};
  if (wish.to == from) {
    return absl::FailedPreconditionError(
        absl::StrCat("job ", job.id.value(), " is on ", NameOf(from), " already"));
  }
  ClusterSnapshot snapshot = state.Snapshot({now, absl::UnixEpoch()});
  HoldReservations(&snapshot);
  const DeviceSnapshot* best = nullptr;
  for (const DeviceSnapshot& device : snapshot.devices) {
    const bool is_meant = wish.to.has_value() ? device.key == *wish.to : device.key != from;
    if (!is_meant) continue;
    if (Fits(need, device)) {
      if (best == nullptr || device.memory_free_bytes > best->memory_free_bytes) best = &device;
    } else if (wish.to.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat(NameOf(device.key), " cannot take job ", job.id.value(), ", which needs ",
                       FormatBytes(need.memory_bytes), ": ", WhyNot(device, need.memory_bytes)));
    }
  }
  if (best != nullptr) return best->key;
  if (wish.to.has_value()) {
    return absl::NotFoundError(absl::StrCat(
        "no device ", NameOf(*wish.to), " is connected; `pipefill devices` lists those that are"));
  }
  return absl::FailedPreconditionError(absl::StrCat("no other device can take job ", job.id.value(),
                                                    " now; it stays on ", NameOf(from),
                                                    "; see `pipefill devices`"));
}

}  // namespace pipefill::scheduler
