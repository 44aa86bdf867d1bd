#include "tests/benchmarks/simulated_agents.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/notification.h"
#include "common/clock.h"
#include "proto/agent.grpc.pb.h"

namespace pipefill {
namespace {

constexpr int64_t kDeviceBytes = int64_t{16} << 30;
constexpr int64_t kIterationNs = 110'000'000;
constexpr absl::Duration kTick = absl::Milliseconds(5);
// As agentd has it.
constexpr absl::Duration kAcknowledgeWait = absl::Seconds(1);
constexpr int kKeepaliveMs = 10'000;
// Streams that are being made at the same time.
constexpr int64_t kDialledMax = 64;

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address) {
  grpc::ChannelArguments arguments;
  // A connection of its own, kept as agentd does.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

v1::Device MakeDevice(const std::string& node, int number, int resident_limit) {
  v1::Device device;
  device.set_node(node);
  device.set_name(absl::StrCat("gpu", number));
  device.set_backend("cpu");
  device.set_detail(absl::StrCat("cores ", 8 * number, "-", 8 * number + 7));
  device.set_memory_bytes(kDeviceBytes);
  device.set_memory_free_bytes(kDeviceBytes);
  device.set_resident_limit(resident_limit);
  v1::MainRank* rank = device.mutable_main_rank();
  rank->set_main_job("gpt");
  rank->set_rank(number);
  rank->set_ranks(8);
  rank->set_stage(number);
  rank->set_stages(8);
  rank->set_pid(4711 + number);
  rank->set_mode(v1::FILL_MODE_FILL);
  rank->set_iteration_p50_ns(kIterationNs);
  v1::FillControl* control = rank->mutable_control();
  control->set_state(v1::FILL_STATE_FILLING);
  control->set_text("filling within its budget of 1 %");
  control->set_overrun_ratio(0.2);
  control->set_slowdown(0.003);
  control->set_slowdown_low(-0.002);
  control->set_slowdown_high(0.008);
  control->set_budget_ppm(10'000);
  return device;
}

// A bubble as agentd describes it, with its latest starts.
v1::BubbleStats MakeBubble(const v1::Device& device, v1::BubbleClass kind, int ordinal) {
  v1::BubbleStats bubble;
  bubble.set_node(device.node());
  bubble.set_device(device.name());
  bubble.set_main_job(device.main_rank().main_job());
  bubble.set_rank(device.main_rank().rank());
  bubble.set_stage(device.main_rank().stage());
  bubble.set_bubble_class(kind);
  bubble.set_ordinal(ordinal);
  bubble.set_p10_ns(5'900'000);
  bubble.set_p50_ns(6'100'000);
  bubble.set_p90_ns(6'700'000);
  bubble.set_memory_free_bytes(kDeviceBytes);
  bubble.set_offer(v1::BUBBLE_OFFER_YES);
  constexpr int kUnitLengths = 16;
  for (int i = 0; i < kUnitLengths; ++i) {
    bubble.add_unit_ns(int64_t{20'000} << i);
    bubble.add_latest_start_ns(std::max<int64_t>(-1, 6'000'000 - (int64_t{20'000} << i)));
  }
  return bubble;
}

}  // namespace

// One stream. Its counters grow as those of a training run do, so that no two reports are alike.
class SimulatedAgents::Agent : public grpc::ClientBidiReactor<v1::AgentMessage, v1::AgentCommand> {
 public:
  Agent(const SimulatedAgentOptions& options, int number, Tally* tally)
      : options_(options),
        tally_(*tally),
        node_(absl::StrFormat("node-%05d", number)),
        stub_(v1::AgentService::NewStub(MakeChannel(options.address))) {
    for (int i = 0; i < options.devices; ++i) {
      v1::Device& device = *report_.mutable_report()->add_devices() =
          MakeDevice(node_, i, options.resident_limit);
      for (const auto& [kind, ordinal] :
           {std::pair(v1::BUBBLE_CLASS_HEAD, 0), std::pair(v1::BUBBLE_CLASS_MIDDLE, 0),
            std::pair(v1::BUBBLE_CLASS_SCATTERED, 3), std::pair(v1::BUBBLE_CLASS_TAIL, 0)}) {
        *report_.mutable_report()->add_bubbles() = MakeBubble(device, kind, ordinal);
      }
    }
  }
  ~Agent() override {
    if (!is_dialled_) return;
    context_.TryCancel();
    done_.WaitForNotification();
  }

  void Dial() {
    is_dialled_ = true;
    stub_->async()->Session(&context_, this);
    // Writes are started from other threads than gRPC's.
    AddHold();
    StartCall();
    v1::AgentMessage message;
    v1::AgentHello* hello = message.mutable_hello();
    hello->set_node(node_);
    hello->set_boot_id(absl::StrCat(node_, "-boot"));
    hello->set_version("bench");
    *hello->mutable_devices() = report_.report().devices();
    Send(std::move(message));
    StartRead(&command_);
  }

  // The report, and the ends that nobody has acknowledged in time.
  void Report(Instant now) {
    v1::AgentMessage message;
    {
      absl::MutexLock lock(&mutex_);
      if (!is_welcomed_ || is_silent_) return;
      Grow();
      message = report_;
      for (auto& [fence, end] : ends_) {
        if (now - end.sent_at < kAcknowledgeWait) continue;
        end.sent_at = now;
        waiting_.push_back(end.message);
      }
    }
    ++tally_.reports;
    Send(std::move(message));
  }

  // When it said its last word; nullopt if it does not run the job.
  std::optional<Instant> SilenceIf(int64_t job) {
    absl::MutexLock lock(&mutex_);
    for (const auto& [fence, key] : live_) {
      if (key.job_id() != job) continue;
      is_silent_ = true;
      return spoke_at_;
    }
    return std::nullopt;
  }

  void AddDoneJobs(std::vector<int64_t>* jobs) {
    absl::MutexLock lock(&mutex_);
    jobs->insert(jobs->end(), done_jobs_.begin(), done_jobs_.end());
  }

  // --- Called by gRPC ---

  void OnReadDone(bool ok) override {
    if (!ok) return LetGo();
    switch (command_.command_case()) {
      case v1::AgentCommand::kWelcome: {
        absl::MutexLock lock(&mutex_);
        if (!is_welcomed_) ++tally_.welcomed;
        is_welcomed_ = true;
        break;
      }
      case v1::AgentCommand::kLaunch:
        Launch(command_.launch());
        break;
      case v1::AgentCommand::kStop:
        End(command_.stop().key(), command_.stop().cause());
        break;
      case v1::AgentCommand::kEndAcknowledged: {
        absl::MutexLock lock(&mutex_);
        ends_.erase(command_.end_acknowledged().key().fence());
        break;
      }
      default:
        break;
    }
    StartRead(&command_);
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    is_writing_ = false;
    if (ok) WriteNextLocked();
  }

  void OnDone(const grpc::Status& /*status*/) override {
    ++tally_.broken;
    done_.Notify();
  }

 private:
  struct EndReport {
    v1::AgentMessage message;
    Instant sent_at;
  };

  void Launch(const v1::LaunchAttempt& launch) {
    const v1::AttemptKey& key = launch.key();
    v1::AgentMessage started;
    *started.mutable_attempt_started()->mutable_key() = key;
    started.mutable_attempt_started()->set_pid(4711);
    {
      absl::MutexLock lock(&mutex_);
      // Commands may be repeated.
      if (live_.contains(key.fence()) || ends_.contains(key.fence())) return;
      live_[key.fence()] = key;
    }
    Send(std::move(started));
    if (!options_.holds_attempts) End(key, v1::END_CAUSE_EXITED);
  }

  void End(const v1::AttemptKey& key, v1::EndCause cause) {
    v1::AgentMessage message;
    v1::AttemptEnded* ended = message.mutable_attempt_ended();
    *ended->mutable_key() = key;
    ended->set_cause(cause);
    ended->mutable_progress()->set_units(100);
    ended->mutable_progress()->set_unit_cpu_ns(100'000'000);
    ended->mutable_progress()->set_unit_cpu_in_bubble_ns(99'000'000);
    ended->mutable_progress()->set_memory_peak_bytes(int64_t{200} << 20);
    {
      absl::MutexLock lock(&mutex_);
      if (live_.erase(key.fence()) > 0 && cause == v1::END_CAUSE_EXITED) {
        done_jobs_.push_back(key.job_id());
      }
      ends_[key.fence()] = {.message = message, .sent_at = SystemClock().Now()};
    }
    Send(std::move(message));
  }

  void Grow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto iterations = static_cast<int64_t>(++reports_) * 45;
    v1::AgentReport& report = *report_.mutable_report();
    for (v1::Device& device : *report.mutable_devices()) {
      device.mutable_main_rank()->set_iterations(iterations);
      device.mutable_main_rank()->set_iteration_ns(iterations * kIterationNs);
      device.mutable_main_rank()->set_bubble_ns(iterations * kIterationNs / 5);
      device.mutable_main_rank()->mutable_control()->set_filled(iterations);
    }
    for (v1::BubbleStats& bubble : *report.mutable_bubbles()) {
      bubble.set_count(iterations);
      bubble.set_bubble_ns(iterations * bubble.p50_ns());
      bubble.set_offered_ns(iterations * bubble.p50_ns());
      bubble.set_filled_ns(iterations * bubble.p10_ns());
      bubble.set_units(iterations * 4);
    }
    report.clear_progress();
    for (const auto& [fence, key] : live_) {
      v1::AttemptProgress* progress = report.add_progress();
      *progress->mutable_key() = key;
      progress->mutable_progress()->set_units(iterations * 4);
      progress->mutable_progress()->set_unit_cpu_ns(iterations * 4'000'000);
      progress->mutable_progress()->set_unit_cpu_in_bubble_ns(iterations * 3'900'000);
    }
  }

  void Send(v1::AgentMessage message) {
    absl::MutexLock lock(&mutex_);
    waiting_.push_back(std::move(message));
    WriteNextLocked();
  }

  void WriteNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_writing_ || waiting_.empty() || !is_held_ || is_silent_) return;
    outgoing_ = std::move(waiting_.front());
    waiting_.pop_front();
    is_writing_ = true;
    spoke_at_ = SystemClock().Now();
    StartWrite(&outgoing_);
  }

  void LetGo() {
    {
      absl::MutexLock lock(&mutex_);
      is_held_ = false;
    }
    RemoveHold();
  }

  const SimulatedAgentOptions& options_;
  Tally& tally_;
  const std::string node_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  bool is_dialled_ = false;
  // Used by reads only, of which there is one at a time.
  v1::AgentCommand command_;
  absl::Notification done_;

  // Reads and writes end on gRPC's threads, reports come from the loop.
  absl::Mutex mutex_;
  v1::AgentMessage report_ ABSL_GUARDED_BY(mutex_);
  int64_t reports_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<v1::AgentMessage> waiting_ ABSL_GUARDED_BY(mutex_);
  v1::AgentMessage outgoing_ ABSL_GUARDED_BY(mutex_);
  Instant spoke_at_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_held_ ABSL_GUARDED_BY(mutex_) = true;
  bool is_welcomed_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_silent_ ABSL_GUARDED_BY(mutex_) = false;
  // By fence.
  absl::flat_hash_map<uint64_t, v1::AttemptKey> live_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, EndReport> ends_ ABSL_GUARDED_BY(mutex_);
  std::vector<int64_t> done_jobs_ ABSL_GUARDED_BY(mutex_);
};

SimulatedAgents::SimulatedAgents(const SimulatedAgentOptions& options)
    : options_(options), loop_(EventLoop::Create()) {
  agents_.reserve(static_cast<size_t>(options.agents));
  for (int i = 0; i < options.agents; ++i) {
    agents_.push_back(std::make_unique<Agent>(options_, i, &tally_));
  }
}

SimulatedAgents::~SimulatedAgents() {
  loop_->Stop();
  thread_ = nullptr;
  agents_.clear();
}

bool SimulatedAgents::Connect(absl::Duration patience) {
  const Instant deadline = SystemClock().Now() + patience;
  const auto has_time = [&] { return SystemClock().Now() < deadline && tally_.broken == 0; };
  reports_begin_ = SystemClock().Now();
  loop_->Post([this] { RunReports(); });
  thread_ = std::make_unique<OwnerThread>("reports", [this] { loop_->Run(); });
  int64_t dialled = 0;
  while (dialled < options_.agents && has_time()) {
    if (dialled - tally_.welcomed >= kDialledMax) {
      Watch(kTick);
      continue;
    }
    agents_[static_cast<size_t>(dialled)]->Dial();
    ++dialled;
  }
  while (tally_.welcomed < options_.agents && has_time()) Watch(kTick);
  return tally_.welcomed == options_.agents;
}

void SimulatedAgents::Pause(absl::Duration length) const {
  absl::Notification never;
  never.WaitForNotificationWithTimeout(length);
}

bool SimulatedAgents::Watch(absl::Duration length) const {
  const Instant deadline = SystemClock().Now() + length;
  while (tally_.broken == 0) {
    const absl::Duration left = deadline - SystemClock().Now();
    if (left <= absl::ZeroDuration()) return true;
    Pause(std::min(left, absl::Milliseconds(100)));
  }
  return false;
}

void SimulatedAgents::RunReports() {
  const Instant now = SystemClock().Now();
  // A report is due a fraction of the period later than the one before. Neighbours, who get jobs at
  // the same time, are far from each other.
  constexpr int64_t kStride = 7'919;  // a prime
  const absl::Duration step = options_.report_period / options_.agents;
  for (; reports_begin_ + step * reports_due_ <= now; ++reports_due_) {
    agents_[static_cast<size_t>(reports_due_ * kStride % options_.agents)]->Report(now);
  }
  loop_->PostAt(now + kTick, [this] { RunReports(); });
}

std::vector<int64_t> SimulatedAgents::DoneJobs() const {
  std::vector<int64_t> jobs;
  for (const auto& agent : agents_) agent->AddDoneJobs(&jobs);
  return jobs;
}

std::optional<Instant> SimulatedAgents::Silence(int64_t job) {
  for (const auto& agent : agents_) {
    const std::optional<Instant> spoke_at = agent->SilenceIf(job);
    if (spoke_at.has_value()) return spoke_at;
  }
  return std::nullopt;
}

}  // namespace pipefill
