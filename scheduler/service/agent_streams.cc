#include "scheduler/service/agent_streams.h"

#include <utility>

namespace pipefill::scheduler {

SessionId AgentStreams::Enter(AgentStream* stream) {
  absl::MutexLock lock(&mutex_);
  const SessionId session(++last_session_);
  streams_[session] = stream;
  return session;
}

void AgentStreams::Leave(SessionId session) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(session);
}

int64_t AgentStreams::size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(streams_.size());
}

void AgentStreams::Send(SessionId session, const Action& action) {
  v1::AgentCommand command = ToCommand(action, terms_);
  absl::MutexLock lock(&mutex_);
  auto it = streams_.find(session);
  if (it != streams_.end()) it->second->Write(std::move(command));
}

void AgentStreams::Close(SessionId session, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  auto it = streams_.find(session);
  if (it != streams_.end()) it->second->End(status);
}

bool AgentStreams::SendContentRequest(SessionId session, const v1::ContentRequest& request) {
  v1::AgentCommand command;
  *command.mutable_content() = request;
  absl::MutexLock lock(&mutex_);
  auto it = streams_.find(session);
  if (it == streams_.end()) return false;
  it->second->Write(std::move(command));
  return true;
}

void AgentStreams::ReadNext(SessionId session) {
  absl::MutexLock lock(&mutex_);
  auto it = streams_.find(session);
  if (it != streams_.end()) it->second->ReadNext();
}

}  // namespace pipefill::scheduler
