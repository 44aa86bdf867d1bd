// One device while agentd runs: its window page and turn page, the main rank that is attached, the
// tasks that live on it, what is learned about the rank's bubbles, and the accounts.
//
//   rank:  none --AttachRank--> waiting --OnMapped--> attached --OnConnectionEnded--> none
//                                         page sealed,          generation raised,
//                                         generation raised     tasks stay
//   task:  AddTask --> without a gate <-----------> gated     RemoveTask --> gone
//                        AttachTask and OnMapped; OnConnectionEnded
//
// Drain moves what came since the last call: rings -> account, predictor, trace -> window page.
//
// Runs on the agent loop.
#ifndef AGENT_DEVICE_STATE_H_
#define AGENT_DEVICE_STATE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/attach_message.h"
#include "agent/devices/device.h"
#include "agent/learn/bubble_predictor.h"
#include "agent/learn/overrun_guard.h"
#include "agent/learn/skip_list.h"
#include "agent/local_service.h"
#include "agent/main_job_board.h"
#include "agent/main_job_control.h"
#include "agent/memory_offer.h"
#include "agent/page_reader.h"
#include "agent/page_writer.h"
#include "agent/rank_account.h"
#include "agent/standstill.h"
#include "agent/tasks/attempt.h"
#include "agent/tasks/task_machine.h"
#include "agent/tasks/task_supervisor.h"
#include "agent/trace_writer.h"
#include "agent/turn_board.h"
#include "common/instant.h"
#include "common/sealed_page.h"
#include "proto/types.pb.h"

namespace pipefill {

struct DeviceOptions {
  std::string node;
  WindowOptions window;
  PredictorOptions predictor;
  StandstillOptions standstill = {};
  // The wall clock less CLOCK_MONOTONIC, for people.
  int64_t unix_offset_ns = 0;
};

class DeviceState {
 public:
  // What is outside of a device and outlives its state.
  struct Surroundings {
    TraceWriter& trace;
    const MainJobBoard& main_jobs;
  };

  // `device` outlives the state.
  static absl::StatusOr<std::unique_ptr<DeviceState>> Create(const Device& device,
                                                             const DeviceOptions& options,
                                                             const Surroundings& surroundings);

  const Device& device() const { return device_; }
  const std::string& name() const { return device_.description().name; }

  // --- Ranks and gates, as AttachHandler has them ---

  // kBusy while another rank is there.
  AttachAnswer AttachRank(const Peer& peer, const RankRequest& request);
  // kUnknown if there is no such task; kBusy if it has a gate already.
  AttachAnswer AttachTask(const Peer& peer, const AttemptKey& key);
  // The task whose gate this is, if it is one and is complete now.
  std::optional<AttemptKey> OnMapped(ConnectionId connection, Instant now);
  // The task that has lost its gate, if it was one's.
  std::optional<AttemptKey> OnConnectionEnded(ConnectionId connection, Instant now);
  // The signal page of the attached rank, if any.
  PageGrant SignalGrant() const;

  // --- What users set ---

  // The board has changed: takes over what holds for the attached rank now. Gates that are to be
  // shut are shut at once, so no further unit starts. False if nothing changed here.
  bool OnSettingsChanged(Instant now);
  // Of the attached rank.
  std::optional<RankSettings> effective() const;

  // --- Tasks ---

  // Does nothing if it is here already.
  void AddTask(const AttemptSpec& spec, pid_t pid, Instant now);
  // What was counted for it by agentds before this one.
  void SetProgressBefore(const AttemptKey& key, const v1::FillProgress& progress);
  // Reads its page a last time and writes its end into the trace. Returns its progress.
  v1::FillProgress RemoveTask(const AttemptKey& key, const AttemptEnd& end, const TaskUse& use,
                              Instant now);
  // Its task should save as soon as it can, once. Nothing without a gate, or hooks.
  void OrderSave(const AttemptKey& key);
  // All tasks: for a while no bubble will be filled, and nobody knows how that ends.
  void OrderSaves();
  // 0 if it has no gate.
  ConnectionId GateOf(const AttemptKey& key) const;
  // Without a gate it has no unit; nothing if there is no such task. `task_cpu` is not set.
  std::optional<UnitView> ViewUnit(const AttemptKey& key) const;
  v1::FillProgress ProgressOf(const AttemptKey& key, const TaskUse& use) const;
  void SampleTask(const AttemptKey& key, const TaskUse& use, Instant now);

  // --- The loop's beat ---

  // Also the heartbeat of the window page.
  void Drain(Instant now);
  // About once a second: whether the main job stands still.
  void CheckStall(Instant now, const ProcessTable& processes);
  // About once a second: how much memory the main job uses.
  void ReadMemory(const ProcessTable& processes);
  // The main job stands still, and its device is offered as one open-ended bubble.
  bool has_failure() const { return has_rank() && rank_->standstill->is_open(); }
  void SetParked(bool is_parked) { window_->SetParked(is_parked); }

  // --- The slowdown controller of the main job (main_job_controls.h) ---

