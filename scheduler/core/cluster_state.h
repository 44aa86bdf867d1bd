// The whole state of schedulerd: jobs and settings of main jobs (durable), and nodes (soft).
//
//   event --> Check (may refuse) --> Apply (cannot fail) --> journal
//
// Ids and fences are given here: a caller builds an event from next_job_id() or NextAttempt(),
// checks it and applies it before it builds the next one. Replay applies the journal's events to an
// empty state and ends in the same durable state.
//
// Invariants: a job has at most one live attempt; a terminal job never changes; ids and fences only
// grow; a device never has more attempts than seats, nor attempts with more memory than it had
// free.
//
// Pure but for being the owner of its state. Thread-compatible: belongs to the scheduler loop.
#ifndef SCHEDULER_CORE_CLUSTER_STATE_H_
#define SCHEDULER_CORE_CLUSTER_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "common/instant.h"
#include "planner/snapshot.h"
#include "scheduler/core/cluster_parts.h"
#include "scheduler/core/event.h"
#include "scheduler/core/job.h"
#include "scheduler/core/job_machine.h"
#include "scheduler/core/job_table.h"
#include "scheduler/core/job_ties.h"
#include "scheduler/core/main_job_table.h"
#include "scheduler/core/node_table.h"
#include "scheduler/core/profile_book.h"
#include "scheduler/core/refusal_table.h"
#include "scheduler/core/tenant_table.h"
#include "scheduler/core/waiting_jobs.h"

namespace pipefill::scheduler {

// NotFound; says whether the job was there once. `last` is the newest id that was given.
absl::Status JobNotFound(JobId id, JobId last);

// What the end of its live attempt means to the job.
JobInput InputForEnd(const Job& job, const AttemptEnded& event);

class ClusterState {
 public:
  explicit ClusterState(const ClusterLimits& limits)
      : limits_(limits),
        main_jobs_(limits.main_jobs_max),
        tenants_(limits.tenants, limits.fair_half_life),
        refusals_(limits.refusals),
        ties_(limits.array_history_max) {}

  // Whether `event` may be applied. Codes: NotFound (no such job), FailedPrecondition (the state
  // forbids it), AlreadyExists (key in use), ResourceExhausted (a limit, named), Aborted (stale: a
  // plan, a fence or a session that is no longer current).
  absl::Status Check(const Event& event, Instant now) const;
  // The part of Check that depends on durable state only; what a journal's event must pass.
  absl::Status CheckReplay(const Event& event) const;
  // The parts of Check for a submission: whether the store can take so many more jobs, and whether
  // any device could ever hold one like that.
  absl::Status CheckRoomFor(int64_t jobs) const;
  absl::Status CheckSpec(const JobSpec& spec) const;
  // REQUIRES: Check (in replay: CheckReplay) has just said OK.
  void Apply(const Event& event, const EventTime& time);
  // Call once after replay: agents with live attempts have from `now` on to dial in.
  void FinishReplay(Instant now);

  // --- Snapshots, see journal/snapshot.h ---

  DurableState Durable();
  // Into a state that has seen no event. Jobs come in the order of their ids, and go by their
  // specs' own profile unless they bring another. DataLoss if such a job cannot be.
  absl::Status RestoreJob(Job job, Instant now);
  // After the jobs. DataLoss if a job has a larger id or fence.
  absl::Status RestoreCounters(JobId next_job_id, Fence last_fence);
  void RestoreMainJob(const MainJobSettings& settings) { main_jobs_.Set(settings); }
  void RestoreTenant(const TenantUsed& used) { tenants_.Restore(used); }
  void RestoreProfile(const ProfileBook::Record& record) { profiles_.Restore(record); }

  // Ended jobs that are to leave the history at `wall`, the oldest ends first, at most `limit`.
  std::vector<JobId> ExpiredJobs(absl::Time wall, size_t limit) const;
  // Tasks that are to become jobs, in the order of their arrays, at most `limit` together.
  std::vector<ArrayAdmitted> DueTasks(int64_t limit) const;
  // Jobs that have ended since it was last asked, and tasks that ended before they were jobs.
  std::vector<JobId> TakeEnded();

