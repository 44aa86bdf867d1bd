#include "simulator/faults/nuisances.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"

namespace pipefill::simulator {
namespace {

// How many of the kinds a run knows, as a share.
constexpr double kKnownShare = 0.6;
constexpr absl::Duration kDownMost = absl::Seconds(25);
constexpr absl::Duration kLastEnds = absl::Seconds(2);
constexpr absl::Duration kAwayMost = absl::Seconds(60);

}  // namespace

const std::vector<Nuisances::Kind>& Nuisances::AllKinds() {
  static const auto* const kinds = new std::vector<Kind>{
      {"kill schedulerd", &Nuisances::KillScheduler, 2},
      {"schedulerd dies telling", &Nuisances::KillTellingScheduler, 2},
      {"schedulerd's disk fails", &Nuisances::BreakDisk, 1},
      {"schedulerd's disk is full", &Nuisances::FillDisk, 1},
      {"schedulerd's disk is slow", &Nuisances::SlowDisk, 1},
      {"schedulerd hangs", &Nuisances::HangScheduler, 1},
      {"a wall clock jumps", &Nuisances::JumpClock, 1},
      {"kill agentd", &Nuisances::KillAgent, 3},
      {"agentd is stopped", &Nuisances::StopAgent, 1},
      {"a node loses its power", &Nuisances::LosePower, 2},
      {"agentd hangs", &Nuisances::HangAgent, 2},
      {"a task is killed", &Nuisances::KillTask, 2},
      {"a task is stopped", &Nuisances::HoldTask, 1},
      {"a node's disk is slow", &Nuisances::SlowNodeDisk, 1},
      {"partition", &Nuisances::Partition, 4},
      {"the network flaps", &Nuisances::Flap, 1},
      {"streams break", &Nuisances::BreakStreams, 2},
      {"the network is slow", &Nuisances::SlowNetwork, 1},
      {"the main job stops", &Nuisances::StopMainJob, 1},
      {"a device is lost", &Nuisances::LoseDevice, 1},
  };
  return *kinds;
}

Nuisances::Nuisances(const Surroundings& surroundings, uint64_t seed)
    : world_(surroundings.world),
      network_(surroundings.network),
      scheduler_(surroundings.scheduler),
      nodes_(surroundings.nodes),
      checker_(surroundings.checker),
      draw_(seed),
      pause_most_(draw_.Between(absl::Seconds(1), absl::Seconds(30))) {
  for (const Kind& kind : AllKinds()) {
    weights_.push_back(draw_.Chance(kKnownShare) ? kind.weight * (0.2 + draw_.Share()) : 0);
  }
}

void Nuisances::Start() { StrikeLater(); }

void Nuisances::StrikeLater() {
  Then(pause_most_, [this] {
    Strike();
    StrikeLater();
  });
}

void Nuisances::Strike() {
  double left = draw_.Share() * std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (size_t i = 0; i < weights_.size(); ++i) {
    left -= weights_[i];
    if (left >= 0) continue;
    checker_.Note(absl::StrCat("nuisance: ", AllKinds()[i].name));
    (this->*AllKinds()[i].strike)();
    return;
  }
}

void Nuisances::Then(absl::Duration most, std::function<void()> body) {
  world_.PostAt(world_.Now() + draw_.Between(absl::Milliseconds(1), most),
                [this, body = std::move(body)] {
                  if (!is_calm_) body();
                });
}

size_t Nuisances::DrawIndex() {
  return static_cast<size_t>(draw_.Between(0, static_cast<int64_t>(nodes_.size()) - 1));
}

void Nuisances::Calm() {
  is_calm_ = true;
  scheduler_.disk() = {};
  scheduler_.KillAfterTelling(0);
  network_.SetDelays(absl::Microseconds(50), absl::Milliseconds(2));
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const int node = static_cast<int>(i);
    network_.Clog(node, Way::kToScheduler, false);
    network_.Clog(node, Way::kToAgent, false);
    nodes_[i]->SetMainJob(true);
    nodes_[i]->SetDiskSlowness(absl::ZeroDuration());
    for (int device = 0; device < nodes_[i]->devices(); ++device)
      nodes_[i]->SetDevice(device, true);
  }
  StartAll();
  // What was told to end may be about to.
  world_.PostAt(world_.Now() + kLastEnds, [this] { StartAll(); });
}

void Nuisances::StartAll() {
  StartScheduler();
  for (const auto& node : nodes_) {
    if (!node->is_up()) node->StartAgent();
  }
}

// --- schedulerd ---

void Nuisances::StartScheduler() {
  if (scheduler_.is_up() && scheduler_.is_doomed()) scheduler_.Kill();
  if (!scheduler_.is_up()) scheduler_.Start();
}

