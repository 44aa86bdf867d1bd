#include "scheduler/watch/watch_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/retry_after.h"
#include "common/virtual_time.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// Counts how it is woken.
class CountingWatcher : public Watcher {
 public:
  void Wake() override { ++wakes_; }
  void OnQuiet(uint64_t position) override { quiet_at_ = position; }

  int wakes_ = 0;
  std::optional<uint64_t> quiet_at_;
};

// Three jobs; room for four changes, three watches, of these two of one peer, and one wait.
class WatchHubTest : public testing::Test {
 protected:
  WatchHubTest() {
    for (int64_t id = 1; id <= 3; ++id) AddJob(id);
    Publish();
  }

  struct Watch {
    std::shared_ptr<CountingWatcher> watcher;
    WatcherId id;
    WatchReader reader;
  };

  void AddJob(int64_t id) {
    Job job;
    job.id = JobId(id);
    job.spec = std::make_shared<const JobSpec>(SpecThatNeeds(kMiB));
    table_.Add(std::move(job));
  }

  void Publish() {
    auto view = std::make_shared<ClusterView>();
    view->jobs = table_.Snapshot();
    board_.Publish(std::move(view));
  }

  // The job's phase changes, and the edge loop has its way.
  void Move(int64_t id, JobPhase phase) {
    table_.Edit(JobId(id)).phase = phase;
    Publish();
    time_.AdvanceBy(absl::Milliseconds(5));
  }

  Watch Enter(std::vector<JobId> jobs = {}, const std::string& peer = "here") {
    auto watcher = std::make_shared<CountingWatcher>();
    const absl::StatusOr<WatcherId> id = hub_.Enter(watcher, jobs, peer);
    EXPECT_TRUE(id.ok()) << id.status();
    return {watcher, *id, WatchReader({.jobs = std::move(jobs)}, WatchResetCause::kStart)};
  }

  // The ids of all jobs that are told now.
  std::vector<int64_t> Read(Watch& watch) {
    std::vector<int64_t> ids;
    while (true) {
      const std::optional<WatchBatch> batch = hub_.Next(watch.id, 2, &watch.reader);
      if (!batch.has_value()) return ids;
      for (const Job* job : batch->jobs) ids.push_back(job->id.value());
    }
  }

  static Limits SmallLimits() {
    Limits limits;
    limits.watchers_max = 3;
    limits.watchers_per_peer_max = 2;
    limits.waits_max = 1;
    limits.watch_log_max = 4;
    return limits;
  }

  VirtualTime time_;
  JobTable table_;
  ViewBoard board_{[this] { hub_.OnPublished(); }};
  WatchHub hub_{{time_, time_, board_}, SmallLimits()};
};

TEST_F(WatchHubTest, WatcherIsWokenForChangesThatItHasNotRead) {
  Watch watch = Enter();
  EXPECT_THAT(Read(watch), ElementsAre(1, 2, 3));
  EXPECT_EQ(watch.watcher->wakes_, 0);
  Move(2, JobPhase::kRunning);
  EXPECT_EQ(watch.watcher->wakes_, 1);
  // It is busy: not woken again.
  Move(3, JobPhase::kRunning);
  EXPECT_EQ(watch.watcher->wakes_, 1);
  EXPECT_THAT(Read(watch), ElementsAre(2, 3));
}

TEST_F(WatchHubTest, WhatWasPublishedBeforeIsInTheFirstState) {
  Watch first = Enter();
  Read(first);
  AddJob(4);
  Publish();
  // The edge loop has not run.
  Watch second = Enter({JobId(4)});
  EXPECT_THAT(Read(second), ElementsAre(4));
}

TEST_F(WatchHubTest, OnlyWatchersOfTheJobAreWoken) {
  Watch first = Enter({JobId(1)});
  Watch second = Enter({JobId(2)});
  Read(first);
  Read(second);
  Move(2, JobPhase::kRunning);
  EXPECT_EQ(first.watcher->wakes_, 0);
  EXPECT_EQ(second.watcher->wakes_, 1);
}

TEST_F(WatchHubTest, WatcherOfAQuietJobIsNotDroppedForTheChangesOfOthers) {
  Watch watch = Enter({JobId(1)});
  Read(watch);
  for (int i = 0; i < 5; ++i) {
    Move(2, JobPhase::kRunning);
    Move(2, JobPhase::kPending);
  }
  Move(1, JobPhase::kRunning);
  const std::optional<WatchBatch> batch = hub_.Next(watch.id, 2, &watch.reader);
  ASSERT_TRUE(batch.has_value());
  EXPECT_FALSE(batch->reset.has_value());
}

TEST_F(WatchHubTest, WatcherThatDoesNotReadIsDropped) {
  Watch watch = Enter();
  Read(watch);
  for (int i = 0; i < 5; ++i) {
    Move(2, JobPhase::kRunning);
    Move(2, JobPhase::kPending);
  }
  EXPECT_EQ(watch.watcher->wakes_, 1);
  const std::optional<WatchBatch> batch = hub_.Next(watch.id, 2, &watch.reader);
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->reset, WatchResetCause::kDropped);
  EXPECT_EQ(batch->dropped, 6U);
}

