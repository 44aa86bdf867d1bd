// Random events, of which Check lets some pass: the invariants of cluster_state.h hold after each,
// and the journal gives the same state again: all of its records, and a snapshot at any point with
// the records after it.
//
// A field of Job or Attempt that a snapshot does not hold is found by itself, since all of them are
// compared; state beside the jobs has to be added to CheckSame.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/planner.h"
#include "planner/policies/fifo.h"
#include "scheduler/core/cluster_planner.h"
#include "scheduler/core/reconcile.h"
#include "scheduler/journal/memory_journal.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/snapshot_frame.h"
#include "scheduler/journal/testing/array_checker.h"
#include "scheduler/journal/testing/event_draw.h"
#include "scheduler/journal/testing/same_state.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

// Arrays are small here.
ClusterLimits SomeLimits() {
  ClusterLimits limits;
  limits.array_window = 2;
  limits.array_history_max = 2;
  return limits;
}

// The durable part of a job, as text.
std::string Describe(const Job& job) {
  std::string text =
      absl::StrCat(job.id.value(), " ", job.key, " ", PhaseName(job.phase), " ", job.failures, " ",
                   job.memory_bytes, " ", job.is_cancel_requested, " ", job.is_held, " ",
                   job.is_start_expired, " ", job.wishes.size());
  for (const Attempt& attempt : job.attempts) {
    absl::StrAppend(&text, " [", attempt.number.value(), " ", attempt.fence.value(), " ",
                    attempt.device.node, " ", attempt.device.name, " ",
                    static_cast<int>(attempt.state), " ", static_cast<int>(attempt.end.cause), " ",
                    attempt.end.exit_code, " ", attempt.evicted_for.value_or(JobId()).value(), "]");
  }
  return text;
}

// A new durable event must be among the steps below, or this test says nothing about it.
static_assert(std::variant_size_v<Event> == 18);

// A cluster to which random things happen.
class World {
 public:
  void Step() {
    second_ += 0.1 * *rc::gen::inRange(0, 4);
    switch (AnyStep()) {
      case 0:
        return Try(JobSubmitted{draw_.AnyNewJob(), draw_.AnyKey(), draw_.AnySpec(second_)});
      case 1:
        return Try(CancelRequested{draw_.AnyJob(), draw_.AnyReason()});
      case 14:
        return Try(JobHeld{draw_.AnyJob(), draw_.AnyReason()});
      case 15:
        return Try(JobReleased{draw_.AnyJob(), draw_.AnyReason()});
      case 16:
        return Try(RequeueRequested{draw_.AnyJob(), draw_.AnyReason()});
      case 17:
        return FailLateStarts();
      case 9:
        return Try(MoveRequested{draw_.AnyJob(), {"a", "cpu1"}});
      case 10:
        return Try(EvictionRequested{draw_.AnyAttempt(), draw_.AnyJob()});
      case 2:
        return Place();
      case 3:
        return Try(AttemptStarted{draw_.AnyAttempt()});
      case 4:
        return Try(AnyEnd());
      case 5:
        return DialIn();
      case 8:
        return Try(draw_.AnyUpdate());
      case 11:
        return Try(AnyDrop());
      case 12:
        return TakeSnapshot();
      case 13:
        return Report();
      case 18:
        return AdmitTasks();
      case 6:
        return Carry(GiveUpOverdue(state_, AtSecond(second_)));
      default:
        return LoseSilentNodes();
    }
  }