void Nuisances::KillScheduler() {
  scheduler_.Kill();
  Then(kDownMost, [this] { StartScheduler(); });
}

void Nuisances::BreakDisk() {
  scheduler_.disk().fails_next = true;
  StartSchedulerOnceItFails();
}

void Nuisances::StartSchedulerOnceItFails() {
  Then(kDownMost, [this] {
    if (!scheduler_.is_well()) return StartScheduler();
    if (scheduler_.disk().fails_next) StartSchedulerOnceItFails();
  });
}

void Nuisances::KillTellingScheduler() {
  scheduler_.KillAfterTelling(draw_.Between(1, 30));
  Then(kDownMost, [this] { StartScheduler(); });
}

void Nuisances::FillDisk() {
  scheduler_.disk().is_full = true;
  Then(kDownMost, [this] { scheduler_.disk().is_full = false; });
}

void Nuisances::SlowDisk() {
  scheduler_.disk().slowness = draw_.Between(absl::Milliseconds(1), absl::Seconds(2));
  Then(kAwayMost, [this] { scheduler_.disk().slowness = absl::ZeroDuration(); });
}

void Nuisances::HangScheduler() {
  scheduler_.HangFor(draw_.Between(absl::ZeroDuration(), kDownMost));
}

void Nuisances::JumpClock() {
  MachineClock& clock = draw_.Chance(0.5) ? scheduler_.clock() : DrawNode().clock();
  clock.wall_ahead += draw_.Between(absl::Hours(-24), absl::Hours(24));
}

// --- Nodes ---

void Nuisances::KillAgent() {
  SimNode& node = DrawNode();
  node.KillAgent();
  Then(kAwayMost, [&node] {
    if (!node.is_up()) node.StartAgent();
  });
}

void Nuisances::LosePower() {
  SimNode& node = DrawNode();
  node.LosePower();
  Then(kAwayMost, [&node] {
    if (!node.is_up()) node.StartAgent();
  });
}

void Nuisances::HangAgent() {
  DrawNode().HangAgentFor(draw_.Between(absl::ZeroDuration(), kAwayMost));
}

void Nuisances::StopAgent() {
  SimNode& node = DrawNode();
  node.StopAgent();
  Then(kAwayMost, [&node] {
    if (!node.is_up()) node.StartAgent();
  });
}

void Nuisances::KillTask() { DrawNode().KillTask(); }

void Nuisances::HoldTask() { DrawNode().HoldTask(); }

void Nuisances::SlowNodeDisk() {
  SimNode& node = DrawNode();
  node.SetDiskSlowness(draw_.Between(absl::ZeroDuration(), absl::Seconds(10)));
  Then(kAwayMost, [&node] { node.SetDiskSlowness(absl::ZeroDuration()); });
}

void Nuisances::StopMainJob() {
  SimNode& node = DrawNode();
  node.SetMainJob(false);
  Then(kAwayMost, [&node] { node.SetMainJob(true); });
}

void Nuisances::LoseDevice() {
  SimNode& node = DrawNode();
  const int device = static_cast<int>(draw_.Between(0, node.devices() - 1));
  node.SetDevice(device, false);
  Then(kAwayMost, [&node, device] { node.SetDevice(device, true); });
}

// --- The network ---

void Nuisances::Partition() {
  const int node = static_cast<int>(DrawIndex());
  const int64_t ways = draw_.Between(1, 3);
  if ((ways & 1) != 0) network_.Clog(node, Way::kToScheduler, true);
  if ((ways & 2) != 0) network_.Clog(node, Way::kToAgent, true);
  // The two ways come back each in its own time.
  Then(kAwayMost, [this, node] { network_.Clog(node, Way::kToScheduler, false); });
  Then(kAwayMost, [this, node] { network_.Clog(node, Way::kToAgent, false); });
}

void Nuisances::FlapNode(int node) {
  const bool goes_on = draw_.Chance(0.9);
  network_.Clog(node, Way::kToScheduler, goes_on && draw_.Chance(0.5));
  network_.Clog(node, Way::kToAgent, goes_on && draw_.Chance(0.5));
  if (goes_on) Then(absl::Seconds(8), [this, node] { FlapNode(node); });
}

void Nuisances::BreakStreams() { network_.BreakStreams(static_cast<int>(DrawIndex())); }

void Nuisances::SlowNetwork() {
  network_.SetDelays(absl::Milliseconds(1),
                     draw_.Between(absl::Milliseconds(10), absl::Seconds(6)));
  Then(kAwayMost, [this] { network_.SetDelays(absl::Microseconds(50), absl::Milliseconds(2)); });
}

}  // namespace pipefill::simulator