  JobId next_job_id() const { return JobId(jobs_.last_id().value() + 1); }
  // The key of the job's next attempt. REQUIRES: the job exists.
  AttemptKey NextAttempt(JobId job) const;

  // NotFound. Valid until the next Apply.
  absl::StatusOr<const Job*> FindJob(JobId id) const;
  const JobTableView& jobs() const { return jobs_.view(); }
  // The job that was submitted with `key` (not empty); nullopt if none was. AlreadyExists if it was
  // submitted with another spec.
  absl::StatusOr<std::optional<JobId>> FindSubmission(const std::string& key,
                                                      const JobSpec& spec) const;
  const NodeTable& nodes() const { return nodes_; }
  const MainJobTable& main_jobs() const { return main_jobs_; }
  const TenantTable& tenants() const { return tenants_; }
  const RefusalTable& refusals() const { return refusals_; }
  // The cap with which a job is tried again after an attempt that ended as out of memory: twice
  // that of the attempt, or as much as the largest device with a main job to fill can give, if that
  // is at least a quarter more. 0 if the attempt ended otherwise, was that second try already, or
  // no connected device is large enough. REQUIRES: the attempt is live.
  int64_t LargerAsk(const AttemptEnded& ended) const;
  // Attempts of the node that have not ended.
  const LiveAttempts& LiveAttemptsOf(const std::string& node) const;
  JobCounts counts() const;
  // Whether a plan might have something to do.
  bool has_pending() const { return !waiting_.open().empty() || !ties_.due_arrays.empty(); }
  const WaitingJobs& waiting() const { return waiting_; }

  // All that a plan depends on. For few devices: plans are fed by changes.
  ClusterSnapshot Snapshot(const EventTime& time) const;
  PlanChanges TakePlanChanges() { return std::exchange(changes_, PlanChanges()); }
  // The devices of a connected node that was heard of lately; else none.
  std::vector<DeviceSnapshot> SnapshotNode(const std::string& node, Instant now) const;
  // One of them; nullopt if it is not among them.
  std::optional<DeviceSnapshot> SnapshotDevice(const DeviceKey& device, Instant now) const;
  // nullopt if the job does not wait.
  std::optional<PendingJob> SnapshotPending(JobId job, const EventTime& time) const;
  // When the node stops to count as heard of, if nothing is heard until then.
  Instant HeardUntil(const Node& node) const {
    return node.heard_at + (limits_.agent_lost_after - limits_.agent_lease);
  }
  JobTableView SnapshotJobs() { return jobs_.Snapshot(); }

  // --- Silence ---

  // Whether the node is connected and was heard of lately, and may therefore be kept alive and
  // given jobs. "Lately" is lost_after - lease: an agent whose words do not arrive has run out of
  // its lease by the time it is given up, even if ours arrive there.
  bool IsHeard(const Node& node, Instant now) const;

  // After `now`, when SilentNodes, AttemptsToAsk or OverdueAttempts will next say something, if
  // nothing is heard until then.
  std::optional<Instant> NextDeadline(Instant now) const;
  // Nodes to be given up at `now`.
  std::vector<std::string> SilentNodes(Instant now) const;
  // Attempts that did not show up on a connected node, nor answered when they were to be stopped.
  std::vector<AttemptKey> OverdueAttempts(Instant now) const;
  // Attempts that have not shown up in time, but may: their launch may be on its way, and they
  // start there with gates that open. They are to be stopped, and are overdue only when that has
  // had as much time again.
  std::vector<AttemptKey> AttemptsToAsk(Instant now) const;

