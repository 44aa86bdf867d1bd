// agentd's end of the stream to schedulerd (proto/agent.proto).
//
//   kIdle -- Start --> kDialling -- stream made --> kDialling, Hello sent -- Welcome --> kConnected
//                        ^  ^                           |                                  |
//                        |  +--- back-off ----- broken, or no Welcome in time              |
//                        +------ back-off ------------------------------------- broken ----+
//   any -- Stop --> kStopped
//
// The stream calls back on threads of its own; those calls only post to the loop, so everything
// else here belongs to the loop. One write and one read are in flight at most.
//
// What waits to be sent is bounded: a newer report replaces one that still waits; of other messages
// the oldest is dropped beyond the limit, and all of them when the stream breaks. Whoever needs a
// message to arrive repeats it until it is answered.
//
// Runs on the agent loop.
#ifndef AGENT_SCHEDULER_SESSION_H_
#define AGENT_SCHEDULER_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "agent/scheduler_contact.h"
#include "agent/scheduler_stream.h"
#include "common/loop.h"
#include "proto/agent.pb.h"

namespace pipefill {

struct SessionOptions {
  std::string target;  // for the log
  // From dialling to Welcome.
  absl::Duration welcome_within = absl::Seconds(10);
  size_t waiting_max = 1024;
  ContactLimits contact;
};

class SessionHandler {
 public:
  virtual ~SessionHandler() = default;
  // First message of each stream.
  virtual v1::AgentHello MakeHello() = 0;
  // A Welcome came: Send works from now on.
  virtual void OnConnected() = 0;
  // Every command but Welcome and KeepAlive. MainJobSettings and StopAttempts come before
  // OnConnected too: what is set, and what runs elsewhere by now, must be known before the gates
  // may open.
  virtual void OnCommand(const v1::AgentCommand& command) = 0;
};

class SchedulerSession {
 public:
  struct Surroundings {
    Loop& loop;  // outlives the session
    DialScheduler dial;
    std::function<double()> random;  // numbers in [0, 1)
  };

  // `handler` outlives the session.
  SchedulerSession(const Surroundings& surroundings, SessionOptions options,
                   SessionHandler& handler);
  // REQUIRES: the loop does not run any more.
  ~SchedulerSession();
  SchedulerSession(const SchedulerSession&) = delete;
  SchedulerSession& operator=(const SchedulerSession&) = delete;

  void Start();
  // Ends the stream and dials no more.
  void Stop();
  // Dropped unless connected.
  void Send(v1::AgentMessage message);

  bool is_connected() const { return state_ == State::kConnected; }
  // Everything that was given to Send has been handed to the stream.
  bool is_drained() const;
  const SchedulerContact& contact() const { return contact_; }
  // As the last Welcome had it.
  absl::Duration report_period() const { return report_period_; }

 private:
  enum class State { kIdle, kDialling, kConnected, kStopped };

  void Dial();
  void DialLater();
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnDone(const absl::Status& status);
  void WriteNext();
  SchedulerStream::Listener ListenerFor(uint64_t stream_id);

  Loop& loop_;
  const DialScheduler dial_;
  const std::function<double()> random_;
  const SessionOptions options_;
  SessionHandler& handler_;
  SchedulerContact contact_;
  absl::Duration report_period_ = absl::Seconds(1);
  State state_ = State::kIdle;
  std::unique_ptr<SchedulerStream> stream_;
  uint64_t stream_id_ = 0;
  std::deque<v1::AgentMessage> waiting_;
  bool is_writing_ = false;
  Loop::TimerId timer_ = 0;                // of the next dial, or of the missing Welcome
  std::optional<std::string> last_error_;  // logged once while it stays the same
};

}  // namespace pipefill

#endif  // AGENT_SCHEDULER_SESSION_H_
