// Says of each rank of a main job whether so much of its state could be kept on the host between
// two steps of its optimizer, and which bubble time would have the memory (planner/offload.h).
//
// Pure.
#ifndef CLI_PLAN_OFFLOAD_H_
#define CLI_PLAN_OFFLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "proto/types.pb.h"

namespace pipefill {

struct OffloadQuestion {
  int64_t bytes = 0;             // of each rank, > 0
  int64_t bytes_per_second = 0;  // in either direction, > 0
};

// One line for each rank; `bubbles` in the order of ranks. `iteration_ns` 0 = not known yet.
std::string OffloadText(const std::vector<v1::BubbleStats>& bubbles, int64_t iteration_ns,
                        const OffloadQuestion& question);

}  // namespace pipefill

#endif  // CLI_PLAN_OFFLOAD_H_
