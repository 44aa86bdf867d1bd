#include "scheduler/service/content_relay.h"

#include <utility>

#include "absl/time/time.h"
#include "scheduler/limits.h"

namespace pipefill::scheduler {

absl::StatusOr<int64_t> ContentRelay::Ask(SessionId session, Answer answer) {
  absl::MutexLock lock(&mutex_);
  if (static_cast<int64_t>(questions_.size()) >= questions_max_) {
    return LimitError({.name = "questions_max",
                       .max = questions_max_,
                       .what = "reads wait for agents",
                       .advice = "try again later",
                       .retry_after = absl::Milliseconds(500)});
  }
  const int64_t request = next_request_++;
  questions_[request] = {session, std::move(answer)};
  return request;
}

int64_t ContentRelay::size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(questions_.size());
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
