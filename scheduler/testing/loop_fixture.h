// A scheduler loop in virtual time, on a journal in memory, with agents that keep what they are
// sent.
//
// Thread-compatible: used from one thread.
#ifndef SCHEDULER_TESTING_LOOP_FIXTURE_H_
#define SCHEDULER_TESTING_LOOP_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/virtual_time.h"
#include "planner/policies/fifo.h"
#include "scheduler/journal/memory_journal.h"
#include "scheduler/journal/memory_snapshots.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/scheduler_loop.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {

// Keeps what was sent.
class FakeAgents : public AgentLink {
 public:
  void Send(SessionId session, const Action& action) override {
    sent_.emplace_back(session, action);
  }
  void Close(SessionId session, const absl::Status& status) override {
    closed_.emplace_back(session, status);
  }

  // All actions of one kind, in order.
  template <typename T>
  std::vector<T> All() const {
    std::vector<T> all;
    for (const auto& [session, action] : sent_) {
      if (const T* found = std::get_if<T>(&action)) all.push_back(*found);
    }
    return all;
  }

  std::vector<std::pair<SessionId, Action>> sent_;
  std::vector<std::pair<SessionId, absl::Status>> closed_;
};

// A disk with space until it is told otherwise.
class FakeSpace : public DiskSpace {
 public:
  absl::Status Check() override { return status_; }
  bool GiveUpReserve() override {
    if (on_give_up_ == nullptr) return false;
    std::exchange(on_give_up_, nullptr)();
    return true;
  }

  absl::Status status_;
  // Called once; nullptr = there is no reserve.
  std::function<void()> on_give_up_;
};

class SchedulerLoopTest : public testing::Test {
 protected:
  SchedulerLoopTest() { Start(); }

  // A schedulerd on the journal as it is.
  void Start() {
    auto recovered = RecoverStore(journal_, snapshots_, cluster_limits_, time_->Now());
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    loop_ = std::make_unique<SchedulerLoop>(
        LoopDependencies{.loop = *time_,
                         .clock = *time_,
                         .journal = journal_,
                         .agents = agents_,
                         .policy = policy_,
                         .board = board_,
                         .on_fatal = [this](const absl::Status& status) { fatal_ = status; },
                         .snapshots = &snapshots_,
                         .space = &space_},
        limits_, std::move(recovered->state),
        StoreSummary{.snapshot_sequence = recovered->snapshot_sequence,
                     .older_snapshot_sequence = recovered->older_snapshot_sequence,
                     .snapshot_at = recovered->snapshot_at});
    loop_->Start();
    time_->RunReady();
  }

  // kill -9, and up again: timers and memory are gone, the journal is there.
  void Restart() {
    loop_ = nullptr;
    const Instant now = time_->Now();
    time_ = std::make_unique<VirtualTime>();
    time_->AdvanceTo(now);
    agents_ = FakeAgents();
    Start();
  }

  void Say(uint64_t session, decltype(AgentSaid::message) message) {
    ASSERT_TRUE(loop_->Post(AgentSaid{SessionId(session), std::move(message), nullptr}).ok());
    time_->RunReady();
  }

  void DialIn(uint64_t session, std::vector<AttemptKey> live = {},
              const std::string& boot_id = "boot-1") {
    AgentRegistered hello = HelloFrom("a", session, {FilledDevice("a", "cpu0")});
    hello.live_attempts = std::move(live);
    hello.boot_id = boot_id;
    Say(session, hello);
  }

  absl::StatusOr<Submission> Submit(const std::string& key = "", int32_t retries = 0) {
    absl::StatusOr<Submission> result = absl::UnknownError("not answered");
    SubmitRequest request{key, SpecThatNeeds(100 * kMiB, retries),
                          [&](absl::StatusOr<Submission> answer) { result = answer; }};
    EXPECT_TRUE(loop_->Post(std::move(request)).ok());
    time_->RunReady();
    return result;
  }

  absl::Status Cancel(int64_t job) {
    absl::Status result = absl::UnknownError("not answered");
    EXPECT_TRUE(
        loop_->Post(CancelRequest{JobId(job), [&](absl::Status answer) { result = answer; }}).ok());
    time_->RunReady();
    return result;
  }

  absl::Status Move(int64_t job) {
    absl::Status result = absl::UnknownError("not answered");
    MoveRequest request = {JobId(job), std::nullopt,
                           [&](absl::Status answer) { result = std::move(answer); }};
    EXPECT_TRUE(loop_->Post(std::move(request)).ok());
    time_->RunReady();
    return result;
  }

  absl::StatusOr<MainJobSettings> SetPaused(const std::string& main_job, bool is_paused) {
    absl::StatusOr<MainJobSettings> result = absl::UnknownError("not answered");
    UpdateMainJobRequest request{
        {}, [&](absl::StatusOr<MainJobSettings> answer) { result = std::move(answer); }};
    request.change.main_job = main_job;
    request.change.is_paused = is_paused;
    EXPECT_TRUE(loop_->Post(std::move(request)).ok());
    time_->RunReady();
    return result;
  }

  const Job& Get(int64_t id) {
    view_ = board_.Latest();
    return **FindJob(*view_, JobId(id));
  }

  AttemptKey LastLaunched() { return agents_.All<LaunchAttempt>().back().attempt; }

  // Lets time pass while the agent reports every second.
  void PassReporting(int seconds, uint64_t session = 1) {
    for (int i = 0; i < seconds; ++i) {
      time_->AdvanceBy(absl::Seconds(1));
      Say(session, ReportFrom(session, {FilledDevice("a", "cpu0")}));
    }
  }

  LoopLimits limits_;
  ClusterLimits cluster_limits_;
  std::unique_ptr<VirtualTime> time_ = std::make_unique<VirtualTime>();
  MemoryJournal journal_;
  MemorySnapshots snapshots_;
  FakeSpace space_;
  FakeAgents agents_;
  FifoPolicy policy_;
  ViewBoard board_;
  absl::Status fatal_;
  std::unique_ptr<SchedulerLoop> loop_;
  std::shared_ptr<const ClusterView> view_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_TESTING_LOOP_FIXTURE_H_
