#include "scheduler/server.h"

#include <grpc/support/log.h>
#include <grpcpp/ext/health_check_service_server_builder_option.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/environment.h"
#include "common/exit_code.h"
#include "common/files.h"
#include "common/log.h"
#include "common/loop.h"
#include "common/owner_thread.h"
#include "common/status.h"
#include "common/version.h"
#include "planner/policies/by_name.h"
#include "scheduler/journal/disk_reserve.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/snapshot_store.h"
#include "scheduler/journal/snapshot_thread.h"
#include "scheduler/journal/sqlite_journal.h"
#include "scheduler/scheduler_loop.h"
#include "scheduler/service/agent_service.h"
#include "scheduler/service/scheduler_service.h"
#include "scheduler/settings.h"
#include "scheduler/watch/watch_hub.h"

namespace pipefill {
namespace {

using scheduler::Settings;

// A report of one device and four bubbles has 1.4 KiB; more is read when more comes.
constexpr int kReadBytes = 2 << 10;
// Breaks a stream whose other side has vanished without a word. Agents are given up sooner.
constexpr int kKeepAliveMs = 30'000;
constexpr int kKeepAliveTimeoutMs = 10'000;
// Digits of the name of a run.
constexpr size_t kBootLength = 16;

scheduler::ClusterLimits LimitsOf(const Settings& settings) {
  scheduler::ClusterLimits limits;
  limits.jobs_max = settings.jobs_max;
  limits.history_keep = settings.history_keep;
  limits.history_jobs_max = settings.history_jobs_max;
  limits.agent_lease = settings.agent_lease;
  limits.agent_lost_after = settings.agent_lost_after;
  limits.tenants = settings.tenants;
  limits.fair_half_life = settings.fair_half_life;
  limits.refusals = settings.refusals;
  limits.eviction_hold = settings.eviction_hold;
  limits.array_window = settings.array_window;
  limits.array_history_max = settings.array_history_max;
  return limits;
}

scheduler::LoopLimits LoopLimitsOf(const Settings& settings) {
  scheduler::LoopLimits limits;
  limits.keep_alive_period = settings.agent_lease / 3;
  limits.report_period = settings.report_period;
  limits.compaction.snapshot_every = settings.snapshot_every;
  limits.requests_max = static_cast<size_t>(settings.limits.requests_max);
  return limits;
}

scheduler::AgentTerms TermsOf(const Settings& settings) {
  scheduler::AgentTerms terms;
  terms.lease = settings.agent_lease;
  terms.report_period = settings.report_period;
  return terms;
}

// Memory is ahead of disk: going on would break promises, a restart recovers.
void EndProcess(const absl::Status& status) {
  spdlog::critical("journal_failed why=\"{}\"; schedulerd ends now, restart it to recover",
                   status.message());
  spdlog::default_logger()->flush();
  _exit(kExitFailure);
}

void LogRecovery(const Settings& settings, const scheduler::SqliteJournal& journal,
                 const scheduler::Recovered& recovered) {
  for (const std::string& warning : journal.warnings()) spdlog::warn("store: {}", warning);
  for (const std::string& warning : recovered.warnings) spdlog::warn("store: {}", warning);
  const scheduler::JobCounts counts = recovered.state.counts();
  spdlog::info("state_recovered folder={} pending={} running={} ended={} snapshot={} records={}",
               settings.state_dir, counts.pending, counts.running, counts.ended,
               recovered.snapshot_sequence, recovered.records);
}

// gRPC's own lines are for developers: what matters comes back as a status.
void LogForGrpc(gpr_log_func_args* line) {
  spdlog::debug("grpc {}:{} {}", line->file, line->line, line->message);
}

struct Listening {
  std::unique_ptr<grpc::Server> server;
  std::string address;
};

absl::StatusOr<Listening> Listen(const Settings& settings, grpc::Service* users,
                                 grpc::Service* agents) {
  const std::string& address = settings.listen;
  gpr_set_log_function(LogForGrpc);
  grpc::EnableDefaultHealthCheckService(true);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(users);
  builder.RegisterService(agents);
  const auto message_max_bytes = static_cast<int>(settings.limits.message_max_bytes);
  builder.SetMaxReceiveMessageSize(message_max_bytes);
  builder.SetMaxSendMessageSize(message_max_bytes);
  // Without this a second schedulerd would share the port instead of failing.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  // Messages are small: asking for the bandwidth would cost a ping for nearly each of them.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  // What each of thousands of connections holds while it waits: a buffer for the next message, and
  // a record of itself that nobody reads.
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_CHANNELZ, 0);
  Listening listening;
  listening.server = builder.BuildAndStart();
  if (listening.server == nullptr || port == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("listen on ", address,
                     " failed: the address is in use, or not of this host; choose another with "
                     "listen"));
  }
  listening.address = absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
  return listening;
}

// Makes the policy again and again, from what its scripts say now: they may be changed later.
scheduler::JobPlanner::PolicyMaker MakerOf(const std::string& name) {
  std::map<std::string, std::string> scripts;
  MakePolicyByName(name, [&](const std::string& file) -> absl::StatusOr<std::string> {
    ASSIGN_OR_RETURN(scripts[file], ReadFile(file));
    return scripts[file];
  }).value();
  return [name, scripts] {
    return *MakePolicyByName(name, [&](const std::string& file) -> absl::StatusOr<std::string> {
      return scripts.at(file);
    });
  };
}

}  // namespace

