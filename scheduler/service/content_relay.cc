#include "scheduler/service/content_relay.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace pipefill::scheduler {

absl::StatusOr<int64_t> ContentRelay::Ask(SessionId session, Answer answer) {
  absl::MutexLock lock(&mutex_);
  if (questions_.size() >= limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(limit_, " reads wait for agents already, which is the limit; try again"));
  }
  const int64_t request = next_request_++;
  questions_[request] = {session, std::move(answer)};
  return request;
}

void ContentRelay::Finish(int64_t request, absl::StatusOr<v1::ReadContentResponse> content) {
  Answer answer;
  {
    absl::MutexLock lock(&mutex_);
    auto it = questions_.find(request);
    if (it == questions_.end()) return;
    answer = std::move(it->second.answer);
    questions_.erase(it);
  }
  answer(std::move(content));
}

void ContentRelay::FinishFrom(SessionId session, int64_t request,
                              absl::StatusOr<v1::ReadContentResponse> content) {
  {
    absl::MutexLock lock(&mutex_);
    auto it = questions_.find(request);
    if (it == questions_.end() || it->second.session != session) return;
  }
  Finish(request, std::move(content));
}

void ContentRelay::EndSession(SessionId session) {
  std::vector<Answer> answers;
  {
    absl::MutexLock lock(&mutex_);
    for (auto it = questions_.begin(); it != questions_.end();) {
      if (it->second.session != session) {
        ++it;
        continue;
      }
      answers.push_back(std::move(it->second.answer));
      it = questions_.erase(it);
    }
  }
  for (const Answer& answer : answers) {
    answer(absl::UnavailableError("the node's agent has gone; try again when it is back"));
  }
}

}  // namespace pipefill::scheduler