 private:
  // Live attempts that have not shown up in time, with that time.
  std::vector<std::pair<AttemptKey, Instant>> LateAttempts(Instant now) const;
  absl::Status CheckLive(const AttemptKey& key) const;
  absl::Status CheckInput(JobId job, JobInput input) const;
  absl::Status CheckCancel(JobId job) const;
  absl::Status CheckStartExpired(JobId job) const;
  absl::Status CheckMove(JobId job) const;
  absl::Status CheckEvictionReplay(const EvictionRequested& event) const;
  absl::Status CheckEviction(const EvictionRequested& event, Instant now) const;
  absl::Status CheckSubmissionReplay(const JobSubmitted& event) const;
  absl::Status CheckPlacementReplay(const AttemptPlaced& event) const;
  absl::Status CheckPlacement(const AttemptPlaced& event, Instant now) const;
  absl::Status CheckMainJob(const MainJobUpdated& event) const;
  absl::Status CheckDrop(const HistoryDropped& event) const;
  absl::Status CheckRegistration(const AgentRegistered& event, Instant now) const;

  void ApplyEvent(const JobSubmitted& event, const EventTime& time);
  void ApplyEvent(const CancelRequested& event, const EventTime& time);
  void ApplyEvent(const MoveRequested& event, const EventTime& time);
  void ApplyEvent(const EvictionRequested& event, const EventTime& time);
  void ApplyEvent(const AttemptPlaced& event, const EventTime& time);
  void ApplyEvent(const AttemptStarted& event, const EventTime& time);
  void ApplyEvent(const AttemptEnded& event, const EventTime& time);
  void ApplyEvent(const MainJobUpdated& event, const EventTime& time);
  void ApplyEvent(const HistoryDropped& event, const EventTime& time);
  void ApplyEvent(const JobHeld& event, const EventTime& time);
  void ApplyEvent(const JobReleased& event, const EventTime& time);
  void ApplyEvent(const RequeueRequested& event, const EventTime& time);
  void ApplyEvent(const StartExpired& event, const EventTime& time);
  void ApplyEvent(const ArrayAdmitted& event, const EventTime& time);
  void ApplyEvent(const AgentRegistered& event, const EventTime& time);
  void ApplyEvent(const AgentReported& event, const EventTime& time);
  void ApplyEvent(const AgentDisconnected& event, const EventTime& time);
  void ApplyEvent(const AgentLost& event, const EventTime& time);

  // One of the node's devices as the planner sees it.
  DeviceSnapshot SnapshotOf(const Node& node, size_t device, Instant now) const;
  // Its entry in live_by_node_. REQUIRES: the job has a live attempt.
  LiveAttempt& LiveEntryOf(const Job& job);
  void Leave(const Job& job);
  static void KeepWish(Job& job, Wish::Kind kind, const EventTime& time, std::string text);
  void SetHeld(Job& job, bool is_held);
  // Moves the job, and keeps `waiting_` and `ended_` in step.
  void Move(Job& job, JobInput input, const EventTime& time);
  void RestoreLive(const Job& job, Instant now);
  // Arrays and dependencies: cluster_state_ties.cc.
  struct TieChanges;
  void Tie(JobId job, const EventTime& time);
  void CancelTasks(JobId array, const EventTime& time);
  void SetTasksHeld(Job& array, bool is_held);
  void AddWaiting(JobId array, int64_t change);
  void Settle(const EventTime& time);
  void Drop(const Job& job);
  absl::Status RestoreTies(Job& job);
  // The profile of the job's next attempt.
  void TakeUpProfile(Job& job) const;

  const ClusterLimits limits_;
  JobTable jobs_;
  absl::btree_map<std::string, JobId> jobs_by_key_;
  WaitingJobs waiting_;
  // By the wall clock, which may jump: the oldest end leaves first.
  absl::btree_set<std::pair<absl::Time, JobId>> ended_;
  Fence last_fence_;
  absl::flat_hash_map<std::string, LiveAttempts> live_by_node_;
  NodeTable nodes_;
  MainJobTable main_jobs_;
  ProfileBook profiles_;
  TenantTable tenants_;
  RefusalTable refusals_;
  JobTies ties_;
  PlanChanges changes_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_CLUSTER_STATE_H_
