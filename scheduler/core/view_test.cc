#include "scheduler/core/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int64_t> IdsOf(const JobPage& page) {
  std::vector<int64_t> ids;
  for (const Job* job : page.jobs) ids.push_back(job->id.value());
  return ids;
}

// Five jobs, the third of which was cancelled; node "a" is connected, node "b" is away.
class ViewTest : public testing::Test {
 protected:
  ViewTest() {
    ClusterState state{ClusterLimits{}};
    for (int64_t id = 1; id <= 5; ++id) {
      state.Apply(JobSubmitted{JobId(id), "", SpecThatNeeds(kMiB)}, TimeAt(0));
    }
    state.Apply(CancelRequested{JobId(3)}, TimeAt(0));
    state.Apply(HelloFrom("a", 1, {FilledDevice("a", "cpu0")}), TimeAt(0));
    state.Apply(HelloFrom("b", 2, {FilledDevice("b", "cpu0")}), TimeAt(0));
    AgentReported report = ReportFrom(1, {FilledDevice("a", "cpu0")});
    report.bubbles.resize(2);
    report.bubbles[0].main_job = "gpt";
    report.bubbles[1].main_job = "bert";
    state.Apply(report, TimeAt(0));
    state.Apply(AgentDisconnected{SessionId(2)}, TimeAt(0));
    view_.jobs = state.SnapshotJobs();
    view_.nodes = state.nodes().Snapshot();
  }

  ClusterView view_;
};

TEST_F(ViewTest, PagesRunFromTheNewestToTheOldest) {
  const JobPage first = ListJobs(view_, {.limit = 2, .cursor = JobId(0)});
  EXPECT_THAT(IdsOf(first), ElementsAre(5, 4));
  const JobPage second = ListJobs(view_, {.limit = 2, .cursor = first.next_cursor});
  EXPECT_THAT(IdsOf(second), ElementsAre(3, 2));
  const JobPage third = ListJobs(view_, {.limit = 2, .cursor = second.next_cursor});
  EXPECT_THAT(IdsOf(third), ElementsAre(1));
  EXPECT_EQ(third.next_cursor, JobId(0));
}

TEST_F(ViewTest, FullLastPageHasNoNext) {
  EXPECT_EQ(ListJobs(view_, {.limit = 5, .cursor = JobId(0)}).next_cursor, JobId(0));
}

TEST_F(ViewTest, ActiveOnlyLeavesOutEndedJobs) {
  const JobPage page =
      ListJobs(view_, {.limit = 10, .cursor = JobId(0), .filter = {.phases = ActivePhases()}});
  EXPECT_THAT(IdsOf(page), ElementsAre(5, 4, 2, 1));
}

TEST_F(ViewTest, FilterTakesByTenantNameAndLabels) {
  ClusterState state{ClusterLimits{}};
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.labels = {{"team", "a"}};
  state.Apply(JobSubmitted{JobId(1), "", spec}, TimeAt(0));
  spec.tenant = "vision";
  state.Apply(JobSubmitted{JobId(2), "", spec}, TimeAt(0));
  spec.name = "other";
  state.Apply(JobSubmitted{JobId(3), "", spec}, TimeAt(0));
  spec.labels.clear();
  state.Apply(JobSubmitted{JobId(4), "", spec}, TimeAt(0));
  view_.jobs = state.SnapshotJobs();
  const auto ids = [&](const JobFilter& filter) {
    return IdsOf(ListJobs(view_, {.limit = 10, .cursor = JobId(0), .filter = filter}));
  };
  EXPECT_THAT(ids({.tenant = "vision"}), ElementsAre(4, 3, 2));
  EXPECT_THAT(ids({.name = "other"}), ElementsAre(4, 3));
  EXPECT_THAT(ids({.selector = *Selector::Parse("team=a")}), ElementsAre(3, 2, 1));
  state.Apply(JobHeld{JobId(2)}, TimeAt(0));
  state.Apply(JobHeld{JobId(3)}, TimeAt(0));
  state.Apply(CancelRequested{JobId(3)}, TimeAt(0));
  view_.jobs = state.SnapshotJobs();
  EXPECT_THAT(ids({.is_held_only = true}), ElementsAre(2));
  EXPECT_THAT(ids({.selector = *Selector::Parse("team=a"), .tenant = "vision", .name = "other"}),
              ElementsAre(3));
}

