// What `pipefill top` shows, from what it knows and what the person has asked for.
//
//   title             schedulerd, and how many of each there are; or since when it is away
//   MAIN JOBS         ranks, iteration, idle, filled, overrun lately; cost against the budget;
//   state DEVICES           a bar of where the time went lately; the tasks there FILL JOBS units a
//   second, share of a core, late units; why the waiting ones wait last line         keys, a
//   question, or what the last key has done
//
// Pure.
#ifndef CLI_TOP_TOP_FRAME_H_
#define CLI_TOP_TOP_FRAME_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "cli/top/frame.h"
#include "cli/top/top_model.h"

namespace pipefill {

// Without a terminal: as many lines as it takes.
inline constexpr size_t kAllLines = static_cast<size_t>(-1);

struct TopView {
  std::string scheduler;  // its address
  size_t width = 80;
  size_t height = kAllLines;
  // Main job that keys apply to; empty = none.
  std::string selected;
  bool is_help = false;
  // Last line; empty = the keys.
  std::string prompt;
  // Set while schedulerd does not answer: for how long, and what it last said.
  std::optional<absl::Duration> away;
  std::string error;
};

Frame MakeTopFrame(const TopModel& model, const TopView& view);

}  // namespace pipefill

#endif  // CLI_TOP_TOP_FRAME_H_
