#include "scheduler/core/cluster_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ClusterStateTest : public testing::Test {
 protected:
  // Checks and applies.
  absl::Status Admit(const Event& event, double second = 0) {
    const absl::Status status = state_.Check(event, AtSecond(second));
    if (status.ok()) state_.Apply(event, TimeAt(second));
    return status;
  }

  JobId Submit(int64_t memory_bytes = 100 * kMiB, int32_t retries = 0) {
    const JobId id = state_.next_job_id();
    EXPECT_TRUE(Admit(JobSubmitted{id, "", SpecThatNeeds(memory_bytes, retries)}).ok());
    return id;
  }

  AttemptKey Place(JobId job, const std::string& device = "cpu0", double second = 0) {
    const AttemptKey key = state_.NextAttempt(job);
    EXPECT_TRUE(Admit(AttemptPlaced{key, {"a", device}}, second).ok());
    return key;
  }

  void Register(std::vector<Device> devices, double second = 0) {
    EXPECT_TRUE(Admit(HelloFrom("a", 1, std::move(devices)), second).ok());
  }

  const Job& Get(JobId id) { return **state_.FindJob(id); }

  ClusterState state_{ClusterLimits{}};
};

// --- Submission ---

TEST_F(ClusterStateTest, IdsCountFromOne) {
  EXPECT_EQ(Submit(), JobId(1));
  EXPECT_EQ(Submit(), JobId(2));
}

TEST_F(ClusterStateTest, SameKeyAndSpecFindTheSameJob) {
  ASSERT_TRUE(Admit(JobSubmitted{JobId(1), "k", SpecThatNeeds(kMiB)}).ok());
  EXPECT_EQ(*state_.FindSubmission("k", SpecThatNeeds(kMiB)), JobId(1));
}

TEST_F(ClusterStateTest, SameKeyWithAnotherSpecIsRefused) {
  ASSERT_TRUE(Admit(JobSubmitted{JobId(1), "k", SpecThatNeeds(kMiB)}).ok());
  const auto found = state_.FindSubmission("k", SpecThatNeeds(2 * kMiB));
  EXPECT_EQ(found.status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(found.status().message()), HasSubstr("job 1"));
}

TEST_F(ClusterStateTest, KeyOutlivesTheEndOfItsJob) {
  ASSERT_TRUE(Admit(JobSubmitted{JobId(1), "k", SpecThatNeeds(kMiB)}).ok());
  ASSERT_TRUE(Admit(CancelRequested{JobId(1)}).ok());
  EXPECT_EQ(*state_.FindSubmission("k", SpecThatNeeds(kMiB)), JobId(1));
}

TEST_F(ClusterStateTest, RefusesMoreMemoryThanAnyDeviceHas) {
  Register({FilledDevice("a", "cpu0", 1, 2048 * kMiB), FilledDevice("a", "cpu1", 1, 1024 * kMiB)});
  const absl::Status status = Admit(JobSubmitted{JobId(1), "", SpecThatNeeds(65536 * kMiB)});
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "memory 64 GiB is more than any device has: largest is 2 GiB (node a, cpu0); ask for "
            "less, or let it wait for a larger one with --allow-infeasible");
}

TEST_F(ClusterStateTest, AcceptsAnyMemoryWhileNoDeviceIsKnown) {
  EXPECT_TRUE(Admit(JobSubmitted{JobId(1), "", SpecThatNeeds(65536 * kMiB)}).ok());
}

TEST_F(ClusterStateTest, RefusesMoreJobsThanItsLimit) {
  ClusterLimits limits;
  limits.jobs_max = 1;
  ClusterState small(limits);
  small.Apply(JobSubmitted{JobId(1), "", SpecThatNeeds(kMiB)}, TimeAt(0));

  const absl::Status status =
      small.Check(JobSubmitted{JobId(2), "", SpecThatNeeds(kMiB)}, AtSecond(0));

  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("jobs_max"));
}

// --- Settings of main jobs ---

