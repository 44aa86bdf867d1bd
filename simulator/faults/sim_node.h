// The machine of an agent: its disk and, as long as it has power, the processes of its tasks stay;
// agentd dies and comes back. Inside are the daemon's own session, attempt desk, task machines and
// board of main jobs; around them tasks, gates and a disk that are modelled.
//
//   a task works while: its process is there and not frozen, agentd's heartbeat is fresh, and the
//   gates are open: not parked, not paused
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_FAULTS_SIM_NODE_H_
#define SIMULATOR_FAULTS_SIM_NODE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "agent/attempt_desk.h"
#include "agent/main_job_board.h"
#include "agent/scheduler_session.h"
#include "agent/tasks/attempt.h"
#include "agent/tasks/task_machine.h"
#include "common/virtual_time.h"
#include "simulator/faults/draw.h"
#include "simulator/faults/plant.h"
#include "simulator/faults/process_loop.h"
#include "simulator/faults/sim_network.h"
#include "simulator/faults/task_behaviour.h"

namespace pipefill::simulator {

// Told of what happens on a node. Not to call back.
class NodeWatcher {
 public:
  virtual ~NodeWatcher() = default;
  virtual void OnProcess(int node, const AttemptSpec& spec) = 0;
  virtual void OnProcessGone(int node, const AttemptKey& key) = 0;
  // Its units run, or do not any more.
  virtual void OnWorking(int node, const AttemptKey& key, bool is_working) = 0;
  virtual void OnGates(int node, bool are_open) = 0;
  virtual void OnTaskPhases(TaskPhase before, TaskPhase after) = 0;
};

class SimNode : private AttemptHost, private SessionHandler {
 public:
  struct Surroundings {
    VirtualTime& world;
    SimNetwork& network;
    NodeWatcher& watcher;
  };
  struct Options {
    int index = 0;
    int devices = 2;
    int seats = 2;  // per device
    int64_t device_bytes = 0;
    uint64_t seed = 1;
    // What each job's task does depends on this, and on the job.
    uint64_t behaviour_seed = 1;
    Plant plant = Plant::kNone;
  };

  // All of `surroundings` outlive it. Powered, agentd not started.
  SimNode(const Surroundings& surroundings, const Options& options);
  ~SimNode() override;

  static std::string NameOf(int index);
  // Every device has one main job, all of them the same.
  static constexpr char kMainJob[] = "gpt";

  // --- Nuisances ---

  // REQUIRES: !is_up().
  void StartAgent();
  // kill -9 of agentd: tasks go on.
  void KillAgent();
  // The machine stands still and is started again, without agentd; what was not synced is gone.
  void LosePower();
  void HangAgentFor(absl::Duration duration);
  // Somebody kills one of its tasks.
  void KillTask();
  // Somebody stops one of them (SIGSTOP).
  void HoldTask();
  // As SIGTERM does it, with its tasks left to the next one; it takes a moment.
  void StopAgent();
  void SetMainJob(bool is_there);
  // The device is gone, or back.
  void SetDevice(int device, bool is_there);
  void SetDiskSlowness(absl::Duration slowness) { disk_slowness_ = slowness; }
  MachineClock& clock() { return clock_; }

  bool is_up() const { return agent_ != nullptr; }
  int devices() const { return options_.devices; }
  std::vector<AttemptKey> processes() const;
  // Whether units of any task with a gate run.
  bool has_gated_work() const;
  // Nothing runs, and schedulerd knows all that did. REQUIRES: is_up().
  bool is_settled() const;

