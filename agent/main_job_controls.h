// The slowdown controllers of all main jobs on this node: once per drain they take what the devices
// saw, and the devices take what they decided. Changes go into the trace and the log.
//
// A main job is remembered for a while after its last rank has left, so that one which is started
// again and again does not get a fresh budget each time.
//
// Runs on the agent loop.
#ifndef AGENT_MAIN_JOB_CONTROLS_H_
#define AGENT_MAIN_JOB_CONTROLS_H_

#include <cstdint>
#include <map>
#include <string>

#include "agent/device_state.h"
#include "agent/learn/slowdown_controller.h"
#include "agent/main_job_control.h"
#include "agent/trace_writer.h"
#include "client/pages/hold_out.h"
#include "common/instant.h"
#include "proto/types.pb.h"

namespace pipefill {

inline constexpr absl::Duration kMainJobKept = absl::Minutes(10);

struct ControlOptions {
  ControllerOptions controller;
  double overrun_ratio = 0.2;  // to start with
  HoldOut hold_out;
};

class MainJobControls {
 public:
  // `trace` outlives this.
  MainJobControls(const ControlOptions& options, TraceWriter& trace)
      : options_(options), trace_(trace) {}

  // After all devices were drained.
  void Update(const DeviceStates& states, bool is_parked, Instant now);

  // Null if no rank of that key is attached.
  const v1::FillControl* Find(int32_t rank_key) const;

 private:
  struct Job {
    MainJobControl control;
    Instant seen;
  };

  Job& JobOf(const RankObservation& lowest);
  void Report(const RankObservation& rank, const MainJobControl& control, bool is_decided,
              Instant now);

  const ControlOptions options_;
  TraceWriter& trace_;
  std::map<std::string, Job> jobs_;
  std::map<int32_t, v1::FillControl> reports_;  // by rank key
};

}  // namespace pipefill

#endif  // AGENT_MAIN_JOB_CONTROLS_H_
