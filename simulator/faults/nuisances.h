// What goes wrong in a simulated run, drawn from its seed: each run has a temper of its own, which
// troubles it knows and how often they come, so that rare ones meet each other in some runs.
//
// Whatever it breaks it mends again after a while, and all of it once it is told to be calm.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_FAULTS_NUISANCES_H_
#define SIMULATOR_FAULTS_NUISANCES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/virtual_time.h"
#include "simulator/faults/checker.h"
#include "simulator/faults/draw.h"
#include "simulator/faults/sim_network.h"
#include "simulator/faults/sim_node.h"
#include "simulator/faults/sim_scheduler.h"

namespace pipefill::simulator {

class Nuisances {
 public:
  struct Surroundings {
    VirtualTime& world;
    SimNetwork& network;
    SimScheduler& scheduler;
    std::vector<std::unique_ptr<SimNode>>& nodes;
    Checker& checker;
  };

  // All of `surroundings` outlive them.
  Nuisances(const Surroundings& surroundings, uint64_t seed);

  void Start();
  // Everything is up and whole from now on.
  void Calm();

 private:
  struct Kind {
    absl::string_view name;
    void (Nuisances::*strike)();
    double weight = 1;
  };

  static const std::vector<Kind>& AllKinds();
  void StartAll();
  void StrikeLater();
  void Strike();
  // Runs `body` after a drawn time, at most `most`; not at all once it is calm.
  void Then(absl::Duration most, std::function<void()> body);
  SimNode& DrawNode() { return *nodes_[DrawIndex()]; }
  size_t DrawIndex();

  void KillScheduler();
  void StartScheduler();
  void BreakDisk();
  void StartSchedulerOnceItFails();
  void KillTellingScheduler();
  void FillDisk();
  void SlowDisk();
  void HangScheduler();
  void JumpClock();
  void KillAgent();
  void LosePower();
  void HangAgent();
  void StopAgent();
  void KillTask();
  void HoldTask();
  void SlowNodeDisk();
  void Partition();
  void Flap() { FlapNode(static_cast<int>(DrawIndex())); }
  void FlapNode(int node);
  void BreakStreams();
  void SlowNetwork();
  void StopMainJob();
  void LoseDevice();

  VirtualTime& world_;
  SimNetwork& network_;
  SimScheduler& scheduler_;
  std::vector<std::unique_ptr<SimNode>>& nodes_;
  Checker& checker_;
  Draw draw_;
  std::vector<double> weights_;  // of AllKinds
  absl::Duration pause_most_;
  bool is_calm_ = false;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_NUISANCES_H_
