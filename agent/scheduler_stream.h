// One stream to schedulerd, as agentd's session uses it (scheduler_session.h): gRPC's
// (grpc_stream.h), or the simulator's.
//
// Runs on the agent loop.
#ifndef AGENT_SCHEDULER_STREAM_H_
#define AGENT_SCHEDULER_STREAM_H_

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "proto/agent.pb.h"

namespace pipefill {

class SchedulerStream {
 public:
  // Thread-safe, and called from any thread, also from inside the stream's own methods.
  struct Listener {
    std::function<void(bool ok)> on_read;
    std::function<void(bool ok)> on_written;
    // Last, once. A stream that broke fails its read and its write first.
    std::function<void(const absl::Status&)> on_done;
  };

  // Cancels, and waits until nothing is called back any more.
  virtual ~SchedulerStream() = default;

  // The next command, see command(). REQUIRES: no read is under way, and the last one was ok.
  virtual void Read() = 0;
  // REQUIRES: no write is under way, and the last one was ok.
  virtual void Write(v1::AgentMessage message) = 0;
  virtual void Cancel() = 0;
  // Says that no reads and writes are started any more, without which it is never done.
  virtual void LetGo() = 0;
  // The one that was read last; valid until the next Read.
  virtual const v1::AgentCommand& command() const = 0;
};

// Makes a stream that connects by itself. It may be done at any time.
using DialScheduler = std::function<std::unique_ptr<SchedulerStream>(SchedulerStream::Listener)>;

}  // namespace pipefill

#endif  // AGENT_SCHEDULER_STREAM_H_
