// The one owner of schedulerd's state. It only routes:
//
//   messages --> core decides --> Check, Apply --> journal, one sync per batch --> publish the view
//       --> send actions, run answers --> plan --> placements go the same way
//
// Nobody is answered and no agent is told anything before it is on disk. If the disk is full the
// batch is kept and tried again, and nothing else is looked at until it is on disk (stalled): what
// is in memory only has been seen by nobody. If a write fails otherwise, it is not known what is on
// disk: `on_fatal` is called and the loop does nothing any more.
//
// Post is thread-safe; the rest runs on the scheduler loop.
#ifndef SCHEDULER_SCHEDULER_LOOP_H_
#define SCHEDULER_SCHEDULER_LOOP_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/loop.h"
#include "planner/plan.h"
#include "planner/policy.h"
#include "scheduler/agent_link.h"
#include "scheduler/compactor.h"
#include "scheduler/core/cluster_planner.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/reconcile.h"
#include "scheduler/inbox.h"
#include "scheduler/journal/disk_reserve.h"
#include "scheduler/journal/journal.h"
#include "scheduler/message.h"
#include "scheduler/view_board.h"

namespace pipefill::scheduler {

// All outlive the loop.
struct LoopDependencies {
  Loop& loop;
  const Clock& clock;
  Journal& journal;
  AgentLink& agents;
  const Policy& policy;
  // Plans once the policy has failed, which it does not; nullptr = nobody.
  const Policy* fallback = nullptr;
  ViewBoard& board;
  std::function<void(const absl::Status&)> on_fatal;
  // nullptr: the journal is never shortened; space on the disk is not looked at.
  SnapshotWriter* snapshots = nullptr;
  DiskSpace* space = nullptr;
};

struct LoopLimits {
  size_t requests_max = 10'000;  // requests of users that wait for the loop
  size_t batch_max = 1'024;      // messages that share a sync
  // How often agents hear something, if only that schedulerd is there; not all at the same time.
  absl::Duration keep_alive_period = absl::Seconds(3);
  // Reports that are rarer than that are answered with a word of their own, so that an agent's
  // lease counts from its last report and not from the one before.
  absl::Duration report_period = absl::Seconds(1);
  // How often a batch is tried again while the disk is full.
  absl::Duration full_disk_pause = absl::Milliseconds(500);
  Compactor::Limits compaction;
};

class SchedulerLoop {
 public:
  // `state` is as recovered from the store that `store` sums up.
  SchedulerLoop(const LoopDependencies& dependencies, const LoopLimits& limits, ClusterState state,
                const StoreSummary& store = {});

  // Publishes the first view, and waits for the agents that the state expects. Call once, on the
  // loop or before it runs.
  void Start();

  // Thread-safe. ResourceExhausted if too many requests wait; the message is then dropped.
  absl::Status Post(Message message);

  // Thread-safe. Requests of users that wait.
  int64_t requests() const { return static_cast<int64_t>(inbox_.requests()); }

  // Thread-safe. Whether the disk is full: nothing is decided or answered until there is space.
  bool is_stalled() const { return is_stalled_; }

 private:
  // What one batch leads to, in the order in which it is carried out.
  struct Batch {
    std::vector<std::string> records;
    // Each for the stream that its node had when it was decided: an agent that dials in meanwhile
    // is told what it needs by its own hello, and must not hear what was meant for the one before.
    std::vector<std::pair<SessionId, Action>> actions;
    std::vector<std::pair<SessionId, absl::Status>> closings;
    std::vector<std::function<void()>> answers;
    bool is_changed = false;
    // Whether there is space for new jobs; looked up once.
    std::optional<absl::Status> space;
  };

  // When there is room for another request, as far as the last batch tells.
  absl::Duration RetryAfter() const;
  void RunBatch();
  void Handle(SubmitRequest request);
  void Handle(SubmitManyRequest request);
  void Handle(BackupRequest request);
  void Handle(CancelRequest request);
  void Handle(MoveRequest request);
  void Handle(ControlRequest request);
  void Handle(WhyRequest request);
  void Handle(UpdateMainJobRequest request);
  void Handle(AgentSaid said);
  void Handle(StreamEnded ended);
  void HandleAgent(SessionId session, AgentRegistered hello);
  void HandleAgent(SessionId session, AgentReported report);
  void HandleAgent(SessionId session, AttemptStarted started);
  void HandleAgent(SessionId session, AttemptEnded ended);

