// Simulated runs as one HTML page: headline figures, pictures, all figures, what became of
// the rows of a trace, and what was simulated.
//
// Pure.
#ifndef CLI_SIM_SIM_PAGE_H_
#define CLI_SIM_SIM_PAGE_H_

#include <string>
#include <vector>

#include "cli/sim/sim_picture.h"
#include "cli/sim/sim_run.h"

namespace pipefill {

struct SimPageParts {
  const v1::Scenario& scenario;  // before any sweep
  const std::vector<SimOutcome>& outcomes;
  const std::vector<SimPicture>& pictures;
  std::string replay;  // the command that gives the same figures
};

// Needs no other file and no network. REQUIRES: there is an outcome.
std::string SimPage(const SimPageParts& parts);

// Pictures of all kinds. Errors as those of the runs.
absl::StatusOr<std::vector<SimPicture>> SimPictures(const std::vector<SimSweep>& sweeps,
                                                    const std::vector<SimOutcome>& outcomes);

}  // namespace pipefill

#endif  // CLI_SIM_SIM_PAGE_H_
