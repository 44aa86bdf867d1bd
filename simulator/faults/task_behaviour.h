// What the program of a fill job does, as drawn for its job: most work and succeed, some do not.
//
// Pure.
#ifndef SIMULATOR_FAULTS_TASK_BEHAVIOUR_H_
#define SIMULATOR_FAULTS_TASK_BEHAVIOUR_H_

#include <cstdint>

#include "absl/time/time.h"
#include "common/ids.h"

namespace pipefill::simulator {

struct TaskBehaviour {
  absl::Duration start_delay;   // from launch to the running program
  absl::Duration news_delay;    // from there until agentd knows
  absl::Duration attach_delay;  // and until it has its gate
  absl::Duration work;          // of units, until it exits by itself
  absl::Duration unit_tail;     // how long a unit goes on that runs as its gate shuts
  absl::Duration save;          // once it is asked to stop
  int exit_code = 0;
  bool is_launchable = true;  // its program is there
  bool is_refused = false;    // the node cannot make a process
  bool never_attaches = false;
  bool ignores_terminate = false;
  bool ignores_ask = false;
  bool grows = false;           // beyond its memory cap, once it works
  bool overstays = false;       // its units outlive their bubbles, until it is killed
  bool outlives_limit = false;  // works until max_runtime, if there is one
  bool loses_gate = false;      // its connection to agentd breaks now and then
  bool is_misreported = false;  // its failure is told as a stop that nobody asked for
};

// The same for the same seed, job and attempt.
TaskBehaviour DrawBehaviour(uint64_t seed, JobId job, AttemptNumber attempt);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_TASK_BEHAVIOUR_H_