  void CheckInvariants() {
    std::set<Fence> fences;
    std::map<DeviceKey, int64_t> bytes;
    std::map<DeviceKey, int> residents;
    int live = 0;
    for (JobId id(1); id < state_.next_job_id(); id = JobId(id.value() + 1)) {
      if (!state_.FindJob(id).ok()) continue;
      const Job& job = **state_.FindJob(id);
      CheckAttempts(job, &fences);
      if (const auto it = ended_.find(id); it != ended_.end())
        RC_ASSERT(Describe(job) == it->second);
      if (IsTerminal(job.phase)) ended_[id] = Describe(job);
      has_array_end_ = has_array_end_ || (job.is_array() && IsTerminal(job.phase));
      has_lost_dependency_ = has_lost_dependency_ || job.lost_dependency.has_value();
      if (!HasLiveAttempt(job.phase)) continue;
      ++live;
      bytes[job.live_attempt().device] += job.memory_bytes;
      residents[job.live_attempt().device] += 1;
    }
    for (const auto& [device, count] : residents) {
      has_shared_device_ = has_shared_device_ || count > 1;
      RC_ASSERT(count <= (device.name == "d0" ? kSeats : 1));
      RC_ASSERT(bytes[device] <= (device.name == "d0" ? 300 : 200));
    }
    RC_ASSERT(state_.counts().running == live);
    RC_ASSERT(state_.counts().pending - state_.counts().held ==
              CountBlocked() +
                  static_cast<int64_t>(state_.Snapshot(TimeAt(second_)).pending.size()));
    CheckHeld();
    CheckWorkLeft(state_, kNodeNames);
    CheckPlanner();
    arrays_.Check(state_.jobs(), state_.next_job_id());
  }

  // Jobs that wait for others.
  int64_t CountBlocked() const {
    int64_t count = 0;
    for (JobId id(1); id < state_.next_job_id(); id = JobId(id.value() + 1)) {
      const Job* job = state_.jobs().Find(id);
      if (job == nullptr || job->is_array() || job->phase != JobPhase::kPending) continue;
      if (job->is_held) continue;
      count += FindOpenDependency(state_.jobs(), *job) == nullptr ? 0 : 1;
    }
    return count;
  }

  bool has_shared_device() const { return has_shared_device_; }
  bool has_larger_ask() const { return has_larger_ask_; }
  bool has_eviction() const { return has_eviction_; }
  bool has_held() const { return has_held_; }
  bool has_requeue() const { return has_requeue_; }
  bool has_late_start() const { return has_late_start_; }

  // Counts and sets are those of the jobs one by one; no held job is planned.
  void CheckHeld() {
    JobCounts counts;
    for (JobId id(1); id < state_.next_job_id(); id = JobId(id.value() + 1)) {
      if (!state_.FindJob(id).ok()) continue;
      const Job& job = **state_.FindJob(id);
      if (job.is_array()) {
        counts.ended += IsTerminal(job.phase) ? 1 : 0;
        continue;
      }
      const bool is_pending = job.phase == JobPhase::kPending;
      counts.pending += is_pending ? 1 : 0;
      counts.held += is_pending && job.is_held ? 1 : 0;
      counts.ended += IsTerminal(job.phase) ? 1 : 0;
      RC_ASSERT(state_.SnapshotPending(id, TimeAt(second_)).has_value() ==
                (is_pending && !job.is_held && FindOpenDependency(state_.jobs(), job) == nullptr));
      RC_ASSERT(job.wishes.size() <= kWishesMax);
      has_held_ = has_held_ || (is_pending && job.is_held);
      has_requeue_ = has_requeue_ || (job.phase == JobPhase::kPending && !job.attempts.empty() &&
                                      job.attempts.back().is_requeued);
      has_late_start_ = has_late_start_ || job.is_start_expired;
    }
    RC_ASSERT(state_.counts().pending == counts.pending);
    RC_ASSERT(state_.counts().held == counts.held);
    RC_ASSERT(state_.counts().ended == counts.ended);
  }

  void CheckReplay() {
    ClusterState again{SomeLimits()};
    const absl::Status status = Recover(journal_, AtSecond(second_), &again);
    RC_ASSERT(status.ok());
    CheckSame(again, state_, TimeAt(second_), kNodeNames);
    for (const Taken& taken : snapshots_) CheckSnapshot(taken);
  }

