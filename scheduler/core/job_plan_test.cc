#include "scheduler/core/job_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/plan_stages.h"
#include "planner/planner.h"
#include "planner/policies/fifo.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kMs = 1'000'000;

// As a script does: a job of priority 7 makes it fail, for good.
class BrittlePolicy : public Policy {
 public:
  std::string name() const override { return "brittle"; }
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& /*tenant*/) const override {
    if (job.priority == 7) error_ = absl::InternalError("x.lua:1: seven");
    return {};
  }
  absl::Status error() const override { return error_; }

 private:
  mutable absl::Status error_;
};

// Is fine when it is asked once, after the plan, and has failed when it is asked again.
class LateFailingPolicy : public Policy {
 public:
  std::string name() const override { return "late"; }
  Score ScoreJob(const PendingJob& /*job*/, const TenantSnapshot& /*tenant*/) const override {
    return {};
  }
  absl::Status error() const override {
    return ++asked_ > 1 ? absl::InternalError("late") : absl::OkStatus();
  }

 private:
  mutable int asked_ = 0;
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
    return Planner().Make(View(), {spec, candidates_max}, TimeAt(second));
  }

  JobPlanner Planner() {
    return JobPlanner({.tenants = tenants_, .heard_within = absl::Seconds(5)}, make_policy_,
                      [] { return std::make_unique<FifoPolicy>(); });
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
  JobPlanner::PolicyMaker make_policy_ = [] { return std::make_unique<FifoPolicy>(); };
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
  ASSERT_EQ(plan.candidates.size(), 1U);
  EXPECT_THAT(plan.candidates[0].neighbours, IsEmpty());
}

TEST_F(JobPlanTest, AfterAnEvictionItIsBesideThoseThatStayAndThoseThatArePutThereFirst) {
  Connect(DeviceOf("a", 0, 30 * kMs, 4));
  const JobId victim = Submit(SpecThatNeeds(600 * kMiB));
  Apply(AttemptStarted{Place(victim, "a")});
  JobSpec dear = SpecThatNeeds(100 * kMiB);
  dear.priority = 9;
  const JobId stays = Submit(dear);
  Apply(AttemptStarted{Place(stays, "a")});
  const JobId placed = Submit(dear);
  JobSpec urgent = ProfiledSpec();
  urgent.memory_bytes = 500 * kMiB;
  urgent.priority = 5;
  const JobPlan plan = PlanOf(urgent);
  EXPECT_THAT(plan.evicted, ElementsAre(victim));
  ASSERT_EQ(plan.candidates.size(), 1U);
  const PlanCandidate& candidate = plan.candidates[0];
  ASSERT_EQ(candidate.neighbours.size(), 2U);
  EXPECT_EQ(candidate.neighbours[0].job, stays);
  EXPECT_EQ(candidate.neighbours[1].job, placed);
  EXPECT_EQ(candidate.neighbours[1].priority, 9);
  EXPECT_THAT(candidate.forecast.text, HasSubstr("beside 2 other(s)"));
}

TEST_F(JobPlanTest, TasksThatAreBeingStoppedAreShownAndNotReckonedWith) {
  Connect(DeviceOf("a", 0, 30 * kMs, 2));
  const JobId leaving = Submit(SpecThatNeeds(100 * kMiB));
  Apply(AttemptStarted{Place(leaving, "a")});
  Apply(CancelRequested{leaving});
  const JobPlan plan = PlanOf(ProfiledSpec());
  ASSERT_EQ(plan.candidates.size(), 1U);
  ASSERT_EQ(plan.candidates[0].neighbours.size(), 1U);
  EXPECT_TRUE(plan.candidates[0].neighbours[0].is_leaving);
  EXPECT_EQ(plan.candidates[0].forecast.text, "from its profile, 1 bubbles of a/cpu0");
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

TEST_F(JobPlanTest, APolicyThatFailsOverOneJobFailsForNoOther) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  make_policy_ = [] { return std::make_unique<BrittlePolicy>(); };
  const JobPlanner planner = Planner();
  JobSpec spec = ProfiledSpec();
  spec.priority = 7;
  const absl::StatusOr<JobPlan> broken = planner.Make(View(), {spec}, TimeAt(0));
  ASSERT_TRUE(broken.ok()) << broken.status();
  EXPECT_EQ(broken->device, (DeviceKey{"a", "cpu0"}));
  EXPECT_THAT(broken->notes, ElementsAre("policy brittle failed: x.lua:1: seven; this is by fifo"));

  spec.priority = 6;
  const absl::StatusOr<JobPlan> next = planner.Make(View(), {spec}, TimeAt(0));
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_EQ(next->device, (DeviceKey{"a", "cpu0"}));
  EXPECT_THAT(next->notes, IsEmpty());
}

TEST_F(JobPlanTest, WhereTheFallbackPlansItIsByTheFallbackAndSaysSo) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  make_policy_ = [] { return std::make_unique<BrittlePolicy>(); };
  ClusterView view = View();
  view.policy_error = "x.lua:2: eight";
  const absl::StatusOr<JobPlan> plan = Planner().Make(view, {ProfiledSpec()}, TimeAt(0));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->device, (DeviceKey{"a", "cpu0"}));
  EXPECT_THAT(plan->notes, ElementsAre("policy brittle failed: x.lua:2: eight; this is by fifo"));
}

TEST_F(JobPlanTest, APolicyThatFailsOnlyWhenStagesAreComparedHasFailedToo) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  make_policy_ = [] { return std::make_unique<LateFailingPolicy>(); };
  const JobPlan plan = PlanOf(ProfiledSpec());
  EXPECT_EQ(plan.device, (DeviceKey{"a", "cpu0"}));
  EXPECT_THAT(plan.notes, ElementsAre("policy late failed: late; this is by fifo"));
}

