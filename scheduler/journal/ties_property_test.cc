// Arrays and dependencies under random events and crashes: the state is thrown away at any moment
// and recovered, from all records or from a snapshot and the records after it. In the end every
// task has become a job at most once and has ended once, and nobody waits for what is over.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/journal/memory_journal.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/snapshot_frame.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

constexpr int kSeats = 4;

ClusterLimits SomeLimits() {
  ClusterLimits limits;
  limits.array_window = 2;
  limits.array_history_max = 3;
  return limits;
}

class World {
 public:
  World() { DialIn(); }

  void Step() {
    switch (*rc::gen::weightedElement<int>(
        {{2, 0}, {3, 1}, {6, 2}, {6, 3}, {1, 4}, {1, 5}, {1, 6}, {1, 7}})) {
      case 0:
        return Submit();
      case 1:
        return AdmitTasks(*rc::gen::inRange(1, 4));
      case 2:
        return PlaceOne();
      case 3:
        return EndOne();
      case 4:
        return Try(CancelRequested{AnyJob()});
      case 5:
        return DropHistory(*rc::gen::element(false, false, true));
      case 6:
        return TakeSnapshot();
      default:
        return Crash();
    }
  }

  // All that may happen happens, with a crash now and then.
  void Drain() {
    for (int round = 0; round < 2'000; ++round) {
      if (*rc::gen::inRange(0, 20) == 0) Crash();
      AdmitTasks(1'000);
      PlaceOne();
      EndOne();
      const JobCounts counts = state_->counts();
      if (counts.pending + counts.running + counts.arrays == 0) return;
    }
    RC_FAIL("something waits for good");
  }

  void Check() {
    for (const auto& [id, size] : arrays_) CheckArray(id, size);
    for (const PendingJob& job : state_->Snapshot(TimeAt(0)).pending) {
      RC_ASSERT(FindOpenDependency(state_->jobs(), **state_->FindJob(job.id)) == nullptr);
    }
  }

  // Of jobs that are over.
  void CheckEnds() {
    for (const auto& [id, dependencies] : dependencies_) {
      const Job* job = state_->jobs().Find(id);
      if (job == nullptr || job->lost_dependency.has_value()) continue;
      for (const Dependency& dependency : dependencies) {
        const Job* other = state_->jobs().Find(dependency.job);
        const bool has_run = !job->attempts.empty() || (job->is_array() && job->tasks->next() > 0);
        if (other == nullptr || !has_run) continue;
        RC_ASSERT(Holds(dependency.condition, other->phase));
      }
    }
  }

  bool has_arrays() const { return !arrays_.empty(); }
  int crashes() const { return crashes_; }

 private:
  void Try(const Event& event) {
    if (!state_->Check(event, AtSecond(0)).ok()) return;
    state_->Apply(event, TimeAt(0));
    if (IsDurable(event)) {
      RC_ASSERT(journal_.Append({EncodeRecord(event, TimeAt(0).wall)}).ok());
    }
    for (JobId id : state_->TakeEnded()) RC_ASSERT(ended_.insert(id).second);
  }

  void DialIn() {
    AgentRegistered hello = HelloFrom("a", ++session_, {FilledDevice("a", "cpu0", kSeats)});
    for (const LiveAttempt* live : state_->LiveAttemptsOf("a").InOrder()) {
      hello.live_attempts.push_back(live->key);
    }
    Try(hello);
  }

  JobId AnyJob() { return JobId(*rc::gen::inRange<int64_t>(0, state_->next_job_id().value() + 1)); }

  void Submit() {
    JobSpec spec = SpecThatNeeds(kMiB, *rc::gen::element(0, 1));
    if (*rc::gen::element(0, 1) == 1) {
      spec.array = ArraySpec{.ranges = {{0, *rc::gen::inRange(0, 9), 1}, {20, 24, 2}},
                             .throttle = *rc::gen::element(0, 1, 3)};
    }
    for (int i = *rc::gen::element(0, 0, 1, 2); i > 0; --i) {
      spec.dependencies.push_back(
          {AnyJob(), *rc::gen::element(DependencyCondition::kOk, DependencyCondition::kAny,
                                       DependencyCondition::kNotOk)});
    }
    const JobSubmitted submitted{state_->next_job_id(), "", spec};
    if (!state_->Check(submitted, AtSecond(0)).ok()) return;
    if (spec.array.has_value()) arrays_[submitted.job] = spec.array->size();
    dependencies_[submitted.job] = spec.dependencies;
    Try(submitted);
  }

  void AdmitTasks(int64_t limit) {
    for (const ArrayAdmitted& due : state_->DueTasks(limit)) {
      std::vector<JobId> tasks;
      for (int64_t place = due.first; place < due.end; ++place) {
        const bool is_open =
            state_->jobs().Find(due.array)->tasks->ResultAt(place) == TaskResult::kNone;
        if (is_open) tasks.push_back(TaskIdOf(due.array, place));
      }
      RC_ASSERT(static_cast<int64_t>(tasks.size()) <= limit);
      RC_ASSERT(state_->Check(due, AtSecond(0)).ok());
      Try(due);
      for (JobId task : tasks) {
        RC_ASSERT(state_->FindJob(task).ok());
        RC_ASSERT(admitted_.insert(task).second);
      }
    }
  }

  void PlaceOne() {
    const std::vector<PendingJob> pending = state_->Snapshot(TimeAt(0)).pending;
    if (pending.empty()) return;
    Try(AttemptPlaced{state_->NextAttempt((*rc::gen::elementOf(pending)).id), {"a", "cpu0"}});
  }

  void EndOne() {
    std::vector<AttemptKey> live;
    for (const LiveAttempt* attempt : state_->LiveAttemptsOf("a").InOrder()) {
      live.push_back(attempt->key);
    }
    if (live.empty()) return;
    const AttemptKey key = *rc::gen::elementOf(live);
    AttemptEnded ended = EndOf(key, *rc::gen::element(EndCause::kExited, EndCause::kExited,
                                                      EndCause::kCancelled, EndCause::kLost));
    ended.end.exit_code = *rc::gen::element(0, 0, 1);
    Try(ended);
  }

  void DropHistory(bool is_all) {
    const absl::Time wall = is_all ? absl::InfiniteFuture() : TimeAt(0).wall;
    const std::vector<JobId> expired = state_->ExpiredJobs(wall, 5);
    if (expired.empty()) return;
    RC_ASSERT(state_->Check(HistoryDropped{expired}, AtSecond(0)).ok());
    Try(HistoryDropped{expired});
  }

  void TakeSnapshot() {
    snapshot_.clear();
    snapshot_sequence_ = journal_.last_sequence();
    FrameWriter writer(SnapshotEncoder(state_->Durable(),
                                       {.sequence = snapshot_sequence_, .wall = TimeAt(0).wall}));
    while (std::optional<std::string> block = writer.Next()) {
      snapshot_.push_back(*std::move(block));
    }
  }

  // Memory is gone; what is on disk is there.
  void Crash() {
    ++crashes_;
    ClusterState recovered(SomeLimits());
    if (!snapshot_.empty()) {
      SnapshotDecoder decoder(AtSecond(0), &recovered);
      FrameReader reader;
      for (const std::string& block : snapshot_) {
        RC_ASSERT(
            reader.Take(block, [&](absl::string_view piece) { return decoder.Take(piece); }).ok());
      }
      RC_ASSERT(decoder.Finish().ok());
    }
    int64_t last = 0;
    RC_ASSERT(ReplayAfter(journal_, snapshot_sequence_, AtSecond(0), &recovered, &last).ok());
    recovered.FinishReplay(AtSecond(0));
    RC_ASSERT(recovered.TakeEnded().empty());
    RC_ASSERT(recovered.DueTasks(1'000) == state_->DueTasks(1'000));
    state_ = std::make_unique<ClusterState>(std::move(recovered));
    DialIn();
  }

  void CheckArray(JobId id, int64_t size) {
    const Job* array = state_->jobs().Find(id);
    if (array == nullptr) return;
    std::vector<TaskResult>& results = results_[id];
    results.resize(static_cast<size_t>(size));
    int64_t in_flight = 0;
    for (int64_t place = 0; place < size; ++place) {
      const TaskResult result = array->tasks->ResultAt(place);
      TaskResult& known = results[static_cast<size_t>(place)];
      RC_ASSERT(known == TaskResult::kNone || known == result);
      known = result;
      const Job* task = state_->jobs().Find(TaskIdOf(id, place));
      RC_ASSERT((result != TaskResult::kNone) == ended_.contains(TaskIdOf(id, place)));
      if (task == nullptr) {
        RC_ASSERT(result != TaskResult::kNone || place >= array->tasks->next());
        continue;
      }
      RC_ASSERT(admitted_.contains(task->id));
      RC_ASSERT(IsTerminal(task->phase) == (result != TaskResult::kNone));
      in_flight += IsTerminal(task->phase) ? 0 : 1;
    }
    RC_ASSERT(in_flight == array->tasks->in_flight());
    RC_ASSERT(IsTerminal(array->phase) == array->tasks->is_over());
    RC_ASSERT(IsTerminal(array->phase) == ended_.contains(id));
    const int32_t throttle = array->spec->array->throttle;
    RC_ASSERT(throttle == 0 || in_flight <= throttle);
    RC_ASSERT(array->tasks->waiting() <= in_flight);
  }

  std::unique_ptr<ClusterState> state_ = std::make_unique<ClusterState>(SomeLimits());
  MemoryJournal journal_;
  std::vector<std::string> snapshot_;
  int64_t snapshot_sequence_ = 0;
  uint64_t session_ = 0;
  int crashes_ = 0;
  std::map<JobId, int64_t> arrays_;  // their sizes
  std::map<JobId, std::vector<Dependency>> dependencies_;
  std::map<JobId, std::vector<TaskResult>> results_;
  std::set<JobId> admitted_;
  std::set<JobId> ended_;
};

RC_GTEST_PROP(TiesPropertyTest, EveryTaskIsAJobAtMostOnceAndEndsOnce, ()) {
  World world;
  for (int i = 0; i < 120; ++i) {
    world.Step();
    world.Check();
  }
  world.Drain();
  world.Check();
  world.CheckEnds();
  RC_CLASSIFY(world.has_arrays(), "arrays");
  RC_CLASSIFY(world.crashes() > 5, "many crashes");
}

}  // namespace
}  // namespace pipefill::scheduler
