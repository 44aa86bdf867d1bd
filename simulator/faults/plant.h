// Bugs that can be planted in a simulated run, one of each kind that the checkers are to find. They
// sit in the simulated surroundings: the code under test stays as it is.
//
// Pure data.
#ifndef SIMULATOR_FAULTS_PLANT_H_
#define SIMULATOR_FAULTS_PLANT_H_

namespace pipefill::simulator {

enum class Plant {
  kNone,
  // The disk says that records are kept, and loses some in a crash: jobs are lost, ids and fences
  // come twice.
  kForgetfulDisk,
  // The agents' gates stay open when the lease is over: two attempts of a job work.
  kEndlessLease,
  // An agent that is started again knows nothing of its tasks, which go on: too many on a device.
  kForgetfulAgent,
  // An agent takes tasks for dead that it has sent a signal to: orphans.
  kHastyAgent,
  // An agent tells no end: jobs run for ever.
  kSilentAgent,
  // A node tells of more memory and seats than its devices have.
  kGreedyNode,
  // An agent does not hear that its ends have arrived: it tells them for ever.
  kDeafAgent,
  // Users do not hear what they are answered.
  kDeafUsers,
  // The disk of schedulerd loses records in a crash, and it shows.
  kBrokenDisk,
  // Gates do not close as users pause a main job.
  kDeafGates,
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_PLANT_H_
