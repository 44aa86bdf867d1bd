// Routes between agentd's parts; decides nothing itself.
//
//   local service --> attach requests --> device state     --> pages back
//   schedulerd    --> settings        --> main job board   --> device states: gates
//   schedulerd    --> launch, stop    --> attempt desk     --> task supervisor
//   supervisor    --> started, ended  --> attempt desk     --> schedulerd
//   timers: drain (10 ms) --> device states: rings, windows, heartbeat, parked or not; trace;
//                             main job controls: what filling costs --> lambda, back-off
//           watch (50 ms) --> supervisor: memory, CPU, units that overstay
//           report (1 s)  --> schedulerd: devices, bubbles, progress; ends not acknowledged
//
// Without schedulerd main jobs are served as ever, and tasks stay, parked once its lease is over.
//
// Runs on the agent loop.
#ifndef AGENT_AGENT_LOOP_H_
#define AGENT_AGENT_LOOP_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/agent_settings.h"
#include "agent/attempt_desk.h"
#include "agent/device_state.h"
#include "agent/devices/device.h"
#include "agent/end_sync.h"
#include "agent/local_service.h"
#include "agent/main_job_board.h"
#include "agent/main_job_controls.h"
#include "agent/scheduler_session.h"
#include "agent/tasks/attempt_folders.h"
#include "agent/tasks/checkpoint_folders.h"
#include "agent/tasks/task_supervisor.h"
#include "agent/trace_writer.h"
#include "common/loop.h"

namespace pipefill {

// All outlive the loop object; `devices` and `states` have the same order.
struct AgentParts {
  EventLoop& loop;
  const AgentSettings& settings;
  const DeviceList& devices;
  const DeviceStates& states;
  MainJobBoard& main_jobs;
  const AttemptFolders& folders;
  const CheckpointFolders& checkpoints;
  TraceWriter& trace;
  EndSync& end_sync;
  std::string boot_id;
};

class AgentLoop : public AttachHandler,
                  public TaskListener,
                  public SessionHandler,
                  private AttemptHost {
 public:
  AgentLoop(const AgentParts& parts, SupervisorOptions supervisor_options);

  // Takes over what a former agentd left, then starts the timers. Both outlive this object.
  void Start(LocalService& service, SchedulerSession& session);
  // Stops all tasks (or leaves them, with keep_tasks_at_stop), tells schedulerd if it is there,
  // then calls `done`, at the latest some seconds after `grace`.
  void Shutdown(absl::Duration grace, std::function<void()> done);

  // AttachHandler.
  AttachAnswer OnAttachRank(const Peer& peer, const RankRequest& request) override;
  AttachAnswer OnAttachTask(const Peer& peer, const TaskRequest& request) override;
  void OnMapped(ConnectionId connection) override;
  PageGrant OnSignalRequest(ConnectionId connection) override;
  void OnConnectionEnded(ConnectionId connection) override;

  // TaskListener.
  void OnTaskStarted(const AttemptSpec& spec, pid_t pid) override;
  void OnTaskShouldStop(const AttemptKey& key) override;
  void OnTaskEnded(const AttemptSpec& spec, const AttemptEnd& end, const TaskUse& use) override;

  // SessionHandler.
  v1::AgentHello MakeHello() override;
  void OnConnected() override;
  void OnCommand(const v1::AgentCommand& command) override;

 private:
  // AttemptHost.
  absl::Status CheckRoom(const AttemptSpec& spec) const override;
  void StartTask(const AttemptSpec& spec) override;
  bool StopTask(const AttemptKey& key, const StopRequest& request) override {
    return supervisor_.Stop(key, request);
  }
  const AttemptSpec* FindTask(const AttemptKey& key) const override {
    return supervisor_.Find(key);
  }
  std::vector<AttemptKey> LiveTasks() const override { return supervisor_.live(); }
  pid_t PidOf(const AttemptKey& key) const override { return supervisor_.PidOf(key); }
  void SyncEnd(const AttemptKey& key, std::function<void(const absl::Status&)> done) override;
  void RemoveRecord(const AttemptKey& key) override { parts_.folders.RemoveRecord(key); }
  void RemoveCheckpoints(JobId job, int64_t submitted_unix_ns) override {
    parts_.checkpoints.Remove(job, submitted_unix_ns);
  }
  void Tell(v1::AgentMessage message) override { session_->Send(std::move(message)); }

  void Inherit();
  v1::FillProgress ReadProgress(const AttemptKey& key) const;
  // Also keeps it for the next agentd. REQUIRES: the attempt is live.
  v1::FillProgress ProgressOf(const AttemptKey& key) const;
  void Every(absl::Duration period, std::function<void()> body);
  void Drain();
  void Watch();
  // Looks at processes and memory, and reports if it is time to.
  void Report();
  void ReportNow();
  void FinishShutdown(Instant give_up_at, std::function<void()> done);

  // Once each time that schedulerd falls silent, well before the gates are parked for it.
  void OrderSavesIfFading(Instant now);
  void SetMainJob(const v1::MainJobSettings& settings);
  // False if nothing changed for any device.
  bool OnSettingsChanged();
  v1::ContentReply Read(const v1::ContentRequest& request) const;
  absl::StatusOr<v1::ReadContentResponse> ReadContent(const v1::ReadContentRequest& request) const;

  // Null if there is none of that name.
  DeviceState* FindState(absl::string_view device) const;
  std::vector<v1::Device> DescribeDevices(const ProcessTable& processes) const;

  const AgentParts parts_;
  EventLoop& loop_;
  TaskSupervisor supervisor_;
  AttemptDesk desk_;
  MainJobControls controls_;
  LocalService* service_ = nullptr;
  SchedulerSession* session_ = nullptr;
  // Of accepted connections.
  std::map<ConnectionId, DeviceState*> connections_;
  // Of the newest stream.
  std::set<std::string> main_jobs_named_;
  bool is_parked_ = true;
  bool is_fading_ = false;
  bool is_stopping_ = false;
  int64_t watches_ = 0;
  Instant report_due_;
};

}  // namespace pipefill

#endif  // AGENT_AGENT_LOOP_H_
