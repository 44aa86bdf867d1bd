#include "agent/scheduler_session.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log.h"

namespace pipefill {
namespace {

// A period that makes no sense is brought into this range.
constexpr absl::Duration kReportPeriodMin = absl::Seconds(1);
constexpr absl::Duration kReportPeriodMax = absl::Minutes(1);

}  // namespace

SchedulerSession::SchedulerSession(const Surroundings& surroundings, SessionOptions options,
                                   SessionHandler& handler)
    : loop_(surroundings.loop),
      dial_(surroundings.dial),
      random_(surroundings.random),
      options_(std::move(options)),
      handler_(handler),
      contact_(options_.contact) {}

SchedulerSession::~SchedulerSession() {
  loop_.Cancel(timer_);
  stream_.reset();
}

SchedulerStream::Listener SchedulerSession::ListenerFor(uint64_t stream_id) {
  // News of a stream that is gone by then is dropped.
  const auto post = [this, stream_id](std::function<void()> body) {
    loop_.Post([this, stream_id, body = std::move(body)] {
      if (stream_ != nullptr && stream_id == stream_id_) body();
    });
  };
  return {.on_read = [this, post](bool ok) { post([this, ok] { OnRead(ok); }); },
          .on_written = [this, post](bool ok) { post([this, ok] { OnWritten(ok); }); },
          .on_done = [this, post](
                         const absl::Status& status) { post([this, status] { OnDone(status); }); }};
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
  ++stream_id_;
  stream_ = dial_(ListenerFor(stream_id_));
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
    // A write that is stuck would hold it up.
    stream_->Cancel();
    stream_->LetGo();
    return;
  }
  const v1::AgentCommand command = stream_->command();
  stream_->Read();
  const Instant now = loop_.Now();
  // One that tells nothing counts from its arrival.
  const Instant confirmed =
      command.heard_sent_ns() <= 0 ? now : Instant::FromNs(command.heard_sent_ns());
  if (state_ == State::kStopped) return;
  // With the first words of a new stream the gates stay shut: what must not run on is named before
  // the Welcome, but not in the first of them.
  if (state_ == State::kConnected) contact_.OnMessage(confirmed, now);
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
