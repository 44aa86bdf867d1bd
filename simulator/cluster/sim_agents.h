// All agents of a simulated cluster: they launch what schedulerd tells them to, in virtual time,
// and tell how it ends. What a job makes of its device comes from the bubbles and the gate
// (fill_offer.h); agents never fail.
//
// Thread-compatible: runs on the scheduler loop.
#ifndef SIMULATOR_CLUSTER_SIM_AGENTS_H_
#define SIMULATOR_CLUSTER_SIM_AGENTS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "common/ids.h"
#include "common/loop.h"
#include "scheduler/agent_link.h"
#include "scheduler/message.h"
#include "simulator/cluster/swim_lanes.h"
#include "simulator/cluster/training.h"
#include "simulator/cluster/workload.h"

namespace pipefill::simulator {

// Sums over all devices, in seconds of device time.
struct FillTotals {
  double filled_s = 0;         // units that ran
  double overrun_s = 0;        // beyond the ends of their bubbles
  double alone_s = 0;          // what the work done would have taken on devices of its own
  double main_s = 0;           // what it would have taken the main job to compute as much
  PerClass filled_by_class_s;  // filled_s, by the bubbles in which the units began
};

class SimAgents : public scheduler::AgentLink {
 public:
  using Say = std::function<void(scheduler::Message)>;

  struct Options {
    // From a launch to the first unit: the program starts and loads its model.
    absl::Duration start_delay = absl::Seconds(10);
    absl::Duration report_every = absl::Minutes(30);
  };

  // All but `options` outlive it.
  SimAgents(Loop& loop, const LearnedTraining& training, const std::vector<JobClass>& classes,
            const Options& options);

  // Dials in with all nodes. `say` hands on what agents say to schedulerd.
  void Start(Say say);
  void Send(scheduler::SessionId session, const scheduler::Action& action) override;
  void Close(scheduler::SessionId session, const absl::Status& status) override;

  // With what tasks that still run have done so far.
  FillTotals Totals() const;
  // At most so much longer the main job takes: of each stage the worst job's overrun, in every
  // iteration, one stage after the other.
  double SlowdownMax() const;
  // The first device of each stage of the first replica; at most kLanesMax of them, spread evenly.
  std::vector<Lane> Lanes() const { return lanes_.Lanes(loop_.Now()); }
  int64_t actions() const { return actions_; }

 private:
  struct Running {
    scheduler::AttemptKey key;
    int node = 0;
    const JobClass* job_class = nullptr;
    const Configuration* configuration = nullptr;
    double samples_left = 0;
    std::optional<FillYield> yield;  // nullopt: no unit of it ever starts
    Instant filling_since;           // start_delay after its launch
    Loop::TimerId timer = 0;         // 0 = none
  };
  using YieldKey = std::tuple<const Configuration*, double, const StageOffer*>;

  static int NodeOf(scheduler::SessionId session) { return static_cast<int>(session.value()) - 1; }
  void Report(int node);
  void Launch(int node, const scheduler::LaunchAttempt& launch);
  void Stop(const scheduler::StopAttempt& stop);
  void End(Fence fence, scheduler::AttemptEnd end);
  const std::optional<FillYield>& YieldOf(const Configuration& configuration, double slowness,
                                          const StageOffer& offer);
  double SecondsFilling(const Running& running) const;
  void Add(const Running& running, FillTotals& totals) const;

  Loop& loop_;
  const LearnedTraining& training_;
  const Options options_;
  Say say_;
  absl::flat_hash_map<std::string, const JobClass*> classes_;
  absl::btree_map<Fence, Running> running_;  // ordered: sums over it are the same in each run
  // Samples done by attempts that were stopped: a task saves before it goes.
  absl::flat_hash_map<JobId, double> saved_;
  absl::flat_hash_map<YieldKey, std::optional<FillYield>> yields_;
  FillTotals ended_;
  std::vector<double> worst_overrun_;  // by stage; share of a device's time
  SwimLanes lanes_;
  int64_t actions_ = 0;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_SIM_AGENTS_H_
