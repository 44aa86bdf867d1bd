#include "scheduler/core/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/planner.h"
#include "planner/policies/fifo.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kMs = 1'000'000;

// Scores nothing, and says that it has failed.
class BrokenPolicy : public Policy {
 public:
  std::string name() const override { return "broken"; }
  Score ScoreJob(const PendingJob& /*job*/, const TenantSnapshot& /*tenant*/) const override {
    return {};
  }
  absl::Status error() const override { return absl::InternalError("broken"); }
};

class JobPlanTest : public testing::Test {
 protected:
  // One device of a stage, with iterations of 100 ms and one bubble that long.
  Device DeviceOf(const std::string& node, int32_t stage, int64_t bubble_ns, int seats = 1) {
    Device device = FilledDevice(node, "cpu0", seats);
    device.main_rank->stage = stage;
    device.main_rank->iteration_p50_ns = 100 * kMs;
    BubbleStats& bubble = bubbles_[node].emplace_back();
    bubble.device = device.key;
    bubble.main_job = "gpt";
    bubble.bubble_class = BubbleClass::kMiddle;
    bubble.offer = BubbleOffer::kYes;
    bubble.p10_ns = bubble.p50_ns = bubble.p90_ns = bubble_ns + 20'000;  // with the hand-over
    return device;
  }

  void Connect(const Device& device, double second = 0) {
    Apply(HelloFrom(device.key.node, ++session_, {device}), second);
    AgentReported report = ReportFrom(session_, {device});
    report.bubbles = bubbles_[device.key.node];
    Apply(report, second);
  }

  JobId Submit(const JobSpec& spec) {
    const JobId id = state_.next_job_id();
    Apply(JobSubmitted{id, "", spec});
    return id;
  }

  // On its way to the node's device.
  AttemptKey Place(JobId job, const std::string& node) {
    const AttemptKey key = state_.NextAttempt(job);
    Apply(AttemptPlaced{key, {node, "cpu0"}, ""});
    return key;
  }

  void Apply(const Event& event, double second = 0) {
    const absl::Status checked = state_.Check(event, AtSecond(second));
    ASSERT_TRUE(checked.ok()) << checked;
    state_.Apply(event, TimeAt(second));
  }

  ClusterView View() {
    ClusterView view;
    view.jobs = state_.SnapshotJobs();
    view.nodes = state_.nodes().Snapshot();
    view.counts = state_.counts();
    view.tenants = state_.tenants().List(TimeAt(0).wall);
    view.quarantines = state_.refusals().Snapshot();
    view.main_jobs = state_.main_jobs().Snapshot();
    return view;
  }

  absl::StatusOr<JobPlan> TryPlan(const JobSpec& spec, size_t candidates_max = 10,
                                  double second = 0) {
    const JobPlanner planner({.tenants = tenants_, .heard_within = absl::Seconds(5)},
                             std::move(policy_), std::make_unique<FifoPolicy>());
    policy_ = std::make_unique<FifoPolicy>();
    return planner.Make(View(), {spec, candidates_max}, TimeAt(second));
  }

  JobPlan PlanOf(const JobSpec& spec, size_t candidates_max = 10, double second = 0) {
    absl::StatusOr<JobPlan> plan = TryPlan(spec, candidates_max, second);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? *std::move(plan) : JobPlan();
  }

  // Ten samples in 9 ms, a thousand of them.
  static JobSpec ProfiledSpec() {
    JobSpec spec = SpecThatNeeds(100 * kMiB);
    Configuration& configuration = spec.profile.configurations.emplace_back();
    configuration.name = "batch10";
    configuration.samples_per_pass = 10;
    configuration.chain = {{.time_ns = 9 * kMs}};
    spec.profile.samples_total = 1'000;
    return spec;
  }

  ClusterState state_{ClusterLimits()};
  uint64_t session_ = 0;
  std::map<std::string, std::vector<BubbleStats>> bubbles_;
  std::vector<TenantLimits> tenants_;
  std::unique_ptr<Policy> policy_ = std::make_unique<FifoPolicy>();
};

TEST_F(JobPlanTest, SaysWhereItWouldStartAndHowFastItWouldGoInEachStage) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  Connect(DeviceOf("b", 1, 20 * kMs));
  const JobPlan plan = PlanOf(ProfiledSpec());
  EXPECT_EQ(plan.device, (DeviceKey{"a", "cpu0"}));
  EXPECT_EQ(plan.detail.rule, "");
  EXPECT_EQ(plan.detail.place, 1U);
  EXPECT_EQ(plan.detail.waiting, 1U);
  ASSERT_EQ(plan.candidates.size(), 2U);
  EXPECT_EQ(plan.candidates[0].stage, 1);  // two units a bubble
  EXPECT_DOUBLE_EQ(plan.candidates[0].forecast.rate.mid, 200 * 15.0 / 16);
  EXPECT_DOUBLE_EQ(plan.candidates[0].forecast.seconds_left->mid, 1'000 / (200 * 15.0 / 16));
  EXPECT_DOUBLE_EQ(plan.candidates[1].forecast.rate.mid, 100 * 15.0 / 16);
  EXPECT_EQ(plan.candidates[1].devices_free, 1U);
  EXPECT_EQ(plan.candidates[1].text, "");
  EXPECT_EQ(plan.candidates[1].forecast.text, "from its profile, 1 bubbles of a/cpu0");
}

