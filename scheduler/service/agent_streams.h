// The open streams of agents, by session: the gRPC side of AgentLink.
//
// Thread-safe.
#ifndef SCHEDULER_SERVICE_AGENT_STREAMS_H_
#define SCHEDULER_SERVICE_AGENT_STREAMS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "proto/agent.pb.h"
#include "scheduler/agent_link.h"
#include "scheduler/core/event.h"
#include "scheduler/service/agent_convert.h"

namespace pipefill::scheduler {

// One stream, as far as others may use it. No function blocks.
class AgentStream {
 public:
  virtual ~AgentStream() = default;
  // Queues the command. A full queue ends the stream.
  virtual void Write(v1::AgentCommand command) = 0;
  // Reads the next message; one is read at a time.
  virtual void ReadNext() = 0;
  // Only the first call has an effect.
  virtual void End(const absl::Status& status) = 0;
};

class AgentStreams : public AgentLink {
 public:
  explicit AgentStreams(const AgentTerms& terms) : terms_(terms) {}

  // Streams enter themselves at their beginning, and leave before they are destroyed.
  SessionId Enter(AgentStream* stream);
  void Leave(SessionId session);
  int64_t size() const;

  void Send(SessionId session, const Action& action) override;
  void Close(SessionId session, const absl::Status& status) override;
  // False if the stream is no more.
  bool SendContentRequest(SessionId session, const v1::ContentRequest& request);
  void ReadNext(SessionId session);

 private:
  const AgentTerms terms_;
  // Held while a stream is used, so that it is not destroyed meanwhile: streams belong to gRPC.
  mutable absl::Mutex mutex_;
  uint64_t last_session_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::btree_map<SessionId, AgentStream*> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_AGENT_STREAMS_H_
