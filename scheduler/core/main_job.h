// What users set for a main job while it runs. Kept by name, whether a rank is attached or not, so
// that a training run that is started again finds it.
//
// Pure.
#ifndef SCHEDULER_CORE_MAIN_JOB_H_
#define SCHEDULER_CORE_MAIN_JOB_H_

#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/core/device.h"

namespace pipefill::scheduler {

// Budgets and shares are in millionths.
inline constexpr uint32_t kPpm = 1'000'000;

// Unset fields: as the main job attached.
struct MainJobSettings {
  std::string main_job;
  FillMode mode = FillMode::kUnknown;  // kUnknown = unset
  uint32_t budget_ppm = 0;             // 0 = unset
  bool is_paused = false;
  uint32_t static_share_ppm = 0;  // 0 = learned latest starts

  bool is_anything_set() const {
    return mode != FillMode::kUnknown || budget_ppm != 0 || is_paused || static_share_ppm != 0;
  }

  friend bool operator==(const MainJobSettings&, const MainJobSettings&) = default;
};

// A user's wish: what it names is changed, the rest stays.
struct MainJobChange {
  std::string main_job;
  std::optional<FillMode> mode;
  std::optional<uint32_t> budget_ppm;
  std::optional<bool> is_paused;
  std::optional<uint32_t> static_share_ppm;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_MAIN_JOB_H_
