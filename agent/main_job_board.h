// What users have set for main jobs while they run (`pipefill main`, `pause`), by name, and what
// that means for a rank: what it asked for when it attached, overridden by what is set.
//
// Settings outlive ranks: a main job that is started again finds them. They do not outlive agentd;
// schedulerd keeps them, and tells them before its Welcome.
//
// Pure. Thread-compatible: belongs to the agent loop.
#ifndef AGENT_MAIN_JOB_BOARD_H_
#define AGENT_MAIN_JOB_BOARD_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "agent/attach_message.h"
#include "client/pages/window_page.h"

namespace pipefill {

// Unset fields: as the ranks attached.
struct MainJobSettings {
  std::string main_job;
  std::optional<FillMode> mode;
  uint32_t budget_ppm = 0;  // 0 = unset
  bool is_paused = false;
  uint32_t static_share_ppm = 0;  // 0 = learned latest starts

  bool is_anything_set() const {
    return mode.has_value() || budget_ppm != 0 || is_paused || static_share_ppm != 0;
  }
};

// What holds for one rank now.
struct RankSettings {
  FillMode mode = FillMode::kFill;
  // Allowed slowdown in millionths; never 0.
  uint32_t budget_ppm = 0;
  // By a user: nothing is filled, whatever the mode.
  bool is_paused = false;
  // Not 0: a unit must end within this share (in millionths) of the bubble's median length, instead
  // of the learned latest starts.
  uint32_t static_share_ppm = 0;

  bool is_measured() const { return mode != FillMode::kOff; }
  bool is_filled() const { return mode == FillMode::kFill && !is_paused; }

  friend bool operator==(const RankSettings&, const RankSettings&) = default;
};

class MainJobBoard {
 public:
  // `budget_ppm`: for ranks that ask for none and have none set. More than 0.
  explicit MainJobBoard(uint32_t budget_ppm) : budget_ppm_(budget_ppm) {}

  // Takes the place of all that was set for this main job. Kept only if anything is set.
  void Set(const MainJobSettings& settings);

  // Schedulerd names all that are set as an agent dials in. Those that it named once and does not
  // any more, since its store was restored or is full, hold no longer.
  void KeepOnly(const std::set<std::string>& main_jobs);

  RankSettings SettingsFor(const RankRequest& request) const;

  // Main jobs with something set; schedulerd bounds them.
  size_t size() const { return settings_.size(); }

 private:
  const uint32_t budget_ppm_;
  std::map<std::string, MainJobSettings> settings_;
};

}  // namespace pipefill

#endif  // AGENT_MAIN_JOB_BOARD_H_
