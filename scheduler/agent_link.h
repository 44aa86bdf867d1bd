// How the scheduler loop reaches agents. Implemented by the gRPC streams and by fakes.
//
// Thread-safe. No function blocks.
#ifndef SCHEDULER_AGENT_LINK_H_
#define SCHEDULER_AGENT_LINK_H_

#include "absl/status/status.h"
#include "scheduler/core/action.h"
#include "scheduler/core/event.h"

namespace pipefill::scheduler {

class AgentLink {
 public:
  virtual ~AgentLink() = default;

  // Puts `action` behind those sent before on the same stream. Does nothing if the stream is no
  // more; reconciliation repeats what matters. A stream whose agent reads too slowly is ended.
  virtual void Send(SessionId session, const Action& action) = 0;

  // Ends the stream; the agent sees `status`. Does nothing if the stream is no more.
  virtual void Close(SessionId session, const absl::Status& status) = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_AGENT_LINK_H_
