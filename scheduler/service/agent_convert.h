// What agents say -> events; actions -> what agents are told. Values from the wire are checked
// here.
//
// Pure.
#ifndef SCHEDULER_SERVICE_AGENT_CONVERT_H_
#define SCHEDULER_SERVICE_AGENT_CONVERT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/agent.pb.h"
#include "scheduler/core/action.h"
#include "scheduler/core/event.h"

namespace pipefill::scheduler {

// What is the same for all agents.
struct AgentTerms {
  absl::Duration lease = absl::Seconds(10);
  absl::Duration report_period = absl::Seconds(1);
  absl::Duration stop_grace = absl::Seconds(5);  // between SIGTERM and SIGKILL
};

// InvalidArgument: a missing or bad name, a device twice, a size below 0.
absl::StatusOr<AgentRegistered> ReadHello(const v1::AgentHello& hello, SessionId session);
// `node` as in the hello. InvalidArgument as above.
absl::StatusOr<AgentReported> ReadReport(const v1::AgentReport& report, const std::string& node,
                                         SessionId session);
AttemptEnded ReadEnded(const v1::AttemptEnded& ended);

v1::AgentCommand ToCommand(const Action& action, const AgentTerms& terms);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_AGENT_CONVERT_H_
