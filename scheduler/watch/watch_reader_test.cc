#include "scheduler/watch/watch_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "scheduler/testing/builders.h"
#include "scheduler/watch/watch_cursor.h"
#include "scheduler/watch/watch_log.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Four jobs, the second of which has ended; room for three changes.
class WatchReaderTest : public testing::Test {
 protected:
  WatchReaderTest() {
    for (int64_t id = 1; id <= 4; ++id) Add(id, id == 4 ? "other" : "default");
    table_.Edit(JobId(2)).phase = JobPhase::kCancelled;
    log_.Restart(View(), AtSecond(0));
  }

  void Add(int64_t id, const std::string& tenant = "default") {
    Job job;
    job.id = JobId(id);
    JobSpec spec = SpecThatNeeds(kMiB);
    spec.tenant = tenant;
    job.spec = std::make_shared<const JobSpec>(spec);
    table_.Add(std::move(job));
  }

  SharedView View() {
    auto view = std::make_shared<ClusterView>();
    view->jobs = table_.Snapshot();
    view->plan = plan_;
    view->counts.pending = 1;
    return view;
  }

  // The job's phase changes, and the log hears of it.
  void Move(int64_t id, JobPhase phase) {
    table_.Edit(JobId(id)).phase = phase;
    log_.Advance(View());
  }

  WatchBatch Read(WatchReader& reader, size_t jobs_max = 100) {
    return reader.Read(log_.Slice(reader.position(), 100), jobs_max);
  }

  static std::vector<int64_t> IdsOf(const WatchBatch& batch) {
    std::vector<int64_t> ids;
    for (const Job* job : batch.jobs) ids.push_back(job->id.value());
    return ids;
  }

  JobTable table_;
  std::shared_ptr<const Plan> plan_ = std::make_shared<const Plan>();
  WatchLog log_{/*changes_max=*/3};
};

TEST_F(WatchReaderTest, StateComesFirstAndThenChanges) {
  WatchReader reader({}, WatchResetCause::kStart);
  const WatchBatch state = Read(reader);
  EXPECT_EQ(state.reset, WatchResetCause::kStart);
  EXPECT_THAT(IdsOf(state), ElementsAre(1, 2, 3, 4));
  EXPECT_TRUE(state.is_synced);

  Move(3, JobPhase::kStarting);
  const WatchBatch change = Read(reader);
  EXPECT_FALSE(change.reset.has_value());
  EXPECT_THAT(IdsOf(change), ElementsAre(3));
  EXPECT_EQ(change.jobs[0]->phase, JobPhase::kStarting);
  EXPECT_FALSE(change.is_synced);
  EXPECT_TRUE(Read(reader).is_empty());
}

TEST_F(WatchReaderTest, StateInPiecesHasNoPositionBeforeItsEnd) {
  WatchReader reader({}, WatchResetCause::kStart);
  const WatchBatch first = Read(reader, 3);
  EXPECT_THAT(IdsOf(first), ElementsAre(1, 2, 3));
  EXPECT_FALSE(first.position.has_value());
  EXPECT_TRUE(reader.has_more());
  const WatchBatch second = Read(reader, 3);
  EXPECT_THAT(IdsOf(second), ElementsAre(4));
  EXPECT_TRUE(second.position.has_value());
}

TEST_F(WatchReaderTest, JobThatWasPassedOnTheWalkIsToldAgainWhenItChanges) {
  WatchReader reader({}, WatchResetCause::kStart);
  Read(reader, 2);
  Move(1, JobPhase::kStarting);
  Move(4, JobPhase::kStarting);
  // Not the fourth: the walk comes to it.
  EXPECT_THAT(IdsOf(Read(reader)), ElementsAre(1, 3, 4));
}

TEST_F(WatchReaderTest, SeveralChangesOfAJobAreToldAsTheLast) {
  WatchReader reader({}, WatchResetCause::kStart);
  Read(reader);
  Move(1, JobPhase::kStarting);
  Move(1, JobPhase::kRunning);
  const WatchBatch change = Read(reader);
  ASSERT_THAT(IdsOf(change), ElementsAre(1));
  EXPECT_EQ(change.jobs[0]->phase, JobPhase::kRunning);
}

TEST_F(WatchReaderTest, ReaderThatFallsBehindTheRingGetsTheStateAnew) {
  WatchReader reader({}, WatchResetCause::kStart);
  Read(reader);
  for (const JobPhase phase : {JobPhase::kStarting, JobPhase::kRunning}) {
    Move(1, phase);
    Move(3, phase);
  }
  const WatchBatch state = Read(reader);
  EXPECT_EQ(state.reset, WatchResetCause::kDropped);
  EXPECT_EQ(state.dropped, 1U);
  EXPECT_THAT(IdsOf(state), ElementsAre(1, 2, 3, 4));
}

TEST_F(WatchReaderTest, ReturnGoesOnAtThePosition) {
  WatchReader first({}, WatchResetCause::kStart);
  const uint64_t position = *Read(first).position;
  Move(3, JobPhase::kStarting);
  WatchReader second({}, position);
  const WatchBatch change = Read(second);
  EXPECT_FALSE(change.reset.has_value());
  EXPECT_THAT(IdsOf(change), ElementsAre(3));
  EXPECT_TRUE(change.is_synced);
}

TEST_F(WatchReaderTest, ReturnThatIsTooLateGetsTheStateAnew) {
  WatchReader first({}, WatchResetCause::kStart);
  const uint64_t position = *Read(first).position;
  log_.Restart(View(), AtSecond(1));
  WatchReader second({}, position);
  EXPECT_EQ(Read(second).reset, WatchResetCause::kTooOld);
}

