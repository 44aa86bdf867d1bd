// A main job over all its ranks, from what agents say about their devices.
//
// Pure.
#ifndef CLI_MAIN_JOB_SUMMARY_H_
#define CLI_MAIN_JOB_SUMMARY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "proto/scheduler.pb.h"
#include "proto/types.pb.h"

namespace pipefill {

struct MainJobSummary {
  int64_t attached = 0;  // ranks
  int32_t ranks = 0;     // that it said it has
  int64_t tasks = 0;     // resident on its devices
  int64_t iterations = 0;
  int64_t iteration_p50_ns = 0;  // of its slowest rank
  // Sums over the ranks, since each attached.
  int64_t iteration_ns = 0;
  int64_t bubble_ns = 0;
  // Of the rank that is worst off: stopped rather than filling, then by what filling costs it.
  std::optional<v1::FillControl> control;
  std::map<v1::FillState, int64_t> states;  // ranks
};

// By name.
std::map<std::string, MainJobSummary> SummariseMainJobs(const v1::ListDevicesResponse& devices);

// "filling", "backed off: ...", "paused on 1 of 2 ranks"; "" if no agent says.
std::string StateText(const MainJobSummary& summary);

}  // namespace pipefill

#endif  // CLI_MAIN_JOB_SUMMARY_H_