TEST_F(JobPlanTest, GoesWhereTheNextPlanOfTheStatePutsItOnceItIsSubmitted) {
  for (const char* node : {"a", "b", "c"}) Connect(DeviceOf(node, 0, 10 * kMs, 2));
  Place(Submit(SpecThatNeeds(100 * kMiB)), "a");
  Submit(SpecThatNeeds(600 * kMiB));  // goes before it
  const JobSpec spec = SpecThatNeeds(500 * kMiB);
  const std::optional<DeviceKey> planned = PlanOf(spec).device;

  const JobId job = Submit(spec);
  const Plan made = MakePlan(state_.Snapshot(TimeAt(0)), FifoPolicy());
  std::optional<DeviceKey> placed;
  for (const Placement& placement : made.placements) {
    if (placement.job == job) placed = placement.device;
  }
  EXPECT_TRUE(placed.has_value());
  EXPECT_EQ(planned, placed);
}

TEST_F(JobPlanTest, AJobThatWouldWaitHasTheReasonAndThePlaceInLine) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  Place(Submit(SpecThatNeeds(100 * kMiB)), "a");
  Submit(SpecThatNeeds(100 * kMiB));
  const JobPlan plan = PlanOf(ProfiledSpec());
  EXPECT_EQ(plan.device, std::nullopt);
  EXPECT_EQ(plan.detail.rule,
            "all 1 device with a main job are taken: 1 of 1 seats; starts when a task ends");
  EXPECT_EQ(plan.detail.place, 2U);
  EXPECT_EQ(plan.detail.waiting, 2U);
  EXPECT_THAT(plan.detail.help, ElementsAre(HasSubstr("job 1 of priority 0 holds the place")));
  ASSERT_EQ(plan.candidates.size(), 1U);
  EXPECT_EQ(plan.candidates[0].devices_free, 0U);
  EXPECT_EQ(plan.candidates[0].text, plan.detail.rule);
  ASSERT_EQ(plan.candidates[0].neighbours.size(), 1U);
  EXPECT_EQ(plan.candidates[0].neighbours[0].job, JobId(1));
  EXPECT_EQ(plan.candidates[0].neighbours[0].name, "embed");
}

TEST_F(JobPlanTest, AJobOfHigherPrioritySaysWhomItWouldHaveEvicted) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  const JobId victim = Submit(SpecThatNeeds(100 * kMiB));
  Apply(AttemptStarted{Place(victim, "a")});
  JobSpec urgent = SpecThatNeeds(100 * kMiB);
  urgent.priority = 5;
  const JobPlan plan = PlanOf(urgent);
  EXPECT_EQ(plan.device, std::nullopt);
  EXPECT_EQ(plan.evicting, (DeviceKey{"a", "cpu0"}));
  EXPECT_THAT(plan.evicted, ElementsAre(victim));
  EXPECT_EQ(plan.detail.rule, "");
}

TEST_F(JobPlanTest, UnitsThatFitNoBubbleOfAStageAreSaidWithNumbers) {
  Connect(DeviceOf("a", 0, 2 * kMs));
  Connect(DeviceOf("b", 1, 20 * kMs));
  const JobPlan plan = PlanOf(ProfiledSpec());
  EXPECT_EQ(plan.device, (DeviceKey{"b", "cpu0"}));
  ASSERT_EQ(plan.candidates.size(), 2U);
  EXPECT_EQ(plan.candidates[1].stage, 0);
  EXPECT_THAT(plan.candidates[1].text, HasSubstr("its shortest units take up to 9 ms"));
  EXPECT_EQ(plan.candidates[1].forecast.rate.mid, 0);
}

TEST_F(JobPlanTest, WithoutAgentsOrMainJobsItSaysSo) {
  EXPECT_THAT(PlanOf(ProfiledSpec()).detail.rule, HasSubstr("no agent is connected"));
  Device idle = FilledDevice("a", "cpu0");
  idle.main_rank = std::nullopt;
  Connect(idle);
  const JobPlan plan = PlanOf(ProfiledSpec());
  EXPECT_THAT(plan.detail.rule, HasSubstr("none of 1 device has a main job"));
  EXPECT_THAT(plan.candidates, IsEmpty());
}

