#include "agent/testing/scripted_scheduler.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

// Only a broken test waits as long as this.
constexpr absl::Duration kPatience = absl::Seconds(60);

}  // namespace

ScriptedScheduler::ScriptedScheduler(const Options& options) : options_(options) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(absl::StrCat("127.0.0.1:", options.port),
                           grpc::InsecureServerCredentials(), &port_);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
}

ScriptedScheduler::~ScriptedScheduler() {
  {
    const absl::MutexLock lock(&mutex_);
    is_closing_ = true;
  }
  BreakStream();
  server_->Shutdown();
}

std::string ScriptedScheduler::address() const { return absl::StrCat("127.0.0.1:", port_); }

grpc::Status ScriptedScheduler::Session(grpc::ServerContext* context, StreamToAgent* stream) {
  v1::AgentCommand welcome;
  welcome.mutable_welcome()->set_lease_ns(absl::ToInt64Nanoseconds(options_.lease));
  welcome.set_heard_sent_ns(options_.heard_sent_ns);
  v1::AgentMessage message;
  if (!stream->Read(&message)) return grpc::Status::OK;
  {
    const absl::MutexLock lock(&mutex_);
    if (is_closing_) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the test is over");
    received_.push_back(message);
    if (!options_.is_mute) stream->Write(welcome);
    stream_ = stream;
    context_ = context;
  }
  while (stream->Read(&message)) {
    const absl::MutexLock lock(&mutex_);
    received_.push_back(message);
  }
  const absl::MutexLock lock(&mutex_);
  if (stream_ == stream) {
    stream_ = nullptr;
    context_ = nullptr;
  }
  return grpc::Status::OK;
}

std::optional<v1::AgentMessage> ScriptedScheduler::WaitFor(
    const std::function<bool(const v1::AgentMessage&)>& is_wanted) {
  std::optional<v1::AgentMessage> found;
  const auto look = [&] {
    const auto message = std::find_if(received_.begin(), received_.end(), is_wanted);
    if (message != received_.end()) found = *message;
    return found.has_value();
  };
  const absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(&look), kPatience);
  return found;
}

size_t ScriptedScheduler::Count(const std::function<bool(const v1::AgentMessage&)>& is_wanted) {
  const absl::MutexLock lock(&mutex_);
  return static_cast<size_t>(std::count_if(received_.begin(), received_.end(), is_wanted));
}

void ScriptedScheduler::Forget() {
  const absl::MutexLock lock(&mutex_);
  received_.clear();
}

void ScriptedScheduler::Send(const v1::AgentCommand& command) {
  const auto has_stream = [this] { return stream_ != nullptr; };
  const absl::MutexLock lock(&mutex_);
  if (mutex_.AwaitWithTimeout(absl::Condition(&has_stream), kPatience)) stream_->Write(command);
}

void ScriptedScheduler::BreakStream() {
  const absl::MutexLock lock(&mutex_);
  if (context_ != nullptr) context_->TryCancel();
}

}  // namespace pipefill