// In the order in which they are made; each uses only what stands before it.
struct Server::Parts {
  Parts(const Settings& settings_in, const ServerDependencies& dependencies,
        std::unique_ptr<scheduler::SqliteJournal> journal_in, scheduler::Recovered recovered)
      : settings(settings_in),
        journal(std::move(journal_in)),
        snapshots(settings.state_dir),
        space(settings.state_dir, settings.disk_reserve_bytes),
        policy(*MakePolicyByName(settings.policy, ReadFile)),
        fallback(*MakePolicyByName(settings.fallback_policy, ReadFile)),
        planner({.tenants = settings.tenants,
                 .heard_within = settings.agent_lost_after - settings.agent_lease},
                MakerOf(settings.policy), MakerOf(settings.fallback_policy)),
        events(EventLoop::Create()),
        edge(EventLoop::Create()),
        snapshot_thread(snapshots),
        board([this] { watch.OnPublished(); }),
        watch({dependencies.clock, *edge, board}, settings.limits),
        streams(TermsOf(settings)),
        relay(settings.limits.questions_max),
        loop({.loop = *events,
              .clock = dependencies.clock,
              .journal = *journal,
              .agents = streams,
              .policy = *policy,
              .fallback = fallback.get(),
              .board = board,
              .on_fatal = EndProcess,
              .snapshots = &snapshot_thread,
              .space = &space},
             LoopLimitsOf(settings), std::move(recovered.state),
             {.snapshot_sequence = recovered.snapshot_sequence,
              .older_snapshot_sequence = recovered.older_snapshot_sequence,
              .snapshot_at = recovered.snapshot_at}),
        users({dependencies.clock, *edge, loop, board, watch, streams, relay, planner},
              {.limits = {.default_memory_bytes = settings.default_memory_bytes,
                          .spec_max_bytes = settings.spec_max_bytes,
                          .default_min_runtime = settings.min_runtime,
                          .array_tasks_max = settings.array_tasks_max},
               .room = settings.limits,
               .version = kVersion,
               .policy = settings.policy,
               .history_keep = settings.history_keep,
               .history_jobs_max = settings.history_jobs_max,
               .boot = RandomToken().substr(0, kBootLength)}),
        agents({loop, streams, relay}, settings.limits.agents_max) {}

  const Settings settings;
  const std::unique_ptr<scheduler::SqliteJournal> journal;
  scheduler::FileSnapshotStore snapshots;
  scheduler::DiskReserve space;
  const std::unique_ptr<Policy> policy;
  const std::unique_ptr<Policy> fallback;
  // Of jobs that are not submitted.
  const scheduler::JobPlanner planner;
  const std::unique_ptr<EventLoop> events;
  // Of watches, and of timers for calls: what must go on while the scheduler loop is busy.
  const std::unique_ptr<EventLoop> edge;
  // Posts to `events`.
  scheduler::SnapshotThread snapshot_thread;
  scheduler::ViewBoard board;
  scheduler::WatchHub watch;
  scheduler::AgentStreams streams;
  scheduler::ContentRelay relay;
  scheduler::SchedulerLoop loop;
  scheduler::SchedulerService users;
  scheduler::AgentService agents;
  // Run `events` and `edge`.
  std::unique_ptr<OwnerThread> thread;
  std::unique_ptr<OwnerThread> edge_thread;
  Listening listening;
};

absl::Status Server::CheckConfig(const v1::SchedulerConfig& config) {
  return scheduler::ReadSettings(config, ReadFile).status();
}

absl::StatusOr<std::unique_ptr<Server>> Server::Create(const v1::SchedulerConfig& config,
                                                       const ServerDependencies& dependencies) {
  ASSIGN_OR_RETURN(const Settings settings, scheduler::ReadSettings(config, ReadFile));
  ASSIGN_OR_RETURN(std::unique_ptr<scheduler::SqliteJournal> journal,
                   scheduler::SqliteJournal::Open(settings.state_dir));
  scheduler::FileSnapshotStore snapshots(settings.state_dir);
  ASSIGN_OR_RETURN(scheduler::Recovered recovered,
                   RecoverStore(*journal, snapshots, LimitsOf(settings), dependencies.clock.Now()));
  LogRecovery(settings, *journal, recovered);
  RETURN_IF_ERROR(SetAsideDamaged(recovered, snapshots));
  auto parts =
      std::make_unique<Parts>(settings, dependencies, std::move(journal), std::move(recovered));
  // The destructor of `server` ends what has begun if a step below fails.
  auto server = std::unique_ptr<Server>(new Server(std::move(parts)));
  Parts& made = *server->parts_;
  made.loop.Start();
  made.thread = std::make_unique<OwnerThread>("scheduler", [&made] { made.events->Run(); });
  made.edge_thread = std::make_unique<OwnerThread>("edge", [&made] { made.edge->Run(); });
  ASSIGN_OR_RETURN(made.listening, Listen(settings, &made.users, &made.agents));
  spdlog::info("serving address={} policy={}", made.listening.address, settings.policy);
  if (!settings.address_file.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(settings.address_file, made.listening.address + "\n"));
  }
  return server;
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Shutdown(); }

std::string Server::address() const { return parts_->listening.address; }

void Server::Shutdown() {
  if (parts_->loop.is_stalled()) {
    // Calls would wait for the disk, and their ends for them.
    EndProcess(absl::UnavailableError(
        "stopped while the disk is full: requests that waited have no answer and are not kept"));
  }
  if (parts_->listening.server != nullptr) {
    // A deadline that is past: calls and streams end now. The loop still answers them.
    parts_->listening.server->Shutdown(gpr_inf_past(GPR_CLOCK_MONOTONIC));
    parts_->listening.server->Wait();
    parts_->listening.server = nullptr;
  }
  if (parts_->thread != nullptr) {
    parts_->events->Stop();
    parts_->thread = nullptr;
  }
  if (parts_->edge_thread != nullptr) {
    parts_->edge->Stop();
    parts_->edge_thread = nullptr;
  }
}

}  // namespace pipefill
