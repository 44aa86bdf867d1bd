#include "agent/agent.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "absl/random/random.h"
#include "absl/synchronization/notification.h"
#include "agent/agent_loop.h"
#include "agent/agent_settings.h"
#include "agent/device_state.h"
#include "agent/devices/device_factory.h"
#include "agent/end_sync.h"
#include "agent/grpc_stream.h"
#include "agent/local_service.h"
#include "agent/main_job_board.h"
#include "agent/scheduler_session.h"
#include "agent/tasks/attempt_folders.h"
#include "agent/tasks/checkpoint_folders.h"
#include "agent/tasks/task_group.h"
#include "agent/trace_writer.h"
#include "common/environment.h"
#include "common/files.h"
#include "common/log.h"
#include "common/owner_thread.h"
#include "common/status.h"

namespace pipefill {
namespace {

// What a task sees of agentd's own environment.
constexpr const char* kInheritedVariables[] = {"PATH", "HOME", "USER",   "LOGNAME",
                                               "LANG", "TZ",   "TMPDIR", "PYTHONPATH"};
constexpr absl::Duration kShutdownGrace = absl::Seconds(5);
constexpr char kDefaultPath[] = "/usr/local/bin:/usr/bin:/bin";

std::map<std::string, std::string> InheritedEnvironment() {
  std::map<std::string, std::string> environment;
  for (const char* name : kInheritedVariables) {
    const std::string value = EnvironmentOr(name, "");
    if (!value.empty()) environment[name] = value;
  }
  environment.emplace("PATH", kDefaultPath);
  return environment;
}

v1::TraceStart MakeTraceStart(const AgentSettings& settings, const Clock& clock) {
  v1::TraceStart start;
  start.set_node(settings.node);
  start.set_now_ns(clock.Now().ns());
  start.set_now_unix_ns(absl::ToUnixNanos(clock.WallNow()));
  start.set_hold_out_block_iterations(settings.window.hold_out.block_iterations);
  start.set_hold_out_one_in(settings.window.hold_out.one_in);
  start.set_hold_out_early_iterations(settings.window.hold_out.early_iterations);
  start.set_hold_out_one_in_late(settings.window.hold_out.one_in_late);
  return start;
}

NodeResources ThisNode() { return {.cores = AllowedCores(), .memory_bytes = MemoryTotalBytes()}; }

IdleGroup MakeIdleGroup() {
  IdleGroup group = IdleGroup::Make(ReadFile("/proc/mounts").value_or(""));
  if (group.is_certain()) {
    spdlog::info("tasks_held_back by=\"{}\"", group.detail());
  } else {
    spdlog::warn(
        "tasks_held_back by=\"{}\"; a waking rank may wait for milliseconds: run agentd as root "
        "where it can make a control group of the cpu controller",
        group.detail());
  }
  return group;
}

TaskGroups MakeTaskGroups(const std::string& socket) {
  return TaskGroups(ReadFile("/proc/mounts").value_or(""),
                    ReadFile("/proc/self/cgroup").value_or(""), socket);
}

// Beside the program that runs; in a build tree, where it was built.
std::string FindProcessGate(const std::string& configured) {
  if (!configured.empty()) return configured;
  std::error_code error;
  const std::filesystem::path folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* place : {"pipefill-process", "../client/process/pipefill-process"}) {
    const std::filesystem::path path = (folder / place).lexically_normal();
    if (access(path.c_str(), X_OK) == 0) return path.string();
  }
  spdlog::warn(
      "process_gate_missing folder={}; process jobs cannot run here: install pipefill-process "
      "there, or set process_gate",
      folder.string());
  return "";
}

class RunningAgent : public Agent {
 public:
  RunningAgent(AgentSettings settings, DeviceList devices)
      : settings_(std::move(settings)),
        devices_(std::move(devices)),
        main_jobs_(settings_.controller.budget_ppm),
        checkpoints_(settings_.checkpoint_dir),
        loop_(EventLoop::Create()) {}
  ~RunningAgent() override { StopWithin(absl::ZeroDuration()); }

  absl::Status Start(const AgentDependencies& dependencies);
  void Shutdown() override { StopWithin(kShutdownGrace); }

 private:
  void StopWithin(absl::Duration grace);
  absl::Status OpenState(const Clock& clock);

