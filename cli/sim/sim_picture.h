// The pictures of simulated runs, each only where the runs have something to show.
//
// Pure.
#ifndef CLI_SIM_SIM_PICTURE_H_
#define CLI_SIM_SIM_PICTURE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/sim/sim_dimension.h"
#include "cli/sim/sim_run.h"

namespace pipefill {

struct SimPicture {
  std::string name;   // of its kind, fit for a file: "gain-by-size"
  std::string title;  // as in the picture
  std::string svg;    // stands by itself
  std::string note;   // what it shows, and what it leaves out
  bool is_wide = false;
};

// Over all runs: gain and use of devices by size, gain by what else is swept over, completion times
// by policy and load.
std::vector<SimPicture> SweepPictures(const std::vector<Dimension>& dimensions,
                                      const std::vector<SimOutcome>& outcomes);

// Side by side: how much of each class of bubble is filled, and how completion times spread.
std::vector<SimPicture> RunPictures(const std::vector<Dimension>& dimensions,
                                    const std::vector<SimOutcome>& outcomes);

// Of the first kSimRunsDrawn runs: one iteration with its bubbles and what is filled of them, once
// per training run; and which job filled which device when.
absl::StatusOr<std::vector<SimPicture>> TimePictures(const std::vector<Dimension>& dimensions,
                                                     const std::vector<SimOutcome>& outcomes);

}  // namespace pipefill

#endif  // CLI_SIM_SIM_PICTURE_H_
