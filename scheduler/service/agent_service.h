// AgentService over gRPC: reads what agents say, checks it, and posts it to the scheduler loop.
//
// A stream has at most one message at the loop; the next is read when that one is dealt with.
// Commands to an agent queue up to a limit, at which the stream is ended: the agent dials again.
//
// Thread-safe.
#ifndef SCHEDULER_SERVICE_AGENT_SERVICE_H_
#define SCHEDULER_SERVICE_AGENT_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>

#include "proto/agent.grpc.pb.h"
#include "scheduler/limits.h"
#include "scheduler/scheduler_loop.h"
#include "scheduler/service/agent_streams.h"
#include "scheduler/service/content_relay.h"

namespace pipefill::scheduler {

class AgentService : public v1::AgentService::CallbackService {
 public:
  // All outlive the service.
  struct Dependencies {
    SchedulerLoop& loop;
    AgentStreams& streams;
    ContentRelay& relay;
  };

  // At most `agents_max` streams are open at a time.
  AgentService(const Dependencies& dependencies, int64_t agents_max)
      : dependencies_(dependencies), agents_(agents_max) {}

  grpc::ServerBidiReactor<v1::AgentMessage, v1::AgentCommand>* Session(
      grpc::CallbackServerContext* context) override;

 private:
  const Dependencies dependencies_;
  LimitedCount agents_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_AGENT_SERVICE_H_