  // In order of dependence: each needs only what stands above it.
  const AgentSettings settings_;
  const DeviceList devices_;
  MainJobBoard main_jobs_;
  const CheckpointFolders checkpoints_;
  absl::BitGen random_;
  const std::unique_ptr<EventLoop> loop_;
  FileDescriptor lock_;
  std::unique_ptr<TraceWriter> trace_;
  std::optional<AttemptFolders> folders_;
  std::unique_ptr<EndSync> end_sync_;
  DeviceStates states_;
  std::unique_ptr<AgentLoop> router_;
  std::unique_ptr<LocalService> service_;
  std::unique_ptr<SchedulerSession> session_;
  std::optional<OwnerThread> thread_;
};

absl::Status RunningAgent::OpenState(const Clock& clock) {
  RETURN_IF_ERROR(WithContext(MakeWritableFolder(settings_.state_dir), "state_dir"));
  ASSIGN_OR_RETURN(lock_, LockFolder(settings_.state_dir));
  ASSIGN_OR_RETURN(trace_, TraceWriter::Open({.folder = settings_.state_dir + "/trace",
                                              .size_max_bytes = settings_.trace_max_bytes,
                                              .start = MakeTraceStart(settings_, clock)}));
  ASSIGN_OR_RETURN(folders_, AttemptFolders::Open(settings_.state_dir));
  end_sync_ = std::make_unique<EndSync>(
      [this](const AttemptKey& key) { return folders_->SyncRecord(key); });
  RETURN_IF_ERROR(WithContext(MakeWritableFolder(settings_.checkpoint_dir), "checkpoint_dir"));
  const int64_t unix_offset_ns = absl::ToUnixNanos(clock.WallNow()) - clock.Now().ns();
  for (const auto& device : devices_) {
    ASSIGN_OR_RETURN(
        std::unique_ptr<DeviceState> state,
        DeviceState::Create(*device,
                            {.node = settings_.node,
                             .window = settings_.window,
                             .predictor = settings_.predictor,
                             .standstill = {.stall = {.after = settings_.failure.after},
                                            .unit_max = settings_.failure.unit_max},
                             .unix_offset_ns = unix_offset_ns},
                            {.trace = *trace_, .main_jobs = main_jobs_}));
    states_.push_back(std::move(state));
  }
  return absl::OkStatus();
}

absl::Status RunningAgent::Start(const AgentDependencies& dependencies) {
  RETURN_IF_ERROR(OpenState(dependencies.clock));
  router_ = std::make_unique<AgentLoop>(
      AgentParts{.loop = *loop_,
                 .settings = settings_,
                 .devices = devices_,
                 .states = states_,
                 .main_jobs = main_jobs_,
                 .folders = *folders_,
                 .checkpoints = checkpoints_,
                 .trace = *trace_,
                 .end_sync = *end_sync_,
                 .boot_id = RandomToken()},
      SupervisorOptions{.environment = InheritedEnvironment(),
                        .socket = settings_.socket,
                        .python_path = settings_.python_path,
                        .log_max_bytes = settings_.log_max_bytes,
                        .checkpoint_dir = settings_.checkpoint_dir,
                        .checkpoint_every_min = settings_.checkpoint_every_min,
                        .checkpoint_every_max = settings_.checkpoint_every_max,
                        .limits = settings_.task_limits,
                        .groups = MakeTaskGroups(settings_.socket),
                        .process_gate = FindProcessGate(settings_.process_gate)});
  ASSIGN_OR_RETURN(
      service_, LocalService::Create(
                    *loop_, {.path = settings_.socket, .group = settings_.socket_group}, *router_));
  session_ = std::make_unique<SchedulerSession>(
      SchedulerSession::Surroundings{.loop = *loop_,
                                     .dial = DialOverGrpc(settings_.scheduler),
                                     .random = [this] { return absl::Uniform(random_, 0.0, 1.0); }},
      SessionOptions{.target = settings_.scheduler, .contact = {}}, *router_);
  router_->Start(*service_, *session_);
  thread_.emplace("agent-loop", [this] { loop_->Run(); });
  spdlog::info("agentd_ready node={} socket={} devices={} scheduler={}", settings_.node,
               settings_.socket, devices_.size(), settings_.scheduler);
  return absl::OkStatus();
}

void RunningAgent::StopWithin(absl::Duration grace) {
  if (!thread_.has_value()) return;
  absl::Notification done;
  loop_->Post([&] { router_->Shutdown(grace, [&] { done.Notify(); }); });
  done.WaitForNotification();
  loop_->Stop();
  thread_.reset();
}

}  // namespace

absl::Status Agent::CheckConfig(const v1::AgentConfig& config) {
  RETURN_IF_ERROR(ReadSettings(config, HostName()).status());
  return MakeDevices(config, ThisNode()).status();
}

absl::StatusOr<std::unique_ptr<Agent>> Agent::Create(const v1::AgentConfig& config,
                                                     const AgentDependencies& dependencies) {
  ASSIGN_OR_RETURN(AgentSettings settings, ReadSettings(config, HostName()));
  NodeResources node = ThisNode();
  node.idle_group = MakeIdleGroup();
  ASSIGN_OR_RETURN(DeviceList devices, MakeDevices(config, node));
  auto agent = std::make_unique<RunningAgent>(std::move(settings), std::move(devices));
  RETURN_IF_ERROR(agent->Start(dependencies));
  return agent;
}

}  // namespace pipefill
