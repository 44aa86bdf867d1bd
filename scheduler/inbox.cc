#include "scheduler/inbox.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace pipefill::scheduler {

bool IsUserRequest(const Message& message) {
  return std::visit(Overloaded{
                        [](const SubmitRequest&) { return true; },
                        [](const SubmitManyRequest&) { return true; },
                        [](const BackupRequest&) { return true; },
                        [](const CancelRequest&) { return true; },
                        [](const MoveRequest&) { return true; },
                        [](const ControlRequest&) { return true; },
                        [](const WhyRequest&) { return true; },
                        [](const UpdateMainJobRequest&) { return true; },
                        [](const AgentSaid&) { return false; },
                        [](const StreamEnded&) { return false; },
                    },
                    message);
}

namespace {

// Of a verb for many jobs: an id is little beside a spec.
constexpr size_t kControlsPerRequest = 16;

// Many jobs in one message are as much work, and memory, as one by one.
size_t RequestsIn(const Message& message) {
  if (const auto* control = std::get_if<ControlRequest>(&message)) {
    return control->jobs.size() / kControlsPerRequest + 1;
  }
  if (const auto* many = std::get_if<SubmitManyRequest>(&message)) return many->jobs.size();
  return IsUserRequest(message) ? 1 : 0;
}

}  // namespace

Inbox::Pushed Inbox::Push(Message message) {
  const size_t requests = RequestsIn(message);
  absl::MutexLock lock(&mutex_);
  if (requests > 0 && requests_ + requests > requests_max_) return Pushed::kRefused;
  requests_ += requests;
  messages_.push_back(std::move(message));
  return messages_.size() == 1 ? Pushed::kFirst : Pushed::kBehind;
}

std::vector<Message> Inbox::Take(size_t limit) {
  std::vector<Message> batch;
  absl::MutexLock lock(&mutex_);
  size_t taken = 0;
  while (!messages_.empty() && taken < limit) {
    const size_t requests = RequestsIn(messages_.front());
    requests_ -= requests;
    taken += std::max<size_t>(requests, 1);
    batch.push_back(std::move(messages_.front()));
    messages_.pop_front();
  }
  return batch;
}

size_t Inbox::requests() const {
  absl::MutexLock lock(&mutex_);
  return requests_;
}

bool Inbox::is_empty() const {
  absl::MutexLock lock(&mutex_);
  return messages_.empty();
}

}  // namespace pipefill::scheduler
