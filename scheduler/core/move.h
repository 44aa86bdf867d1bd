// Where a running job may be moved when its user asks for it.
//
// Pure.
#ifndef SCHEDULER_CORE_MOVE_H_
#define SCHEDULER_CORE_MOVE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/instant.h"
#include "planner/snapshot.h"
#include "scheduler/core/cluster_state.h"

namespace pipefill::scheduler {

struct MoveWish {
  JobId job;
  std::optional<DeviceKey> to;  // nullopt = anywhere else
};

// The device that is meant, or the one with the most free memory among those that could take the
// job now. NotFound: no such job or device. FailedPrecondition: the job does not run, is there
// already, or no such device can take it, with the numbers.
absl::StatusOr<DeviceKey> ChooseMove(const ClusterState& state, const MoveWish& wish, Instant now);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_MOVE_H_
