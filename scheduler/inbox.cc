#include "scheduler/inbox.h"

#include <utility>

namespace pipefill::scheduler {

bool IsUserRequest(const Message& message) {
  return std::visit(Overloaded{
                        [](const SubmitRequest&) { return true; },
                        [](const CancelRequest&) { return true; },
                        [](const MoveRequest&) { return true; },
                        [](const WhyRequest&) { return true; },
                        [](const UpdateMainJobRequest&) { return true; },
                        [](const WaitRequest&) { return true; },
                        [](const EndWait&) { return false; },
                        [](const AgentSaid&) { return false; },
                        [](const StreamEnded&) { return false; },
                    },
                    message);
}

Inbox::Pushed Inbox::Push(Message message) {
  const bool is_request = IsUserRequest(message);
  absl::MutexLock lock(&mutex_);
  if (is_request && requests_ >= requests_max_) return Pushed::kRefused;
  if (is_request) ++requests_;
  messages_.push_back(std::move(message));
  return messages_.size() == 1 ? Pushed::kFirst : Pushed::kBehind;
}

std::vector<Message> Inbox::Take(size_t limit) {
  std::vector<Message> batch;
  absl::MutexLock lock(&mutex_);
  while (!messages_.empty() && batch.size() < limit) {
    if (IsUserRequest(messages_.front())) --requests_;
    batch.push_back(std::move(messages_.front()));
    messages_.pop_front();
  }
  return batch;
}

bool Inbox::is_empty() const {
  absl::MutexLock lock(&mutex_);
  return messages_.empty();
}

}  // namespace pipefill::scheduler