  // What the planner was told of changes leads to the plan that the whole state leads to.
  void CheckPlanner() {
    const EventTime time = TimeAt(second_);
    const Plan plan = planner_.MakePlan(&state_, time);
    const Plan expected = pipefill::MakePlan(state_.Snapshot(time), policy_);
    RC_ASSERT(plan.placements == expected.placements);
    RC_ASSERT(plan.evictions == expected.evictions);
    RC_ASSERT(plan.numbers == expected.numbers);
    has_eviction_ = has_eviction_ || !plan.evictions.empty();
    for (const Eviction& eviction : plan.evictions) {
      RC_ASSERT(state_
                    .Check(EvictionRequested{(*state_.FindJob(eviction.victim))->live_key(),
                                             eviction.beneficiary},
                           time.now)
                    .ok());
    }
    // Of a tenant's use nothing is counted twice or forgotten.
    std::map<std::string, int> residents;
    std::map<std::string, int64_t> pending;
    for (JobId id(1); id < state_.next_job_id(); id = JobId(id.value() + 1)) {
      if (!state_.FindJob(id).ok()) continue;
      const Job& job = **state_.FindJob(id);
      if (HasLiveAttempt(job.phase)) ++residents[job.spec->tenant];
      if (job.phase == JobPhase::kPending) ++pending[job.spec->tenant];
    }
    for (const TenantUse& tenant : state_.tenants().List(time.wall)) {
      RC_ASSERT(tenant.resident == residents[tenant.limits.name]);
      RC_ASSERT(tenant.pending == pending[tenant.limits.name]);
    }
  }

  bool has_dropped() const { return has_dropped_; }
  bool has_array_end() const { return has_array_end_; }
  bool has_lost_dependency() const { return has_lost_dependency_; }
  bool has_snapshot() const { return !snapshots_.empty(); }

 private:
  // A case of Step.
  static int AnyStep() {
    return *rc::gen::weightedElement<int>({{3, 0},
                                           {1, 1},
                                           {6, 2},
                                           {3, 3},
                                           {2, 4},
                                           {2, 5},
                                           {1, 6},
                                           {1, 7},
                                           {1, 8},
                                           {1, 9},
                                           {3, 10},
                                           {1, 11},
                                           {1, 12},
                                           {2, 13},
                                           {1, 14},
                                           {3, 15},
                                           {3, 16},
                                           {1, 17},
                                           {3, 18}});
  }

  struct Taken {
    std::vector<std::string> blocks;
    int64_t sequence = 0;
  };

  void TakeSnapshot() {
    Taken taken{.blocks = {}, .sequence = journal_.last_sequence()};
    FrameWriter writer(SnapshotEncoder(state_.Durable(),
                                       {.sequence = taken.sequence, .wall = TimeAt(second_).wall}));
    while (std::optional<std::string> block = writer.Next()) {
      taken.blocks.push_back(*std::move(block));
    }
    snapshots_.push_back(std::move(taken));
  }

  // The snapshot and the records after it give the state that all records give.
  void CheckSnapshot(const Taken& taken) {
    ClusterState again{SomeLimits()};
    SnapshotDecoder decoder(AtSecond(second_), &again);
    FrameReader reader;
    for (const std::string& block : taken.blocks) {
      RC_ASSERT(
          reader.Take(block, [&](absl::string_view piece) { return decoder.Take(piece); }).ok());
    }
    RC_ASSERT(reader.Finish().ok());
    RC_ASSERT(decoder.Finish().ok());
    RC_ASSERT(decoder.stamp().sequence == taken.sequence);
    int64_t last = 0;
    RC_ASSERT(ReplayAfter(journal_, taken.sequence, AtSecond(second_), &again, &last).ok());
    CheckSame(again, state_, TimeAt(second_), kNodeNames);
  }

  // Of jobs that have ended or not.
  HistoryDropped AnyDrop() {
    HistoryDropped drop;
    JobId job = draw_.AnyJob();
    for (int i = *rc::gen::inRange(1, 3); i > 0; --i, job = JobId(job.value() + 1)) {
      drop.jobs.push_back(job);
    }
    has_dropped_ = has_dropped_ || state_.Check(drop, AtSecond(second_)).ok();
    return drop;
  }

