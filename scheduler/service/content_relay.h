// Questions to agents that wait for their answers: pieces of logs and traces. They bypass the
// scheduler loop, which has no use for their bytes.
//
// Thread-safe. Answers run without any lock held, on the thread that brings them.
#ifndef SCHEDULER_SERVICE_CONTENT_RELAY_H_
#define SCHEDULER_SERVICE_CONTENT_RELAY_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "proto/scheduler.pb.h"
#include "scheduler/core/event.h"

namespace pipefill::scheduler {

class ContentRelay {
 public:
  using Answer = std::function<void(absl::StatusOr<v1::ReadContentResponse>)>;

  // At most `questions_max` wait at a time.
  explicit ContentRelay(int64_t questions_max) : questions_max_(questions_max) {}

  // Enters a question to the agent of `session`, and returns its id. ResourceExhausted at the
  // limit; `answer` is then dropped.
  absl::StatusOr<int64_t> Ask(SessionId session, Answer answer);
  // Answers the question and forgets it. Does nothing if it has been answered.
  void Finish(int64_t request, absl::StatusOr<v1::ReadContentResponse> content);
  // Only if the question went to that session: agents cannot answer for each other.
  void FinishFrom(SessionId session, int64_t request,
                  absl::StatusOr<v1::ReadContentResponse> content);
  int64_t size() const;
  // The stream is no more: all its questions are answered with Unavailable.
  void EndSession(SessionId session);

 private:
  struct Question {
    SessionId session;
    Answer answer;
  };

  const int64_t questions_max_;
  // Questions come from gRPC threads of users, answers from those of agents.
  mutable absl::Mutex mutex_;
  int64_t next_request_ ABSL_GUARDED_BY(mutex_) = 1;
  absl::btree_map<int64_t, Question> questions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_CONTENT_RELAY_H_