TEST_F(ViewTest, PageEndsAfterSoManyLooksAndSaysWhereToGoOn) {
  JobPageRequest request{.limit = 10, .cursor = JobId(0), .filter = {.name = "none"}};
  request.looks_max = 2;
  const JobPage first = ListJobs(view_, request);
  EXPECT_THAT(IdsOf(first), IsEmpty());
  EXPECT_EQ(first.next_cursor, JobId(3));
  request.cursor = JobId(1);
  EXPECT_EQ(ListJobs(view_, request).next_cursor, JobId(0));
}

TEST_F(ViewTest, PagesMayRunFromTheOldest) {
  const JobPage first = ListJobsFromOldest(view_, {.limit = 2, .cursor = JobId(0)});
  EXPECT_THAT(IdsOf(first), ElementsAre(1, 2));
  EXPECT_EQ(first.next_cursor, JobId(3));
  EXPECT_THAT(IdsOf(ListJobsFromOldest(view_, {.limit = 9, .cursor = JobId(3)})),
              ElementsAre(3, 4, 5));
}

TEST(ViewOfArraysTest, ArrayIsListedAsOneAndItsTasksByItsId) {
  ClusterState state{ClusterLimits{}};
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.array = ArraySpec{.ranges = {{0, 999, 1}}};
  state.Apply(JobSubmitted{JobId(1), "", spec}, TimeAt(0));
  state.Apply(JobSubmitted{JobId(1'002), "", SpecThatNeeds(kMiB)}, TimeAt(0));
  state.Apply(ArrayAdmitted{JobId(1), 0, 3}, TimeAt(0));
  ClusterView view;
  view.jobs = state.SnapshotJobs();

  EXPECT_THAT(IdsOf(ListJobs(view, {.limit = 10, .cursor = JobId(0)})), ElementsAre(1'002, 1));
  const JobPage tasks = ListJobs(view, {.limit = 2, .cursor = JobId(0), .array = JobId(1)});
  EXPECT_THAT(IdsOf(tasks), ElementsAre(4, 3));
  EXPECT_THAT(IdsOf(ListJobs(view, {.limit = 2, .cursor = tasks.next_cursor, .array = JobId(1)})),
              ElementsAre(2));
  EXPECT_THAT(IdsOf(ListJobs(view, {.limit = 2, .cursor = JobId(0), .array = JobId(1'002)})),
              IsEmpty());
}

TEST_F(ViewTest, CursorBeyondTheNewestBeginsAtTheNewest) {
  EXPECT_THAT(IdsOf(ListJobs(view_, {.limit = 1, .cursor = JobId(99)})), ElementsAre(5));
}

TEST_F(ViewTest, DevicesAndNodesAreThoseOfConnectedNodes) {
  ASSERT_EQ(ListDevices(view_).size(), 1U);
  EXPECT_EQ(ListDevices(view_)[0].key.node, "a");
  EXPECT_THAT(ListConnectedNodes(view_), ElementsAre("a"));
}

TEST_F(ViewTest, BubblesAreFilteredByMainJob) {
  EXPECT_EQ(ListBubbles(view_, "").size(), 2U);
  EXPECT_EQ(ListBubbles(view_, "bert").size(), 1U);
  EXPECT_THAT(ListBubbles(view_, "t5"), IsEmpty());
}

TEST_F(ViewTest, MainJobsAreThoseThatAreAttachedAndThoseWithSettings) {
  MainJobTable table(8);
  table.Set(PausedMainJob("bert"));
  view_.main_jobs = table.Snapshot();
  const std::vector<MainJobSettings> main_jobs = ListMainJobs(view_);
  ASSERT_EQ(main_jobs.size(), 2U);
  EXPECT_EQ(main_jobs[0], PausedMainJob("bert"));
  EXPECT_EQ(main_jobs[1].main_job, "gpt");
  EXPECT_FALSE(main_jobs[1].is_anything_set());
}

TEST_F(ViewTest, UnknownJobIsNotFound) {
  EXPECT_EQ(FindJob(view_, JobId(6)).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ((*FindJob(view_, JobId(5)))->id, JobId(5));
}

}  // namespace
}  // namespace pipefill::scheduler
