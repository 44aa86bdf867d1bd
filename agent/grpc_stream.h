// Streams to schedulerd over gRPC (AgentService in proto/agent.proto).
//
// Runs on the agent loop; the listener is called on gRPC's threads.
#ifndef AGENT_GRPC_STREAM_H_
#define AGENT_GRPC_STREAM_H_

#include <string>

#include "agent/scheduler_stream.h"

namespace pipefill {

// Each stream has a channel of its own to `target`, host:port. The listener is called on gRPC's
// threads.
DialScheduler DialOverGrpc(std::string target);

}  // namespace pipefill

#endif  // AGENT_GRPC_STREAM_H_
