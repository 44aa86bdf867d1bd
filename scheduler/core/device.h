// What agents report about their node. Soft state: gone with a restart, told again by the agent.
//
// Times `_ns` are of the agent's node and mean nothing here; they are only shown.
//
// Pure.
#ifndef SCHEDULER_CORE_DEVICE_H_
#define SCHEDULER_CORE_DEVICE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/snapshot.h"

namespace pipefill::scheduler {

// How a main job wants to be treated.
enum class FillMode { kUnknown, kOff, kReport, kFill };

// Handed on from agents to people; nothing here decides by it. Values are those of v1.FillState.
enum class FillState {
  kUnknown,
  kOff,
  kReporting,
  kPaused,
  kParked,
  kLearning,
  kFilling,
  kBackedOff,
  kFailure
};

// How filling a main job goes; see v1.FillControl.
struct FillControl {
  FillState state = FillState::kUnknown;
  std::string text;
  double overrun_ratio = 0;
  double slowdown = 0;
  double slowdown_low = 0;
  double slowdown_high = 0;
  int64_t hold_outs = 0;
  int64_t filled = 0;
  uint32_t budget_ppm = 0;
  int64_t back_offs = 0;
  int64_t retry_in_ns = 0;
};

// One rank of a main job.
struct MainRank {
  std::string main_job;
  int32_t rank = 0;
  int32_t ranks = 0;
  int32_t stage = 0;
  int32_t stages = 0;
  int64_t pid = 0;
  FillMode mode = FillMode::kUnknown;
  int64_t iterations = 0;
  int64_t iteration_p50_ns = 0;
  int64_t bubble_ns = 0;
  int64_t iteration_ns = 0;
  int64_t events_dropped = 0;
  std::optional<FillControl> control;
};

struct Device {
  DeviceKey key;
  std::string backend;
  std::string detail;
  int64_t memory_bytes = 0;
  int64_t memory_free_bytes = 0;
  int32_t resident = 0;
  int32_t resident_limit = 0;
  std::optional<MainRank> main_rank;
};

enum class BubbleClass { kUnknown, kHead, kMiddle, kScattered, kTail, kFailure, kCustom };

// Values are those of v1.BubbleOffer.
enum class BubbleOffer { kUnknown, kYes, kTooFew, kTooShort, kUncertain, kNotFilling };

// What an agent has learned and done about one (rank, bubble id).
struct BubbleStats {
  DeviceKey device;
  std::string main_job;
  int32_t rank = 0;
  int32_t stage = 0;
  BubbleClass bubble_class = BubbleClass::kUnknown;
  int32_t ordinal = 0;
  int64_t count = 0;
  int64_t p10_ns = 0;
  int64_t p50_ns = 0;
  int64_t p90_ns = 0;
  int64_t memory_free_bytes = 0;
  int64_t bubble_ns = 0;
  int64_t offered_ns = 0;
  int64_t filled_ns = 0;
  int64_t overrun_ns = 0;
  // One entry per unit length.
  std::vector<int64_t> unit_ns;
  std::vector<int64_t> latest_start_ns;
  int64_t guard_ns = 0;
  int64_t units = 0;
  int64_t overruns = 0;
  BubbleOffer offer = BubbleOffer::kUnknown;
  int64_t earliest_start_ns = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_DEVICE_H_