  absl::StatusOr<Submission> Submit(NewJob job);
  absl::StatusOr<std::vector<Submission>> SubmitMany(std::vector<NewJob>& jobs);
  // Whether all of `jobs` would be taken one after the other.
  absl::Status CheckMany(const std::vector<NewJob>& jobs);
  absl::Status CheckSpace();
  // Whether the job could still start in time.
  absl::Status CheckStart(const JobSpec& spec) const;
  // The outcome of a verb for one job; carries it out.
  JobOutcome Control(JobId job, JobVerb verb, const std::string& reason);
  // Of a task that is no job yet; `not_found`: if it is none.
  JobOutcome CancelLaterTask(JobId job, const absl::Status& not_found);
  absl::Status MoveJob(const MoveRequest& request);
  absl::StatusOr<MainJobSettings> Update(const MainJobChange& change);
  // Checks and applies; what must be written or answered is added to the batch.
  absl::Status Admit(const Event& event);
  // Admits events that cannot be refused.
  void Carry(Decision decision);

  // Takes ended jobs that are too old or too many out of the history.
  void DropHistory();
  // Fails jobs that were to have started by now.
  void FailLateStarts();
  void ArmStartTimer();

  // Makes the batch durable, publishes, acts, answers. False if nothing more may be done now: the
  // disk is full, or the journal failed.
  bool Commit();
  bool WriteBatch();
  void FinishBatch();
  // While the disk is full: tries the batch again.
  void RetryBatch();
  bool is_waiting() const { return is_halted_ || is_stalled_; }
  bool has_rare_reports() const { return limits_.report_period > limits_.keep_alive_period; }
  // The stream of the action's node; nullopt if it is not connected.
  std::optional<SessionId> SessionOf(const Action& action) const;
  // Sent once the batch is durable.
  void Order(Action action);
  // At once.
  void Send(const Action& action);
  void Publish();
  StoreView CurrentStore() const;

  // Plans if something has changed, but so that planning takes at most a fifth of the loop's time.
  void PlanIfDue();
  void RunPlan();
  // Makes jobs of the tasks that a plan may place.
  void AdmitTasks();
  Plan MakePlan();
  void Carry(const Plan& plan);
  void ArmPlanTimer(Instant at);
  // Tells a part of the agents that were heard of lately that schedulerd is there: with thousands
  // of them the loop would stand still for long. Once in a period, looks at the disk and at the
  // history as well.
  void RunKeepAlive();
  void RunHousekeeping();
  // Gives up what has been silent for too long.
  void RunDeadlines();
  void ArmDeadlineTimer();

  const LoopDependencies dependencies_;
  const LoopLimits limits_;
  ClusterState state_;
  Inbox inbox_;
  Compactor compactor_;
  ClusterPlanner planner_;
  absl::Status policy_error_;
  Batch batch_;
  EventTime time_;  // of the batch
  // When the loop was made: the history's age counts from there by the clock that never jumps.
  const EventTime made_at_;
  std::shared_ptr<const Plan> plan_ = std::make_shared<const Plan>();
  bool is_plan_stale_ = false;
  Instant plan_not_before_;
  Loop::TimerId plan_timer_ = 0;  // 0 = none
  Instant plan_timer_at_;
  Loop::TimerId deadline_timer_ = 0;  // 0 = none
  Loop::TimerId start_timer_ = 0;     // 0 = none
  Instant start_timer_at_;
  uint64_t keep_alive_part_ = 0;
  Instant keep_alive_due_;
  // After a stall: who is alive has been heard by then.
  Instant no_deadline_before_;
  std::string refusing_text_;  // why new jobs are refused; empty = they are not
  StoreView published_store_;
  bool is_halted_ = false;
  // Read by Post as well.
  std::atomic<bool> is_stalled_ = false;
  std::atomic<int64_t> batch_ns_ = 0;  // how long the last one took
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SCHEDULER_LOOP_H_
