// Two durable states, compared as people would: by their text.
//
// Pure.
#ifndef SIMULATOR_FAULTS_STATE_TEXT_H_
#define SIMULATOR_FAULTS_STATE_TEXT_H_

#include <string>

#include "scheduler/core/cluster_state.h"

namespace pipefill::simulator {

// As bytes, without what is no part of the state. Equal states have equal bytes.
std::string StateBytes(scheduler::DurableState state);
// The first lines in which they differ, in one line; both as StateBytes makes them.
std::string FirstDifference(const std::string& a, const std::string& b);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_STATE_TEXT_H_
