// One simulated run of a small cluster in trouble: everything that happens in it follows from its
// seed.
//
//   trouble (some minutes)     users wish, nuisances strike
//   calm                       all is mended; a pause of the main job must have its effect
//   settling                   every job comes to its end, and nobody keeps anything of it
//   a restart of all           nothing that is over comes back
//
// Pure but for `on_event`.
#ifndef SIMULATOR_FAULTS_FAULT_RUN_H_
#define SIMULATOR_FAULTS_FAULT_RUN_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "simulator/faults/moves.h"
#include "simulator/faults/plant.h"

namespace pipefill::simulator {

struct FaultRunOptions {
  uint64_t seed = 1;
  Plant plant = Plant::kNone;
  // Another bug that can be planted: chance that is not the seed's.
  uint64_t other_chance = 0;
  absl::Duration trouble = absl::Minutes(3);
  // One line for each thing that happens.
  std::function<void(const std::string&)> on_event = nullptr;
};

struct FaultRunResult {
  // What was broken, oldest first; empty = nothing.
  std::vector<std::string> violations;
  Moves moves;
  int64_t events = 0;
  int64_t jobs = 0;
  int64_t attempts = 0;
  // Of all events in order: the same seed gives the same.
  uint64_t fingerprint = 0;
};

FaultRunResult RunFaults(const FaultRunOptions& options);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_FAULT_RUN_H_