  // What the attached rank did since the last call; nothing without one.
  std::optional<RankObservation> TakeObservation(bool is_parked);
  // Takes over lambda, shuts the gates or opens them, and moves the guards.
  // REQUIRES: a rank is attached.
  void Steer(const SlowdownControl& control);
  // Of the attached rank; empty and 0 without one.
  std::string main_job() const { return has_rank() ? rank_->request.main_job : std::string(); }
  int32_t rank_key() const { return has_rank() ? rank_->rank_key : 0; }

  // `caps_bytes`: memory caps of the attempts here; `resident`: their number.
  v1::Device Report(const ProcessTable& processes, int64_t caps_bytes, int32_t resident) const;
  // Without a rank: the last figures of the one before, so that users find them after its end.
  std::vector<v1::BubbleStats> ReportBubbles() const;

 private:
  struct RankSeat {
    RankSeat(const Peer& peer, const RankRequest& request, SealedPage page,
             const PredictorOptions& options);
    RankSettings settings;
    // Its edges were not looked at for a while (mode off), so which bubble is open now is not
    // known.
    bool is_after_break = false;
    const Peer peer;
    const RankRequest request;
    SealedPage page;
    SignalReader reader;
    BubblePredictor predictor;
    int32_t rank_key = 0;                  // 0 until its page is sealed
    std::optional<Standstill> standstill;  // from then on
    std::set<uint32_t> named_slots;
    bool is_backed_off = false;
    MemoryOffer memory;
    std::vector<EndedIteration> iterations;   // since the last observation
    std::map<uint32_t, OverrunGuard> guards;  // by slot
  };
  struct Gate {
    Gate(ConnectionId id, SealedPage sealed_page);
    const ConnectionId connection;
    SealedPage page;
    TaskReader reader;
    bool is_sealed = false;
    pid_t pid = 0;
    uint32_t turn_seat = kNoSeat;
    // While a save is ordered: those that had been tried before.
    std::optional<int64_t> saves_before_order;
  };
  struct TaskSeat {
    int32_t task_key = 0;
    int32_t policy_rank = 0;
    std::optional<Gate> gate;
    int64_t bubbles_denied_before = 0;  // by gates that are gone
    int64_t pieces_before = 0;          // likewise
    int64_t unit_estimate_ns = 0;
    std::optional<CheckpointView> checkpoint;  // as the last gate said; nothing before the first
    v1::FillProgress before;                   // under other agentds
    SkipList skips;                            // of the attached rank's bubbles
    int64_t bubbles_skipped_before = 0;        // of other ranks
  };
  struct DrainedUnit {
    int32_t task_key = 0;
    UnitRecord unit;
  };

  DeviceState(const Device& device, const DeviceOptions& options,
              std::unique_ptr<WindowWriter> window, std::unique_ptr<TurnBoard> turns,
              const Surroundings& surroundings);

  void CompleteRank(Instant now);
  void EndRank(Instant now);
  void CloseGate(TaskSeat& seat);
  // If the save was tried.
  void TakeOrderBack(Gate& gate);
  void UpdateGateCount();
  // Whether the task with this turn seat has a unit in progress and has not been stopped.
  bool IsRunning(uint32_t turn_seat, Instant now) const;
  bool has_rank() const { return rank_.has_value() && rank_->rank_key != 0; }

  // Closes bubbles to tasks that do not keep to them, and opens them again.
  void JudgeUnits();
  void CountSkipped(uint32_t slot);
  void ForgetSkips();
  void DrainTask(TaskSeat& seat, Instant now, std::vector<DrainedUnit>& units);
  void DrainRank(Instant now);
  // Writes the mode that the gates are to see.
  void UpdateMode();
  // Measures no more: the mode is off from `now` on.
  void BreakOff(Instant now);
  v1::MainRank DescribeRank(const RankTotals& totals) const;
  void TakeEdge(const EdgeEvent& edge);
  void TakeUnit(const DrainedUnit& drained);
  void NameSlot(uint32_t slot);
  bool HasOffer() const;
  bool HasWorkingTask() const;
  void UpdateGuards(double overrun_ratio);
  v1::BubbleStats ReportBubble(uint32_t slot, const SlotName& name) const;
  v1::BubbleStats ReportFailures() const;
  // With the names of device and rank filled in.
  v1::BubbleStats MakeBubbleReport(const BubbleTotals& totals) const;

  const Device& device_;
  const DeviceOptions options_;
  const std::unique_ptr<WindowWriter> window_;
  const std::unique_ptr<TurnBoard> turns_;
  TraceWriter& trace_;
  const MainJobBoard& main_jobs_;
  RankAccount account_;
  std::optional<RankSeat> rank_;
  std::map<AttemptKey, TaskSeat> tasks_;
  std::vector<v1::BubbleStats> last_bubbles_;  // of the last rank that left
  // Rank keys of the newest signal pages, by generation.
  std::map<uint32_t, int32_t> rank_keys_;
};

using DeviceStates = std::vector<std::unique_ptr<DeviceState>>;

}  // namespace pipefill

#endif  // AGENT_DEVICE_STATE_H_
