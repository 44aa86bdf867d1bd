// Bugs that can be planted in a simulated run, one of each kind that the checkers are to find. They
// sit in the simulated surroundings: the code under test stays as it is.
//
// Pure data.
#ifndef SIMULATOR_FAULTS_PLANT_H_
#define SIMULATOR_FAULTS_PLANT_H_

#include <array>

namespace pipefill::simulator {

enum class Plant {
  kNone,
  // The disk says that records are kept, and at times loses them in a crash: jobs are lost.
  kForgetfulDisk,
  // The disk gives back, after a crash, what was there some records ago: ids and fences come twice.
  kOldDisk,
  // The agents' gates stay open when the lease is over: two attempts of a job work.
  kEndlessLease,
  // An agent that is started again knows nothing of its tasks, which go on: orphans.
  kForgetfulAgent,
  // A node starts tasks beyond what it has told of its memory.
  kGreedyNode,
  // schedulerd's conversation with agents has Stop lost: a cancelled job never ends.
  kDeafNode,
  // Gates do not close as users pause a main job.
  kDeafGates,
  // Chance from outside of the seed.
  kTrueChance,
};
inline constexpr std::array kAllPlants = {
    Plant::kForgetfulDisk,  Plant::kOldDisk,    Plant::kEndlessLease,
    Plant::kForgetfulAgent, Plant::kGreedyNode, Plant::kDeafNode,
    Plant::kDeafGates,      Plant::kTrueChance};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_PLANT_H_