TEST_F(WatchHubTest, WatcherThatHasLeftIsNotWoken) {
  Watch watch = Enter();
  Read(watch);
  hub_.Leave(watch.id);
  Move(2, JobPhase::kRunning);
  EXPECT_EQ(watch.watcher->wakes_, 0);
  EXPECT_EQ(hub_.use().watchers, 0);
}

TEST_F(WatchHubTest, QuietWatcherIsToldHowFarItIs) {
  Watch watch = Enter({JobId(1)});
  Read(watch);
  Move(2, JobPhase::kRunning);
  const uint64_t before = watch.reader.position();
  time_.AdvanceBy(absl::Seconds(30));
  ASSERT_TRUE(watch.watcher->quiet_at_.has_value());
  EXPECT_GT(*watch.watcher->quiet_at_, before);
  // Then it reads on.
  watch.reader.SkipTo(*watch.watcher->quiet_at_);
  EXPECT_THAT(Read(watch), IsEmpty());
  Move(1, JobPhase::kRunning);
  EXPECT_THAT(Read(watch), ElementsAre(1));
}

TEST_F(WatchHubTest, ChangesAreKeptForAWhileAfterTheLastWatcher) {
  Watch watch = Enter();
  Read(watch);
  const uint64_t position = watch.reader.position();
  hub_.Leave(watch.id);
  time_.AdvanceBy(absl::Seconds(30));
  Move(2, JobPhase::kRunning);
  Watch soon = Enter();
  WatchReader back({}, position);
  EXPECT_THAT(hub_.Next(soon.id, 9, &back)->reset, std::nullopt);
  hub_.Leave(soon.id);

  time_.AdvanceBy(absl::Minutes(3));
  Watch late = Enter();
  WatchReader too_late({}, position);
  EXPECT_EQ(hub_.Next(late.id, 9, &too_late)->reset, WatchResetCause::kTooOld);
}

TEST_F(WatchHubTest, ManyPublishedViewsAreOnePass) {
  Watch watch = Enter();
  Read(watch);
  Move(1, JobPhase::kRunning);
  Read(watch);
  for (const JobPhase phase : {JobPhase::kPending, JobPhase::kSucceeded}) {
    table_.Edit(JobId(1)).phase = phase;
    Publish();
  }
  table_.Edit(JobId(2)).phase = JobPhase::kRunning;
  Publish();
  time_.AdvanceBy(absl::Milliseconds(5));
  EXPECT_EQ(watch.watcher->wakes_, 2);
  EXPECT_THAT(Read(watch), ElementsAre(1, 2));
}

// --- Waits ---

TEST_F(WatchHubTest, WaitIsWokenByEachChangeOfItsJobAndNoOther) {
  auto watcher = std::make_shared<CountingWatcher>();
  ASSERT_TRUE(hub_.EnterWait(watcher, JobId(1)).ok());
  Move(2, JobPhase::kRunning);
  EXPECT_EQ(watcher->wakes_, 0);
  Move(1, JobPhase::kRunning);
  Move(1, JobPhase::kSucceeded);
  EXPECT_EQ(watcher->wakes_, 2);
}

// --- Limits ---

TEST_F(WatchHubTest, WatchesOfAPeerUpToTheLimit) {
  Enter();
  Watch second = Enter();
  const absl::StatusOr<WatcherId> third =
      hub_.Enter(std::make_shared<CountingWatcher>(), {}, "here");
  EXPECT_EQ(third.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(third.status().message()),
              StartsWith("watchers_per_peer_max: 2 watches of here run already"));
  EXPECT_TRUE(RetryAfterOf(third.status()).has_value());
  hub_.Leave(second.id);
  Enter();
}

TEST_F(WatchHubTest, WatchesOfAllUpToTheLimit) {
  Enter({}, "a");
  Enter({}, "b");
  Enter({}, "c");
  const absl::StatusOr<WatcherId> more = hub_.Enter(std::make_shared<CountingWatcher>(), {}, "d");
  EXPECT_THAT(std::string(more.status().message()), StartsWith("watchers_max: 3 watches run"));
  EXPECT_TRUE(RetryAfterOf(more.status()).has_value());
  // Waits are counted on their own.
  EXPECT_TRUE(hub_.EnterWait(std::make_shared<CountingWatcher>(), JobId(1)).ok());
}

TEST_F(WatchHubTest, WaitsUpToTheLimit) {
  const auto first = hub_.EnterWait(std::make_shared<CountingWatcher>(), JobId(1));
  ASSERT_TRUE(first.ok());
  const auto second = hub_.EnterWait(std::make_shared<CountingWatcher>(), JobId(1));
  EXPECT_EQ(second.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(second.status().message()), StartsWith("waits_max: 1 calls wait"));
  hub_.Leave(*first);
  EXPECT_TRUE(hub_.EnterWait(std::make_shared<CountingWatcher>(), JobId(1)).ok());
}

}  // namespace
}  // namespace pipefill::scheduler