 private:
  // What lies on the disk of the node about one attempt.
  struct Record {
    AttemptSpec spec;
    int64_t boot = 0;  // of the machine
    std::optional<StopRequest> stop = {};
    std::optional<ProcessExit> exit = {};  // the keeper's
    std::optional<AttemptEnd> end = {};
    bool is_synced = false;
  };
  // A process of a task; needs no agentd.
  struct Task {
    AttemptSpec spec;
    TaskBehaviour behaviour;
    absl::Duration work_left;
    bool is_started = false;   // its program runs
    bool is_attached = false;  // it has a gate
    bool is_frozen = false;
    bool is_held = false;     // stopped by somebody else
    bool is_refused = false;  // no gate for it
    bool is_asked = false;    // to stop: its gate lets no unit start any more
    bool is_leaving = false;
    bool is_working = false;
    Instant working_since = {};
    Loop::TimerId end_timer = 0;
    Loop::TimerId tail_timer = 0;  // of its last unit; 0 = its gate is open, or no unit runs
  };
  struct Agent;

  // --- AttemptHost ---
  absl::Status CheckRoom(const AttemptSpec& spec) const override;
  void StartTask(const AttemptSpec& spec) override;
  bool StopTask(const AttemptKey& key, const StopRequest& request) override;
  const AttemptSpec* FindTask(const AttemptKey& key) const override;
  std::vector<AttemptKey> LiveTasks() const override;
  pid_t PidOf(const AttemptKey& key) const override;
  void SyncEnd(const AttemptKey& key, std::function<void(const absl::Status&)> done) override;
  void RemoveRecord(const AttemptKey& key) override;
  void RemoveCheckpoints(JobId /*job*/, int64_t /*submitted_unix_ns*/) override {}
  void Tell(v1::AgentMessage message) override;

  // --- SessionHandler ---
  v1::AgentHello MakeHello() override;
  void OnConnected() override;
  void OnCommand(const v1::AgentCommand& command) override;

  // --- agentd ---
  void Inherit();
  void InheritOne(Record& record);
  void Every(absl::Duration period, const std::function<void()>& body);
  void Drain();
  void Watch();
  void Report();
  void Perform(const AttemptKey& key, const TaskActions& actions);
  // Has the task's machine take an input, and does what it says.
  void Feed(const AttemptKey& key, const std::function<TaskActions(TaskMachine&)>& input);
  void FeedLater(const AttemptKey& key, std::function<TaskActions(TaskMachine&)> input);
  void WatchTask(const AttemptKey& key);
  void EndTask(const AttemptKey& key);
  bool HasDevice(absl::string_view device) const;
  TaskRoom RoomOfDevice() const;
  TaskRoom UsedOn(absl::string_view device) const;
  std::vector<v1::Device> DescribeDevices() const;

  // --- Processes ---
  void BeginProcess(const AttemptKey& key);
  void AttachLater(const AttemptKey& key, absl::Duration after);
  void Attach(const AttemptKey& key);
  void OnAttachRequest(const AttemptKey& key);
  std::optional<AttemptKey> DrawTask();
  void LoseGate(const AttemptKey& key);
  void ExitProcess(const AttemptKey& key, const ProcessExit& exit);
  void LeaveLater(const AttemptKey& key, absl::Duration after, const ProcessExit& exit);
  // Brings all tasks in step with the gates.
  void UpdateWork();
  bool AreGatesOpen() const;
  // Whether its processes run.
  static bool IsAwake(const Task& task);
  bool MayWork(const Task& task) const;
  void UpdateTask(const AttemptKey& key, Task& task);
  // Once the heartbeat is stale.
  void WatchHeartbeat();
  void SetWorking(Task& task, bool is_working);
  std::string DeviceName(int device) const;

  VirtualTime& world_;
  SimNetwork& network_;
  NodeWatcher& watcher_;
  const Options options_;
  Draw draw_;
  MachineClock clock_;
  absl::Duration disk_slowness_ = absl::ZeroDuration();
  std::vector<bool> has_device_;
  bool has_main_job_ = true;
  int64_t boots_ = 0;
  int64_t starts_ = 0;
  std::map<AttemptKey, Record> disk_;
  std::map<AttemptKey, Task> tasks_;
  std::unique_ptr<Agent> agent_;
  // What the window page shows to gates.
  Instant heartbeat_;  // by the world's clock
  bool is_parked_ = true;
  bool is_paused_ = false;
  bool is_heartbeat_watched_ = false;
  bool were_gates_open_ = false;
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_FAULTS_SIM_NODE_H_
