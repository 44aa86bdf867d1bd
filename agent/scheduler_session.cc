#include "agent/scheduler_session.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "common/log.h"
#include "common/status_grpc.h"
#include "proto/agent.grpc.pb.h"

namespace pipefill {
namespace {

constexpr int kKeepaliveMs = 10'000;
constexpr int kMessageBytesMax = 16 << 20;
// A period that makes no sense is brought into this range.
constexpr absl::Duration kReportPeriodMin = absl::Seconds(1);
constexpr absl::Duration kReportPeriodMax = absl::Minutes(1);

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target) {
  grpc::ChannelArguments arguments;
  // A channel of its own per dial, so that the back-off is ours and not gRPC's.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Notices a peer that is gone without a word.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  // The messages of a session are small: see scheduler/server.cc.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

// Callbacks come on gRPC's threads and only post. Starting reads and writes is the loop's business,
// so a hold keeps the call alive until the loop has let go.
class SchedulerSession::Stream
    : public grpc::ClientBidiReactor<v1::AgentMessage, v1::AgentCommand> {
 public:
  Stream(SchedulerSession& session, uint64_t id, const std::string& target)
      : session_(session), id_(id), stub_(v1::AgentService::NewStub(MakeChannel(target))) {
    stub_->async()->Session(&context_, this);
    AddHold();
    StartCall();
  }
  ~Stream() override {
    Cancel();
    LetGo();
    done_.WaitForNotification();
  }

  void Read() { StartRead(&command_); }
  void Write(v1::AgentMessage message) {
    message_ = std::move(message);
    StartWrite(&message_);
  }
  void Cancel() { context_.TryCancel(); }
  // No reads and writes are started any more.
  void LetGo() {
    if (std::exchange(is_held_, false)) RemoveHold();
  }

  const v1::AgentCommand& command() const { return command_; }

  void OnReadDone(bool ok) override {
    session_.PostFor(id_, [session = &session_, ok] { session->OnRead(ok); });
  }
  void OnWriteDone(bool ok) override {
    session_.PostFor(id_, [session = &session_, ok] { session->OnWritten(ok); });
  }
  void OnDone(const grpc::Status& status) override {
    session_.PostFor(id_,
                     [session = &session_, status = FromGrpc(status)] { session->OnDone(status); });
    done_.Notify();  // last: the loop may destroy this at once
  }

 private:
  SchedulerSession& session_;
  const uint64_t id_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  v1::AgentCommand command_;
  v1::AgentMessage message_;
  bool is_held_ = true;
  absl::Notification done_;
};

SchedulerSession::SchedulerSession(EventLoop& loop, SessionOptions options,
                                   std::function<double()> random, SessionHandler& handler)
    : loop_(loop),
      options_(std::move(options)),
      random_(std::move(random)),
      handler_(handler),
      contact_(options_.contact) {}

SchedulerSession::~SchedulerSession() {
  loop_.Cancel(timer_);
  stream_.reset();
}

void SchedulerSession::PostFor(uint64_t stream_id, std::function<void()> body) {
  loop_.Post([this, stream_id, body = std::move(body)] {
    if (stream_ != nullptr && stream_id == stream_id_) body();
  });
}

void SchedulerSession::Start() {
  if (state_ == State::kIdle) Dial();
}

void SchedulerSession::Stop() {
  state_ = State::kStopped;
  loop_.Cancel(timer_);
  waiting_.clear();
  if (stream_ != nullptr) stream_->Cancel();
}

void SchedulerSession::Dial() {
  state_ = State::kDialling;
  is_writing_ = false;
  waiting_.clear();
  stream_ = std::make_unique<Stream>(*this, ++stream_id_, options_.target);
  v1::AgentMessage hello;
  *hello.mutable_hello() = handler_.MakeHello();
  waiting_.push_back(std::move(hello));
  WriteNext();
  stream_->Read();
  timer_ = loop_.PostAt(loop_.Now() + options_.welcome_within, [this] {
    if (state_ == State::kDialling && stream_ != nullptr) stream_->Cancel();
  });
}

void SchedulerSession::DialLater() {
  timer_ = loop_.PostAt(loop_.Now() + contact_.NextBackoff(random_()), [this] {
    if (state_ == State::kDialling) Dial();
  });
}

void SchedulerSession::OnRead(bool ok) {
  if (!ok) {
    // Nothing may be written from now on.
    if (state_ == State::kConnected) state_ = State::kDialling;
    waiting_.clear();
    stream_->LetGo();
    return;
  }
  const v1::AgentCommand command = stream_->command();
  stream_->Read();
  const Instant now = loop_.Now();
  // One that tells nothing counts from its arrival.
  const Instant confirmed =
      command.heard_sent_ns() <= 0 ? now : Instant::FromNs(command.heard_sent_ns());
  contact_.OnMessage(confirmed, now);
  if (state_ == State::kStopped) return;
  if (command.has_welcome()) {
    contact_.OnWelcome(absl::Nanoseconds(command.welcome().lease_ns()), confirmed, now);
    report_period_ = std::clamp(absl::Nanoseconds(command.welcome().report_period_ns()),
                                kReportPeriodMin, kReportPeriodMax);
    if (state_ == State::kConnected) return;
    state_ = State::kConnected;
    loop_.Cancel(timer_);
    last_error_ = std::nullopt;
    spdlog::info("scheduler_connected target={} lease={}", options_.target,
                 absl::Nanoseconds(command.welcome().lease_ns()));
    handler_.OnConnected();
    return;
  }
  if (command.has_keep_alive()) return;
  const bool is_before_welcome = command.has_main_job_settings() || command.has_stop();
  if (state_ == State::kConnected || is_before_welcome) handler_.OnCommand(command);
}

void SchedulerSession::OnWritten(bool ok) {
  is_writing_ = false;
  // A failed write: the read fails too, and that ends the stream.
  if (ok) WriteNext();
}

void SchedulerSession::WriteNext() {
  if (is_writing_ || waiting_.empty() || stream_ == nullptr) return;
  is_writing_ = true;
  waiting_.front().set_sent_ns(loop_.Now().ns());
  stream_->Write(std::move(waiting_.front()));
  waiting_.pop_front();
}

void SchedulerSession::Send(v1::AgentMessage message) {
  if (state_ != State::kConnected) return;
  if (message.has_report()) {
    const auto old = std::find_if(waiting_.begin(), waiting_.end(),
                                  [](const v1::AgentMessage& other) { return other.has_report(); });
    if (old != waiting_.end()) waiting_.erase(old);
  }
  if (waiting_.size() >= options_.waiting_max) {
    spdlog::warn("message_dropped limit={}", options_.waiting_max);
    waiting_.pop_front();
  }
  waiting_.push_back(std::move(message));
  WriteNext();
}

bool SchedulerSession::is_drained() const {
  return state_ != State::kConnected || (waiting_.empty() && !is_writing_);
}

void SchedulerSession::OnDone(const absl::Status& status) {
  stream_.reset();
  loop_.Cancel(timer_);
  if (state_ == State::kStopped) return;
  const std::string error(status.message());
  if (error != last_error_) {
    spdlog::warn("scheduler_away target={} error=\"{}\"; dialling again", options_.target, status);
  }
  last_error_ = error;
  is_writing_ = false;
  DialLater();
}

}  // namespace pipefill