  // At most one attempt of a job is live, and it is the last one; fences are unique and grow.
  static void CheckAttempts(const Job& job, std::set<Fence>* fences) {
    Fence last;
    for (size_t i = 0; i < job.attempts.size(); ++i) {
      const Attempt& attempt = job.attempts[i];
      RC_ASSERT(fences->insert(attempt.fence).second);
      RC_ASSERT(last < attempt.fence);
      last = attempt.fence;
      const bool is_live = attempt.state != AttemptState::kEnded;
      RC_ASSERT(is_live == (HasLiveAttempt(job.phase) && i + 1 == job.attempts.size()));
    }
  }

  void Try(const Event& event) {
    if (!state_.Check(event, AtSecond(second_)).ok()) return;
    state_.Apply(event, TimeAt(second_));
    if (IsDurable(event)) {
      RC_ASSERT(journal_.Append({EncodeRecord(event, TimeAt(second_).wall)}).ok());
    }
  }

  // What reconciliation decides is never refused.
  void Carry(const Decision& decision) {
    for (const Event& event : decision.events) {
      RC_ASSERT(state_.Check(event, AtSecond(second_)).ok());
      Try(event);
    }
  }

  void AdmitTasks() {
    for (const ArrayAdmitted& due : state_.DueTasks(*rc::gen::inRange(1, 4))) {
      std::set<JobId> expected;
      for (int64_t place = due.first; place < due.end; ++place) {
        const bool is_open =
            state_.jobs().Find(due.array)->tasks->ResultAt(place) == TaskResult::kNone;
        if (is_open) expected.insert(TaskIdOf(due.array, place));
      }
      RC_ASSERT(state_.Check(due, AtSecond(second_)).ok());
      Try(due);
      for (JobId task : expected) {
        RC_ASSERT(state_.FindJob(task).ok());
        arrays_.OnAdmitted(task);
      }
    }
    // One that is not due.
    const Job* array = state_.jobs().Find(draw_.AnyJob());
    if (array == nullptr || !array->is_array()) return;
    RC_ASSERT(!state_
                   .Check(ArrayAdmitted{array->id, array->tasks->next() - 1, array->tasks->next()},
                          AtSecond(second_))
                   .ok());
  }

  // As the loop does: what is late is never refused.
  void FailLateStarts() {
    for (JobId job : state_.waiting().LateStarts(TimeAt(second_).wall, 100)) {
      // The end of one before it may have cancelled this one.
      const bool is_waiting = (*state_.FindJob(job))->phase == JobPhase::kPending;
      RC_ASSERT(state_.Check(StartExpired{job}, AtSecond(second_)).ok() == is_waiting);
      Try(StartExpired{job});
    }
    Try(StartExpired{draw_.AnyJob()});
  }

  AttemptEnded AnyEnd() {
    AttemptEnded ended =
        EndOf(draw_.AnyAttempt(),
              *rc::gen::element(EndCause::kExited, EndCause::kLost, EndCause::kOutOfMemory,
                                EndCause::kCancelled, EndCause::kRefused));
    ended.useful_ns = *rc::gen::inRange(0, 1000);
    ended.progress = {.units = *rc::gen::element(0, 10, 100),
                      .unit_cpu_ns = 5'000,
                      .unit_estimate_ns = *rc::gen::inRange(50, 60)};
    ended.end.exit_code = *rc::gen::element(0, 1);
    if (state_.FindJob(ended.attempt.job).ok()) {
      ended.larger_memory_bytes = state_.LargerAsk(ended);
      has_larger_ask_ = has_larger_ask_ || ended.larger_memory_bytes > 0;
    }
    return ended;
  }