TEST_F(ClusterStateTest, SettingsNeedAMainJobThatIsAttachedOrWasSetBefore) {
  const absl::Status unknown = Admit(MainJobUpdated{PausedMainJob("gpt")});
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("none is"));
  Register({FilledDevice("a", "cpu0")});
  EXPECT_TRUE(Admit(MainJobUpdated{PausedMainJob("gpt")}).ok());
  Register({});
  EXPECT_TRUE(Admit(MainJobUpdated{PausedMainJob("gpt")}).ok());
}

TEST_F(ClusterStateTest, SettingsBeyondTheLimitAreRefusedWithIt) {
  ClusterLimits limits;
  limits.main_jobs_max = 1;
  ClusterState small(limits);
  Device other = FilledDevice("a", "cpu1");
  other.main_rank->main_job = "bert";
  small.Apply(HelloFrom("a", 1, {FilledDevice("a", "cpu0"), other}), TimeAt(0));
  small.Apply(MainJobUpdated{PausedMainJob("gpt")}, TimeAt(0));
  const absl::Status status = small.Check(MainJobUpdated{PausedMainJob("bert")}, AtSecond(0));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("for 1 main jobs"));
}

// --- Placement ---

TEST_F(ClusterStateTest, FencesGrowOverAllJobs) {
  Register({FilledDevice("a", "cpu0"), FilledDevice("a", "cpu1")});
  const AttemptKey first = Place(Submit(), "cpu0");
  const AttemptKey second = Place(Submit(), "cpu1");
  EXPECT_LT(first.fence, second.fence);
}

TEST_F(ClusterStateTest, RefusesSecondLiveAttempt) {
  Register({FilledDevice("a", "cpu0", 2)});
  const JobId job = Submit();
  Place(job);
  const AttemptPlaced again{state_.NextAttempt(job), {"a", "cpu0"}};
  EXPECT_EQ(Admit(again).code(), absl::StatusCode::kAborted);
}

TEST_F(ClusterStateTest, RefusesPlacementBeyondSeats) {
  Register({FilledDevice("a", "cpu0", 1)});
  Place(Submit());
  const AttemptPlaced placed{state_.NextAttempt(Submit()), {"a", "cpu0"}};
  EXPECT_EQ(Admit(placed).code(), absl::StatusCode::kAborted);
}

TEST_F(ClusterStateTest, RefusesPlacementBeyondMemory) {
  Register({FilledDevice("a", "cpu0", 2, 1024 * kMiB)});
  Place(Submit(600 * kMiB));
  const AttemptPlaced placed{state_.NextAttempt(Submit(600 * kMiB)), {"a", "cpu0"}};
  const absl::Status status = Admit(placed);
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("free=424 MiB"));
}

TEST_F(ClusterStateTest, RefusesPlacementOnNodeThatIsAwayGoneOrSilent) {
  const JobId job = Submit();
  const AttemptPlaced placed{state_.NextAttempt(job), {"a", "cpu0"}};
  EXPECT_EQ(Admit(placed).code(), absl::StatusCode::kAborted);
  Register({FilledDevice("a", "cpu0")});
  EXPECT_EQ(Admit(AttemptPlaced{placed.attempt, {"a", "cpu9"}}).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Admit(placed, 5.1).code(), absl::StatusCode::kAborted);
  ASSERT_TRUE(Admit(AgentDisconnected{SessionId(1)}).ok());
  EXPECT_EQ(Admit(placed).code(), absl::StatusCode::kAborted);
}

TEST_F(ClusterStateTest, RefusesPlacementWhereNoMainJobIsToBeFilled) {
  Device device = FilledDevice("a", "cpu0");
  device.main_rank->mode = FillMode::kReport;
  Register({device});
  const AttemptPlaced placed{state_.NextAttempt(Submit()), {"a", "cpu0"}};
  EXPECT_EQ(Admit(placed).code(), absl::StatusCode::kAborted);
}

// --- Ends ---

