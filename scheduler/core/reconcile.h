// Brings the state and what agents say of their attempts together. Decides only; the loop applies
// the events in order, then has the actions sent.
//
// An agent that dials in names the attempts that run on its node:
//
//   our state \ agent     names it            does not name it
//   -------------------   -----------------   ------------------------------------------
//   live, not started     it has started      agent restarted: lost; else launch again
//   live, started         -                   agent restarted: lost; else stop, see below
//   live, being stopped   stop again          agent restarted: lost; else stop again
//   live, to make way     stop, to be lost    agent restarted: lost; else stop, see below
//   unknown or ended      stop, to be lost    -
//
// Attempts that are unknown or ended are stopped before the Welcome, with which gates may open:
// others of their jobs may run by now.
//
// An agent that is told to stop what it does not run tells its end: the real one if it still has it
// to tell, otherwise the cause that the command names. How long that may take is bounded: see
// ClusterState::AttemptsToAsk and OverdueAttempts.
//
// Pure.
#ifndef SCHEDULER_CORE_RECONCILE_H_
#define SCHEDULER_CORE_RECONCILE_H_

#include <string>
#include <vector>

#include "common/instant.h"
#include "scheduler/core/action.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/event.h"

namespace pipefill::scheduler {

struct Decision {
  std::vector<Event> events;    // each passes Check once those before it are applied
  std::vector<Action> actions;  // to be sent once the events are durable
};

// What a hello leads to; its last event is the hello itself. REQUIRES: Check(hello) has said OK.
Decision ReconcileHello(const ClusterState& state, const AgentRegistered& hello);

// What an agent's word that an attempt has started, or ended, leads to. Repeated and stale words
// change nothing, but are answered. `node` is where the word comes from.
Decision ReconcileStart(const ClusterState& state, const std::string& node,
                        const AttemptStarted& started);
Decision ReconcileEnd(const ClusterState& state, const std::string& node,
                      const AttemptEnded& ended);

// Ends the node's attempts as lost, then the node itself. REQUIRES: the node is known.
Decision GiveUpNode(const ClusterState& state, const std::string& node, Instant now);
// Has the attempts stopped that did not show up in time, and ends as lost those that even then did
// not.
Decision GiveUpOverdue(const ClusterState& state, Instant now);

// What the user's cancellation, or his wish to have it wait again, leads to, or that it had not
// started in time; of an array, for all its tasks. REQUIRES: the event is applied.
std::vector<Action> ActionsForStop(const ClusterState& state, JobId job);
// What the user's wish to move it, or its eviction, leads to. REQUIRES: the event is applied.
Action ActionToMakeWay(const ClusterState& state, JobId job);
// What a change of settings leads to: every agent that is there hears of it. REQUIRES: the event is
// applied.
std::vector<Action> ActionsForMainJob(const ClusterState& state, const std::string& main_job);
// What a placement leads to. REQUIRES: the event is applied.
Action ActionForPlacement(const ClusterState& state, const AttemptPlaced& placed);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_RECONCILE_H_
