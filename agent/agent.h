// agentd as one object: the composition root, which makes the parts, wires them together and runs
// their loop on a thread of its own.
//
//   Create: settings, devices --> state folder (locked) --> trace, attempt folders --> window pages
//           --> socket --> loop thread, session to schedulerd
//
// Thread-compatible; everything inside runs on the agent loop.
#ifndef AGENT_AGENT_H_
#define AGENT_AGENT_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "proto/config.pb.h"

namespace pipefill {

struct AgentDependencies {
  const Clock& clock;
};

class Agent {
 public:
  // Everything that could be wrong with the configuration itself; touches no file. InvalidArgument.
  static absl::Status CheckConfig(const v1::AgentConfig& config);

  // Returns when ranks can attach; schedulerd may come later. InvalidArgument: the configuration;
  // PermissionDenied: a folder or the socket cannot be made; FailedPrecondition: the state folder
  // or the socket is in use.
  static absl::StatusOr<std::unique_ptr<Agent>> Create(const v1::AgentConfig& config,
                                                       const AgentDependencies& dependencies);
  // As Shutdown, but tasks are killed at once.
  virtual ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // Gives the tasks five seconds to save and leave, reports their ends and stops; with
  // keep_tasks_at_stop it leaves them to the next agent. Blocks until then; the second call does
  // nothing.
  virtual void Shutdown() = 0;

 protected:
  Agent() = default;
};

}  // namespace pipefill

#endif  // AGENT_AGENT_H_