TEST_F(ClusterStateTest, StaleFenceIsRefused) {
  Register({FilledDevice("a", "cpu0")});
  const JobId job = Submit();
  const AttemptKey old = Place(job);
  ASSERT_TRUE(Admit(EndOf(old, EndCause::kLost)).ok());
  const AttemptKey current = Place(job);

  EXPECT_EQ(Admit(ExitOf(old, 0)).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Admit(AttemptStarted{old}).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(Admit(ExitOf(current, 0)).ok());
  EXPECT_EQ(Get(job).phase, JobPhase::kSucceeded);
}

TEST_F(ClusterStateTest, LostAttemptMakesJobPendingWithoutUsingRetries) {
  Register({FilledDevice("a", "cpu0")});
  const JobId job = Submit();
  ASSERT_TRUE(Admit(EndOf(Place(job), EndCause::kLost)).ok());
  EXPECT_EQ(Get(job).phase, JobPhase::kPending);
  EXPECT_EQ(Get(job).failures, 0);
  EXPECT_EQ(Get(job).not_before, std::nullopt);
  EXPECT_TRUE(state_.LiveAttemptsOf("a").empty());
}

TEST_F(ClusterStateTest, FailedJobBacksOffThenFailsForGood) {
  Register({FilledDevice("a", "cpu0")});
  const JobId job = Submit(kMiB, /*retries=*/1);
  ASSERT_TRUE(Admit(ExitOf(Place(job), 3), 2).ok());
  EXPECT_EQ(Get(job).phase, JobPhase::kPending);
  EXPECT_EQ(Get(job).not_before, AtSecond(3));

  ASSERT_TRUE(Admit(ExitOf(Place(job), 4), 4).ok());
  EXPECT_EQ(Get(job).phase, JobPhase::kFailed);
  EXPECT_EQ(Get(job).attempts.size(), 2U);
  EXPECT_EQ(Get(job).ended_at, TimeAt(4).wall);
}

TEST_F(ClusterStateTest, SuccessAfterCancelCountsAsSuccess) {
  Register({FilledDevice("a", "cpu0")});
  const JobId job = Submit();
  const AttemptKey key = Place(job);
  ASSERT_TRUE(Admit(CancelRequested{job}).ok());
  EXPECT_TRUE(Get(job).is_cancel_requested);
  ASSERT_TRUE(Admit(ExitOf(key, 0)).ok());
  EXPECT_EQ(Get(job).phase, JobPhase::kSucceeded);
}

TEST_F(ClusterStateTest, EndedJobCannotBeCancelled) {
  Register({FilledDevice("a", "cpu0")});
  const JobId job = Submit();
  ASSERT_TRUE(Admit(ExitOf(Place(job), 0)).ok());
  const absl::Status status = Admit(CancelRequested{job});
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(), "job 1 has already succeeded; there is nothing to cancel");
}