// --- What else bears on the answer ---

TEST_F(JobPlanTest, ATenantThatHasAllItMayHaveIsTheReason) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  ClusterView view = View();
  view.tenants = {{.limits = {.name = "default", .resident_max = 2}, .resident = 2}};
  const absl::StatusOr<JobPlan> plan = Planner().Make(view, {ProfiledSpec()}, TimeAt(0));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->device, std::nullopt);
  EXPECT_THAT(plan->detail.rule, HasSubstr("its tenant, default, has 2 of 2 tasks"));
}

TEST_F(JobPlanTest, APlaceThatIsKeptForAnotherJobIsNotFree) {
  Connect(DeviceOf("a", 0, 10 * kMs, 2), 40);
  const AttemptKey victim = Place(Submit(SpecThatNeeds(100 * kMiB)), "a");
  Apply(AttemptStarted{victim});
  JobSpec urgent = SpecThatNeeds(1000 * kMiB);
  urgent.priority = 5;
  Apply(EvictionRequested{victim, Submit(urgent)}, 40);
  const JobPlan plan = PlanOf(SpecThatNeeds(900 * kMiB), 10, 40);  // of 924 that are free
  EXPECT_EQ(plan.device, std::nullopt);
  ASSERT_EQ(plan.candidates.size(), 1U);
  EXPECT_EQ(plan.candidates[0].devices_free, 0U);
}

TEST_F(JobPlanTest, NodesInQuarantineTakeNothingAndAreNamed) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  ClusterView view = View();
  view.quarantines = std::make_shared<const QuarantineMap>(
      QuarantineMap{{"a", {.until = AtSecond(60), .text = "no such program"}}});
  const absl::StatusOr<JobPlan> plan = Planner().Make(view, {ProfiledSpec()}, TimeAt(0));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->device, std::nullopt);
  EXPECT_THAT(plan->detail.rule, HasSubstr("refuse"));
  EXPECT_THAT(plan->detail.help, Contains(HasSubstr("no such program")));
}

TEST_F(JobPlanTest, GoesByTheProfileThatAnEarlierJobHasLearned) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  AttemptEnded ended = ExitOf(Place(Submit(SpecThatNeeds(kMiB)), "a"), 0);
  ended.progress = {.units = 1'000, .unit_cpu_ns = 2'000 * kMs, .unit_estimate_ns = 3 * kMs};
  Apply(AttemptStarted{ended.attempt});
  Apply(ended);
  const JobPlan plan = PlanOf(SpecThatNeeds(kMiB));
  EXPECT_EQ(plan.job.profile.source, "learned by job 1");
  ASSERT_EQ(plan.candidates.size(), 1U);
  EXPECT_GT(plan.candidates[0].forecast.rate.mid, 0);
}

TEST_F(JobPlanTest, HasTheProfileThatASubmissionWouldGet) {
  Connect(DeviceOf("a", 0, 10 * kMs));
  const auto with_argument = [](int number) {
    JobSpec spec = ProfiledSpec();
    spec.command.push_back(absl::StrCat(number));
    return spec;
  };
  // Of one name, and each of another content.
  for (int number = 1; number <= 40; ++number) Submit(with_argument(number));
  for (const int number : {1, 40, 41}) {
    JobSpec spec = with_argument(number);
    spec.profile = FillProfile();
    const std::string planned = PlanOf(spec).job.profile.source;
    EXPECT_EQ(planned, (*state_.FindJob(Submit(spec)))->profile.source);
    EXPECT_EQ(planned, number == 41 ? "given with job 40, which has the same name"
                                    : absl::StrCat("given with job ", number));
  }
}

TEST_F(JobPlanTest, IsLookedAtHoweverManyHaveOthersEvictedBeforeIt) {
  constexpr int kDevices = 20;  // more than one plan of the loop evicts for
  JobSpec urgent = SpecThatNeeds(kMiB);
  urgent.priority = 5;
  std::vector<JobId> victims;
  for (int i = 0; i < kDevices; ++i) {
    const std::string node = absl::StrCat("n", 100 + i);
    Connect(DeviceOf(node, 0, 10 * kMs));
    victims.push_back(Submit(SpecThatNeeds(kMiB)));
    Apply(AttemptStarted{Place(victims.back(), node)});
  }
  for (int i = 1; i < kDevices; ++i) Submit(urgent);
  const JobPlan plan = PlanOf(urgent);
  EXPECT_TRUE(plan.evicting.has_value());
  EXPECT_EQ(plan.evicted.size(), 1U);
}

TEST_F(JobPlanTest, StagesBeyondTheLimitAreCountedAndTheChosenOneIsAmongTheRest) {
  constexpr int kStages = kPlanStagesMax + 4;
  for (int32_t stage = 0; stage < kStages; ++stage) {
    Connect(DeviceOf(absl::StrCat("n", 1'000 + stage), stage, 10 * kMs));
  }
  for (int i = 1; i < kStages; ++i) Submit(SpecThatNeeds(kMiB));
  const JobPlan plan = PlanOf(ProfiledSpec(), kPlanStagesMax);
  ASSERT_TRUE(plan.device.has_value());  // the last one
  EXPECT_EQ(plan.candidates.size(), size_t{kPlanStagesMax});
  EXPECT_EQ(plan.candidates_left_out, 4U);
  EXPECT_EQ(plan.candidates[0].device, *plan.device);
}

}  // namespace
}  // namespace pipefill::scheduler