TEST_F(JobPlanTest, PausedMainJobsAndSilentNodesTakeNothing) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  Apply(MainJobUpdated{PausedMainJob("gpt")});
  const JobPlan paused = PlanOf(ProfiledSpec());
  EXPECT_EQ(paused.device, std::nullopt);
  ASSERT_EQ(paused.candidates.size(), 1U);
  EXPECT_THAT(paused.candidates[0].text, HasSubstr("paused"));
  EXPECT_THAT(PlanOf(ProfiledSpec(), 10, /*second=*/6).detail.rule,
              HasSubstr("no agent is connected"));
}

TEST_F(JobPlanTest, RefusesWhatASubmissionWouldBeRefused) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  JobSpec spec = SpecThatNeeds(2048 * kMiB);
  EXPECT_TRUE(absl::IsResourceExhausted(TryPlan(spec).status()));
  spec.may_be_infeasible = true;
  EXPECT_THAT(PlanOf(spec).detail.rule, HasSubstr("more than any connected device"));

  spec = SpecThatNeeds(kMiB);
  spec.start_before = TimeAt(0).wall;
  EXPECT_TRUE(absl::IsInvalidArgument(TryPlan(spec).status()));
  spec = SpecThatNeeds(kMiB);
  spec.dependencies = {{JobId(9), DependencyCondition::kOk}};
  EXPECT_TRUE(absl::IsNotFound(TryPlan(spec).status()));
  tenants_ = {{.name = "vision", .pending_max = 1}};
  spec = SpecThatNeeds(kMiB);
  spec.tenant = "speech";
  EXPECT_TRUE(absl::IsInvalidArgument(TryPlan(spec).status()));
}

TEST_F(JobPlanTest, GoesByTheProfileThatAnEarlierJobOfTheSameContentCameWith) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  Submit(ProfiledSpec());
  const JobPlan plan = PlanOf(SpecThatNeeds(100 * kMiB));
  EXPECT_EQ(plan.job.profile.source, "given with job 1");
  ASSERT_EQ(plan.candidates.size(), 1U);
  EXPECT_EQ(plan.candidates[0].forecast.configuration, "batch10");
  JobSpec other = SpecThatNeeds(100 * kMiB);
  other.name = "other";
  other.command = {"other"};
  EXPECT_THAT(PlanOf(other).candidates[0].forecast.text, HasSubstr("no profile"));
}

TEST_F(JobPlanTest, NotesWhatTheAnswerLeavesAside) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  const JobId first = Submit(SpecThatNeeds(kMiB));
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.array = ArraySpec{.ranges = {{0, 9, 1}}};
  spec.is_held = true;
  spec.dependencies = {{first, DependencyCondition::kOk}};
  const JobPlan plan = PlanOf(spec);
  EXPECT_THAT(plan.notes,
              ElementsAre("it is an array of 10 tasks; this is about its first one",
                          "it would be held; this is as if it were not",
                          HasSubstr("it waits for job 1 (pending), which has to succeed; this is "
                                    "as if it had")));
}

TEST_F(JobPlanTest, ShowsTheBestOfManyStagesAndCountsTheRest) {
  for (int32_t stage = 0; stage < 4; ++stage) {
    Connect(DeviceOf(absl::StrCat("n", stage), stage, (10 + 10 * stage) * kMs));
  }
  const JobPlan plan = PlanOf(ProfiledSpec(), /*candidates_max=*/2);
  ASSERT_EQ(plan.candidates.size(), 2U);
  EXPECT_EQ(plan.candidates[0].stage, 3);
  EXPECT_EQ(plan.candidates_left_out, 2U);
}

TEST_F(JobPlanTest, ShowsTheStageWhereItWouldStartEvenIfOthersAreFaster) {
  for (int32_t stage = 0; stage < 4; ++stage) {
    Connect(DeviceOf(absl::StrCat("n", stage), stage, (10 + 10 * stage) * kMs));
  }
  const JobPlan plan = PlanOf(ProfiledSpec(), /*candidates_max=*/2);
  EXPECT_EQ(plan.device, (DeviceKey{"n0", "cpu0"}));  // the first of equal ones, for fifo
  ASSERT_EQ(plan.candidates.size(), 2U);
  EXPECT_EQ(plan.candidates[0].stage, 3);
  EXPECT_EQ(plan.candidates[1].stage, 0);
}

TEST_F(JobPlanTest, FallsBackWhenThePolicyFails) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  policy_ = std::make_unique<BrokenPolicy>();
  EXPECT_EQ(PlanOf(ProfiledSpec()).device, (DeviceKey{"a", "cpu0"}));
}

}  // namespace
}  // namespace pipefill::scheduler