TEST_F(ClusterStateTest, UnknownJobIsNotFound) {
  EXPECT_EQ(Admit(CancelRequested{JobId(17)}).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(state_.FindJob(JobId(17)).status().message(),
            "job 17 not found; `pipefill jobs` lists the known ones");
}

TEST_F(ClusterStateTest, CountsFollowTheJobs) {
  Register({FilledDevice("a", "cpu0")});
  Submit();
  const JobId running = Submit();
  const JobId ended = Submit();
  ASSERT_TRUE(Admit(CancelRequested{ended}).ok());
  Place(running);

  const JobCounts counts = state_.counts();
  EXPECT_EQ(counts.pending, 1);
  EXPECT_EQ(counts.running, 1);
  EXPECT_EQ(counts.ended, 1);
}

TEST_F(ClusterStateTest, ProgressGoesToTheLiveAttempt) {
  Register({FilledDevice("a", "cpu0")});
  const JobId job = Submit();
  const AttemptKey key = Place(job);
  AgentReported report = ReportFrom(1, {FilledDevice("a", "cpu0")});
  report.progress = {{key, FillProgress{.units = 5}},
                     {{JobId(9), AttemptNumber(1), Fence(99)}, FillProgress{.units = 6}}};
  ASSERT_TRUE(Admit(report).ok());
  EXPECT_EQ(Get(job).live_attempt().progress.units, 5);
}

TEST_F(ClusterStateTest, LoadOfDeviceIsTheWorkThatItsTasksHaveLeft) {
  Register({FilledDevice("a", "cpu0")});
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.profile = {.configurations = {LearnedConfiguration(1, 10'000'000, 0)},
                  .samples_total = 1'000};
  ASSERT_TRUE(Admit(JobSubmitted{JobId(1), "", spec}).ok());
  const AttemptKey key = state_.NextAttempt(JobId(1));
  ASSERT_TRUE(Admit(AttemptPlaced{key, {"a", "cpu0"}, "learned"}).ok());
  const auto load_seconds = [&] {
    return state_.SnapshotDevice({"a", "cpu0"}, AtSecond(0))->load_seconds;
  };
  EXPECT_DOUBLE_EQ(load_seconds(), 10);

  AgentReported report = ReportFrom(1, {FilledDevice("a", "cpu0")});
  report.progress = {{key, FillProgress{.units = 250}}};
  ASSERT_TRUE(Admit(report).ok());
  EXPECT_DOUBLE_EQ(load_seconds(), 7.5);
}

TEST_F(ClusterStateTest, FirstReportWithEnoughUnitsIsWhereTheAttemptSettled) {
  Register({FilledDevice("a", "cpu0")});
  const JobId job = Submit();
  const AttemptKey key = Place(job);
  for (const int64_t units : {kUnitsToSettle - 1, kUnitsToSettle + 6, kUnitsToSettle + 50}) {
    AgentReported report = ReportFrom(1, {FilledDevice("a", "cpu0")});
    report.progress = {{key, FillProgress{.units = units, .unit_cpu_ns = 7 * units}}};
    ASSERT_TRUE(Admit(report).ok());
  }
  EXPECT_EQ(Get(job).live_attempt().pace->settled.units, kUnitsToSettle + 6);
  EXPECT_EQ(Get(job).live_attempt().pace->settled.unit_cpu_ns, 7 * (kUnitsToSettle + 6));
  EXPECT_EQ(Get(job).live_attempt().progress.units, kUnitsToSettle + 50);
}

TEST_F(ClusterStateTest, OlderMarkIsSomeSecondsOld) {
  Register({FilledDevice("a", "cpu0")});
  const JobId job = Submit();
  const AttemptKey key = Place(job);
  for (int second = 1; second <= 30; ++second) {
    AgentReported report = ReportFrom(1, {FilledDevice("a", "cpu0")});
    report.progress = {{key, FillProgress{.units = 100 * second}}};
    ASSERT_TRUE(state_.Check(report, AtSecond(second)).ok());
    state_.Apply(report, TimeAt(second));
    const Attempt& attempt = Get(job).live_attempt();
    ASSERT_TRUE(attempt.pace->older_mark.at.has_value());
    const absl::Duration age = attempt.progress_at - *attempt.pace->older_mark.at;
    EXPECT_LE(age, 2 * kMarkEvery);
    if (second > 8) {
      EXPECT_GE(age, kMarkEvery);
    }
  }
}

TEST_F(ClusterStateTest, MarksBeginAnewWhenAnotherTaskComesToTheDevice) {
  Register({FilledDevice("a", "cpu0", 2)});
  const JobId job = Submit();
  const AttemptKey key = Place(job);
  for (int second = 1; second <= 12; ++second) {
    Device device = FilledDevice("a", "cpu0", 2);
    device.resident = second < 12 ? 1 : 2;
    AgentReported report = ReportFrom(1, {device});
    report.progress = {{key, FillProgress{.units = 100 * second}}};
    ASSERT_TRUE(state_.Check(report, AtSecond(second)).ok());
    state_.Apply(report, TimeAt(second));
  }
  EXPECT_EQ(Get(job).live_attempt().pace->older_mark.at, AtSecond(12));
}

TEST_F(ClusterStateTest, SnapshotHoldsHeardNodesAndPendingJobsInOrder) {
  Register({FilledDevice("a", "cpu1"), FilledDevice("a", "cpu0")});
  Submit(kMiB);
  Submit(2 * kMiB);

  const ClusterSnapshot snapshot = state_.Snapshot(TimeAt(1));
  ASSERT_EQ(snapshot.devices.size(), 2U);
  EXPECT_EQ(snapshot.devices[0].key.name, "cpu0");
  ASSERT_EQ(snapshot.pending.size(), 2U);
  EXPECT_EQ(snapshot.pending[1].memory_bytes, 2 * kMiB);
  EXPECT_THAT(state_.Snapshot(TimeAt(5.1)).devices, IsEmpty());
}

// --- Agents ---

TEST_F(ClusterStateTest, SecondAgentWithTheNameOfLiveOneIsRefused) {
  Register({}, 0);
  AgentRegistered other = HelloFrom("a", 2, {});
  other.boot_id = "boot-2";
  const absl::Status status = Admit(other, 9.9);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("another agent with the node name a"));
  EXPECT_TRUE(Admit(other, 10).ok());
}

TEST_F(ClusterStateTest, SameAgentMayDialAgainAtOnce) {
  Register({}, 0);
  EXPECT_TRUE(Admit(HelloFrom("a", 2, {}), 0.1).ok());
}

TEST_F(ClusterStateTest, RestartedAgentMayTakeItsNameWhenItsStreamIsBroken) {
  Register({}, 0);
  ASSERT_TRUE(Admit(AgentDisconnected{SessionId(1)}, 1).ok());
  AgentRegistered restarted = HelloFrom("a", 2, {});
  restarted.boot_id = "boot-2";
  EXPECT_TRUE(Admit(restarted, 1).ok());
}

TEST_F(ClusterStateTest, NodeIsSilentAfterLostAfterWithoutReport) {
  Register({}, 0);
  EXPECT_EQ(state_.NextDeadline(AtSecond(0)), AtSecond(15));
  ASSERT_TRUE(Admit(ReportFrom(1, {}), 3).ok());
  EXPECT_EQ(state_.NextDeadline(AtSecond(3)), AtSecond(18));
  EXPECT_THAT(state_.SilentNodes(AtSecond(17.9)), IsEmpty());
  EXPECT_THAT(state_.SilentNodes(AtSecond(18)), ElementsAre("a"));
}

// A loop that finds nothing to do at its deadline would never come to rest.
TEST_F(ClusterStateTest, NodeIsSilentAtItsDeadlineWhateverTheConfiguredTime) {
  ClusterLimits limits;
  limits.agent_lost_after = absl::Seconds(35) / 3;
  ClusterState state(limits);
  state.Apply(HelloFrom("a", 1, {}), TimeAt(0));
  EXPECT_THAT(state.SilentNodes(*state.NextDeadline(AtSecond(0))), ElementsAre("a"));
}

TEST_F(ClusterStateTest, OnlyNodesHeardOfLatelyAreKeptAlive) {
  Register({}, 0);
  EXPECT_TRUE(state_.IsHeard(*state_.nodes().Find("a"), AtSecond(5)));
  EXPECT_FALSE(state_.IsHeard(*state_.nodes().Find("a"), AtSecond(5.1)));
}

TEST_F(ClusterStateTest, ReportOnReplacedStreamIsRefused) {
  Register({}, 0);
  ASSERT_TRUE(Admit(HelloFrom("a", 2, {})).ok());
  EXPECT_EQ(Admit(ReportFrom(1, {})).code(), absl::StatusCode::kAborted);
}

TEST_F(ClusterStateTest, AfterReplayNodesWithAttemptsAreExpected) {
  ClusterState recovered{ClusterLimits{}};
  recovered.Apply(JobSubmitted{JobId(1), "", SpecThatNeeds(kMiB)}, TimeAt(0));
  recovered.Apply(AttemptPlaced{recovered.NextAttempt(JobId(1)), {"a", "cpu0"}}, TimeAt(0));
  recovered.FinishReplay(AtSecond(100));
  EXPECT_THAT(recovered.SilentNodes(AtSecond(114)), IsEmpty());
  EXPECT_THAT(recovered.SilentNodes(AtSecond(115)), ElementsAre("a"));
}

}  // namespace
}  // namespace pipefill::scheduler
