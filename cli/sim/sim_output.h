// What simulated runs came to: a table, JSON, CSV.
//
// Pure.
#ifndef CLI_SIM_SIM_OUTPUT_H_
#define CLI_SIM_SIM_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/sim/sim_run.h"

namespace pipefill {

// Classes of bubbles that models have; figures of each are there in every output.
inline constexpr BubbleClass kSimClasses[] = {BubbleClass::kHead, BubbleClass::kMiddle,
                                              BubbleClass::kScattered, BubbleClass::kTail};

// One row a run. Settings that are swept over come first.
std::string SimTable(const std::vector<SimOutcome>& outcomes, size_t width);
// For each file of the runs' traces: what was read, used and skipped, and why. Runs of which that
// is the same share theirs; if not all do, what they have in common stands in front.
std::vector<std::string> TraceLines(const std::vector<SimOutcome>& outcomes);
// {"runs": [{"settings": {...}, "policy": ..., "seed": ..., "gain": ..., ...}]}; shares are numbers
// from 0 to 1, times seconds.
std::string SimJson(const v1::Scenario& scenario, const std::vector<SimOutcome>& outcomes);
// One line a run, with a line of titles; the same names as in the JSON.
std::string SimCsv(const std::vector<SimOutcome>& outcomes);

// What the runs were asked for with.
struct SimCommandLine {
  std::string file;
  int32_t seed = 0;  // 0 = the scenario's
  std::vector<std::string> sets;
  std::vector<std::string> sweeps;
};

// What to type to see the same again: "pipefill sim FILE ...".
std::string ReplayText(const SimCommandLine& line);

}  // namespace pipefill

#endif  // CLI_SIM_SIM_OUTPUT_H_
