// Everything that can happen to the state of schedulerd. Events are past tense: they are checked,
// then applied, then (the durable ones) written to the journal; replaying the journal gives the
// state again.
//
// A new durable event needs: an alternative here, a record in proto/journal.proto, a conversion in
// journal/record.cc, Check and Apply in cluster_state.cc, a line in log_event.cc, its place in
// journal/replay_property_test.cc; and what it changes must be in journal/snapshot.cc.
//
// Pure.
#ifndef SCHEDULER_CORE_EVENT_H_
#define SCHEDULER_CORE_EVENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "common/instant.h"
#include "scheduler/core/device.h"
#include "scheduler/core/job.h"
#include "scheduler/core/main_job.h"

namespace pipefill::scheduler {

// One stream of one agent. Unique while schedulerd runs; never 0.
using SessionId = Id<struct SessionTag, uint64_t>;

// --- Durable ---

struct JobSubmitted {
  JobId job;
  std::string key;
  JobSpec spec;
};

struct CancelRequested {
  JobId job;
  std::string reason = {};  // the user's; may be empty, as those below
};

// A user wants it not to be placed, or to be placed again; and its live attempt stopped, so that it
// waits again.
struct JobHeld {
  JobId job;
  std::string reason = {};
};
struct JobReleased {
  JobId job;
  std::string reason = {};
};
struct RequeueRequested {
  JobId job;
  std::string reason = {};
};

// The job, which waits, was to have started by now: it has failed. That it is time was decided by
// the loop, once; replay looks at no clock.
struct StartExpired {
  JobId job;
};

// A user wants the job's live attempt stopped and the next one there.
struct MoveRequested {
  JobId job;
  DeviceKey to;
};

// The attempt is to be stopped so that another job, of higher priority, can have its place.
struct EvictionRequested {
  AttemptKey victim;
  JobId beneficiary;
};

struct AttemptPlaced {
  AttemptKey attempt;
  DeviceKey device;
  // Of the job's profile, what the task is told to do; empty = nothing.
  std::string configuration = {};
};

struct AttemptStarted {
  AttemptKey attempt;
};

struct AttemptEnded {
  AttemptKey attempt;
  AttemptEnd end;
  // With kOutOfMemory: the job is tried once more with this cap (ClusterState::LargerAsk), which
  // uses up no retry; 0 = it is not. Part of the event, because it hangs on devices, which replay
  // does not have.
  int64_t larger_memory_bytes = 0;
  // CPU time of its units inside bubbles: what its tenant has used.
  int64_t useful_ns = 0;
  // As the agent saw it last. Durable is only what is learned from: units, their time, the
  // estimate.
  FillProgress progress;
};

// A user changed what is set for a main job; these are the settings after it.
struct MainJobUpdated {
  MainJobSettings settings;
};

// Ended jobs leave the history. Their ids are never given again; their keys are free.
struct HistoryDropped {
  std::vector<JobId> jobs;  // not empty
};

// Tasks of an array become jobs: those at the places [first, end) that have not been cancelled.
struct ArrayAdmitted {
  JobId array;
  int64_t first = 0;
  int64_t end = 0;

  friend bool operator==(const ArrayAdmitted&, const ArrayAdmitted&) = default;
};

// --- Soft ---

// An agent has dialled in and said what it has.
struct AgentRegistered {
  SessionId session;
  std::string node;
  std::string boot_id;  // new at each start of agentd
  std::string version;
  std::vector<Device> devices;
  std::vector<AttemptKey> live_attempts;
};

// Replaces the report before.
struct AgentReported {
  SessionId session;
  std::vector<Device> devices;
  std::vector<BubbleStats> bubbles;
  std::vector<std::pair<AttemptKey, FillProgress>> progress;
};

// The stream broke. The agent may come back before it is given up.
struct AgentDisconnected {
  SessionId session;
};

// Silent for too long: given up. Its attempts have ended as lost before this event.
struct AgentLost {
  std::string node;
};

using Event =
    std::variant<JobSubmitted, CancelRequested, MoveRequested, EvictionRequested, AttemptPlaced,
                 AttemptStarted, AttemptEnded, MainJobUpdated, HistoryDropped, JobHeld, JobReleased,
                 RequeueRequested, StartExpired, ArrayAdmitted, AgentRegistered, AgentReported,
                 AgentDisconnected, AgentLost>;

// When an event happened.
struct EventTime {
  Instant now;      // for decisions
  absl::Time wall;  // for people
};

// Whether the event goes to the journal.
bool IsDurable(const Event& event);

// For visiting a variant with one lambda per alternative, so that a new one does not compile
// unhandled.
template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_EVENT_H_