TEST_F(WatchReaderTest, ActiveOnesAreToldUpToTheirEnd) {
  WatchReader reader({.is_active_only = true}, WatchResetCause::kStart);
  EXPECT_THAT(IdsOf(Read(reader)), ElementsAre(1, 3, 4));
  Move(3, JobPhase::kSucceeded);
  EXPECT_THAT(IdsOf(Read(reader)), ElementsAre(3));
}

TEST_F(WatchReaderTest, ActiveOneWhoseEndWasNotReadInTimeIsGone) {
  WatchReader reader({.is_active_only = true}, WatchResetCause::kStart);
  Read(reader);
  Move(3, JobPhase::kSucceeded);
  table_.Drop(JobId(3));
  log_.Advance(View());
  const WatchBatch change = Read(reader);
  EXPECT_THAT(change.jobs, IsEmpty());
  EXPECT_THAT(change.gone, ElementsAre(JobId(3)));
}

TEST_F(WatchReaderTest, NamedJobsThatAreNotKnownAreGone) {
  WatchReader reader({.jobs = {JobId(2), JobId(3), JobId(9)}}, WatchResetCause::kStart);
  const WatchBatch state = Read(reader);
  EXPECT_THAT(IdsOf(state), ElementsAre(2, 3));
  EXPECT_THAT(state.gone, ElementsAre(JobId(9)));
  Move(1, JobPhase::kStarting);
  EXPECT_TRUE(Read(reader).is_empty());
  table_.Drop(JobId(2));
  log_.Advance(View());
  EXPECT_THAT(Read(reader).gone, ElementsAre(JobId(2)));
}

TEST_F(WatchReaderTest, OnlyTheTenantsJobsAreTold) {
  WatchReader reader({.tenant = "other"}, WatchResetCause::kStart);
  EXPECT_THAT(IdsOf(Read(reader)), ElementsAre(4));
  Move(1, JobPhase::kStarting);
  EXPECT_TRUE(Read(reader).is_empty());
}

TEST_F(WatchReaderTest, ProgressIsToldWhenItIsAskedForOnly) {
  table_.Edit(JobId(1)).attempts.emplace_back();
  log_.Advance(View());
  log_.AdvanceProgress();
  WatchReader reader({}, WatchResetCause::kStart);
  Read(reader);
  table_.Edit(JobId(1)).attempts.back().progress.units = 7;
  log_.Advance(View());
  EXPECT_TRUE(Read(reader).is_empty());
  log_.AdvanceProgress();
  EXPECT_THAT(IdsOf(Read(reader)), ElementsAre(1));
  log_.AdvanceProgress();
  EXPECT_TRUE(Read(reader).is_empty());
}

TEST_F(WatchReaderTest, JobThatWaitsForAnotherReasonIsTold) {
  WatchReader reader({}, WatchResetCause::kStart);
  Read(reader);
  auto plan = std::make_shared<Plan>();
  plan->last_job = JobId(3);
  plan_ = plan;
  log_.Advance(View());
  EXPECT_TRUE(Read(reader).is_empty());
  log_.AdvanceReasons(AtSecond(1));
  // Not the second, which does not wait, nor the fourth, at which no plan has looked.
  EXPECT_THAT(IdsOf(Read(reader)), ElementsAre(1, 3));
  log_.AdvanceReasons(AtSecond(2));
  EXPECT_TRUE(Read(reader).is_empty());
}

TEST_F(WatchReaderTest, ReasonThatHeldForAMomentIsTakenBack) {
  WatchReader reader({}, WatchResetCause::kStart);
  Read(reader);
  const auto first_plan = plan_;
  auto plan = std::make_shared<Plan>();
  plan->last_job = JobId(4);
  plan_ = plan;
  table_.Edit(JobId(1)).refusals = 1;
  log_.Advance(View());
  // With the reason of the second plan.
  EXPECT_THAT(IdsOf(Read(reader)), ElementsAre(1));
  plan_ = first_plan;
  log_.Advance(View());
  log_.AdvanceReasons(AtSecond(1));
  EXPECT_THAT(IdsOf(Read(reader)), ElementsAre(1));
}

// --- Cursors ---

TEST(WatchCursorTest, ComesBackAsItWasGiven) {
  const WatchCursor cursor = {.boot = "a1b2", .filters = 0xfeed, .position = 12};
  EXPECT_EQ(FormatCursor(cursor), "a1b2.feed.12");
  EXPECT_EQ(*ParseCursor("a1b2.feed.12"), cursor);
}

TEST(WatchCursorTest, WhatIsNoneIsRefused) {
  for (const char* text : {"7", "a.b", "a.b.c", "a.b.-1", "a.b.1.2", "a.xyz.1", ".."}) {
    EXPECT_EQ(ParseCursor(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(WatchCursorTest, HoldsForItsRunAndFiltersOnly) {
  const WatchFilter filter = {.jobs = {JobId(7)}};
  const std::string cursor = CursorOf(filter, "boot", 5);
  EXPECT_EQ(ReaderFrom(cursor, "boot", filter)->position(), 5U);

  WatchLog log(8);
  log.Restart(std::make_shared<const ClusterView>(), AtSecond(0));
  const auto cause = [&](absl::StatusOr<WatchReader> reader) {
    return reader->Read(log.Slice(reader->position(), 8), 8).reset;
  };
  EXPECT_EQ(cause(ReaderFrom("", "boot", filter)), WatchResetCause::kStart);
  EXPECT_EQ(cause(ReaderFrom(cursor, "later", filter)), WatchResetCause::kOtherBoot);
  EXPECT_EQ(cause(ReaderFrom(cursor, "boot", {})), WatchResetCause::kOtherFilter);
}

}  // namespace
}  // namespace pipefill::scheduler
