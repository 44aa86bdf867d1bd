// What schedulerd asks agents to do. Actions are imperative and safe to repeat: each names the
// attempt with its fence. An action for an agent that is away is dropped; reconciliation gives it
// again when the agent is back.
//
// Pure.
#ifndef SCHEDULER_CORE_ACTION_H_
#define SCHEDULER_CORE_ACTION_H_

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

// Answers a hello.
struct WelcomeAgent {
  std::string node;
};

// Renews the agent's lease when nothing else is to be said.
struct KeepAgentAlive {
  std::string node;
};

struct LaunchAttempt {
  AttemptKey attempt;
  DeviceKey device;
  std::shared_ptr<const JobSpec> spec;
  int64_t memory_bytes = 0;  // its cap, in place of the spec's
  absl::Time job_submitted_at;
  // What the task is told to do; nullopt = nothing.
  std::optional<Configuration> configuration = std::nullopt;
  JobId array_of = {};  // the array that it is a task of; 0 = none
  int32_t array_index = 0;
};

struct StopAttempt {
  std::string node;
  AttemptKey attempt;
  EndCause cause = EndCause::kCancelled;  // kCancelled or kLost: what the end is to be reported as
  std::string text = {};                  // why, if not as the cause says
};

// The end of the attempt is durable, or not wanted; the agent may forget it.
struct AcknowledgeEnd {
  std::string node;
  AttemptKey attempt;
  // Of the job, if no attempt follows.
  std::optional<absl::Time> job_over_submitted_at = std::nullopt;
};

// What is set for a main job, in place of what was. The agent keeps it for ranks to come.
struct SetMainJob {
  std::string node;
  MainJobSettings settings;
};

using Action = std::variant<WelcomeAgent, KeepAgentAlive, LaunchAttempt, StopAttempt,
                            AcknowledgeEnd, SetMainJob>;

// The node that an action is for.
const std::string& NodeOf(const Action& action);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_ACTION_H_