  void Place() {
    const JobId job = draw_.AnyJob();
    if (!state_.FindJob(job).ok()) return;
    Try(AttemptPlaced{
        state_.NextAttempt(job),
        {NodeName(*rc::gen::element(0, 1)), *rc::gen::element<std::string>("d0", "d1")},
        *rc::gen::element<std::string>("", "learned")});
  }

  // A hello, new or repeated, with some of what is live and some of what is not.
  void DialIn() {
    const int node = *rc::gen::element(0, 1);
    AgentRegistered hello = HelloFrom(NodeName(node), ++session_, DevicesOf(node));
    if (*rc::gen::element(0, 0, 1) == 1) hello.boot_id = "boot-2";
    for (int i = *rc::gen::inRange(0, 4); i > 0; --i)
      hello.live_attempts.push_back(draw_.AnyAttempt());
    if (!state_.Check(hello, AtSecond(second_)).ok()) return;
    Carry(ReconcileHello(state_, hello));
  }

  // What is only reported, and not durable.
  void Report() {
    const int node = *rc::gen::element(0, 1);
    const Node* known = state_.nodes().Find(NodeName(node));
    if (known == nullptr || !known->session.has_value()) return;
    AgentReported report;
    report.session = *known->session;
    report.devices = DevicesOf(node);
    for (const LiveAttempt* attempt : state_.LiveAttemptsOf(NodeName(node)).InOrder()) {
      report.progress.emplace_back(attempt->key, FillProgress{.units = *rc::gen::element(10, 100),
                                                              .unit_cpu_ns = 7'000,
                                                              .unit_cpu_in_bubble_ns = 6'000,
                                                              .unit_estimate_ns = 70});
    }
    Try(report);
  }

  void LoseSilentNodes() {
    if (*rc::gen::element(0, 0, 1) == 1) second_ += 15;
    for (const std::string& node : state_.SilentNodes(AtSecond(second_))) {
      Carry(GiveUpNode(state_, node, AtSecond(second_)));
    }
  }

  // Whether there are arrays and dependencies. They have a test of their own,
  // ties_property_test.cc.
  const bool has_ties_ = *rc::gen::element(false, false, true);
  const FifoPolicy policy_;
  ClusterPlanner planner_{policy_};
  ClusterState state_{SomeLimits()};
  const EventDraw draw_{state_, has_ties_};
  MemoryJournal journal_;
  double second_ = 0;
  uint64_t session_ = 0;
  std::map<JobId, std::string> ended_;
  bool has_shared_device_ = false;
  bool has_larger_ask_ = false;
  bool has_eviction_ = false;
  bool has_dropped_ = false;
  bool has_held_ = false;
  bool has_requeue_ = false;
  bool has_late_start_ = false;
  bool has_array_end_ = false;
  bool has_lost_dependency_ = false;
  ArrayChecker arrays_;
  std::vector<Taken> snapshots_;
};

RC_GTEST_PROP(ReplayPropertyTest, InvariantsHoldAndReplayGivesTheSameState, ()) {
  World world;
  for (int i = 0; i < 150; ++i) {
    world.Step();
    world.CheckInvariants();
  }
  world.CheckReplay();
  RC_CLASSIFY(world.has_shared_device(), "two attempts on one device");
  RC_CLASSIFY(world.has_eviction(), "a task could be evicted");
  RC_CLASSIFY(world.has_dropped(), "jobs left the history");
  RC_CLASSIFY(world.has_held(), "a job was held");
  RC_CLASSIFY(world.has_requeue(), "an attempt was stopped so that its job waits again");
  RC_CLASSIFY(world.has_late_start(), "a job had not started in time");
  RC_CLASSIFY(world.has_snapshot(), "snapshots were taken");
  RC_CLASSIFY(world.has_array_end(), "an array ended");
  RC_CLASSIFY(world.has_lost_dependency(), "a dependency was lost");
  RC_CLASSIFY(world.has_larger_ask(), "an attempt ran out of memory and asked for more");
}

}  // namespace
}  // namespace pipefill::scheduler
