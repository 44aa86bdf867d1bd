// What one agent has said on one stream: its words as events, and how far they have been heard.
//
// Pure. Thread-compatible.
#ifndef SCHEDULER_SERVICE_AGENT_CONVERSATION_H_
#define SCHEDULER_SERVICE_AGENT_CONVERSATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "proto/agent.pb.h"
#include "scheduler/core/event.h"

namespace pipefill::scheduler {

class AgentConversation {
 public:
  using Said = std::variant<AgentRegistered, AgentReported, AttemptStarted, AttemptEnded>;

  explicit AgentConversation(SessionId session) : session_(session) {}

  bool has_hello() const { return !node_.empty(); }
  // InvalidArgument: the stream is to be ended. A ContentReply is no event.
  absl::StatusOr<Said> Take(const v1::AgentMessage& message);
  // Of the one that was taken last.
  void OnDealtWith();
  // When the newest hello or report was sent that has been heard, by the agent's clock; 0 = none.
  // Of these two the node counts as heard.
  int64_t heard_sent_ns() const { return heard_sent_ns_; }

 private:
  const SessionId session_;
  std::string node_;  // empty = no hello yet
  // Of the message that was taken last, if it is a report.
  std::optional<int64_t> report_sent_ns_;
  int64_t heard_sent_ns_ = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_AGENT_CONVERSATION_H_
