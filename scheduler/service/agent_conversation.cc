#include "scheduler/service/agent_conversation.h"

#include <utility>

#include "common/status.h"
#include "scheduler/convert/convert.h"
#include "scheduler/service/agent_convert.h"

namespace pipefill::scheduler {

absl::StatusOr<AgentConversation::Said> AgentConversation::Take(const v1::AgentMessage& message) {
  report_sent_ns_ = std::nullopt;
  if (!has_hello()) {
    if (!message.has_hello()) return absl::InvalidArgumentError("the first message is no hello");
    ASSIGN_OR_RETURN(AgentRegistered hello, ReadHello(message.hello(), session_));
    node_ = hello.node;
    // At once: the loop sends nothing here before it has dealt with the hello.
    heard_sent_ns_ = message.sent_ns();
    return hello;
  }
  switch (message.message_case()) {
    case v1::AgentMessage::kReport: {
      ASSIGN_OR_RETURN(AgentReported report, ReadReport(message.report(), node_, session_));
      report_sent_ns_ = message.sent_ns();
      return report;
    }
    case v1::AgentMessage::kAttemptStarted:
      return AttemptStarted{FromProto(message.attempt_started().key())};
    case v1::AgentMessage::kAttemptEnded:
      return ReadEnded(message.attempt_ended());
    case v1::AgentMessage::kHello:
      return absl::InvalidArgumentError("a second hello on one stream; dial again instead");
    case v1::AgentMessage::kContentReply:
    case v1::AgentMessage::MESSAGE_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a message that this schedulerd does not know");
}

void AgentConversation::OnDealtWith() {
  if (report_sent_ns_.has_value()) heard_sent_ns_ = *report_sent_ns_;
}

}  // namespace pipefill::scheduler
