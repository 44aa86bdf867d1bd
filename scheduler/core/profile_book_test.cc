#include "scheduler/core/profile_book.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "scheduler/core/cluster_state.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

constexpr int64_t kMs = 1'000'000;

JobSpec SpecOf(std::vector<std::string> command, const std::string& name = "embed") {
  JobSpec spec = SpecThatNeeds(100);
  spec.name = name;
  spec.command = std::move(command);
  return spec;
}

JobSpec WithProfile(JobSpec spec, const std::string& configuration) {
  Configuration given;
  given.name = configuration;
  given.chain = {{.time_ns = kMs}};
  spec.profile = {.configurations = {given}, .samples_total = 500};
  return spec;
}

// A cluster with one device, on which one job after the other runs.
class ProfileBookTest : public testing::Test {
 protected:
  ProfileBookTest() { Apply(HelloFrom("a", 1, {FilledDevice("a", "cpu0")})); }

  void Apply(const Event& event) {
    ASSERT_TRUE(state_.Check(event, AtSecond(0)).ok());
    state_.Apply(event, TimeAt(0));
  }

  const Job& Submit(const JobSpec& spec) {
    const JobId id = state_.next_job_id();
    Apply(JobSubmitted{id, "", spec});
    return **state_.FindJob(id);
  }

  // Places the job; it ends with that exit code.
  void Run(JobId id, const FillProgress& progress, int32_t exit_code = 0) {
    const AttemptKey key = state_.NextAttempt(id);
    Apply(AttemptPlaced{key, {"a", "cpu0"}});
    Apply(AttemptStarted{key});
    AttemptEnded ended = ExitOf(key, exit_code);
    ended.progress = progress;
    Apply(ended);
  }

  const FillProgress kThousand{
      .units = 1'000, .unit_cpu_ns = 2'000 * kMs, .unit_estimate_ns = 3 * kMs};
  const JobSpec kSpec = SpecOf({"/bin/embed", "--shard", "3"}, "shard");
  ClusterState state_{ClusterLimits{}};
};

TEST_F(ProfileBookTest, FirstJobOfItsKindHasNothing) {
  const Job& job = Submit(kSpec);
  EXPECT_TRUE(job.profile.profile->configurations.empty());
  EXPECT_EQ(job.profile.source, "");
  EXPECT_EQ(job.needs, nullptr);
}

TEST_F(ProfileBookTest, SameContentTakesUpWhatTheLastOneLearned) {
  Run(Submit(kSpec).id, kThousand);
  JobSpec again = kSpec;
  again.name = "another";
  const Job& job = Submit(again);
  EXPECT_EQ(job.profile.source, "learned by job 1");
  ASSERT_EQ(job.profile.profile->configurations.size(), 1U);
  EXPECT_EQ(job.profile.profile->configurations[0].chain[0],
            (ProfileNode{.time_ns = 2 * kMs, .time_p90_ns = 3 * kMs}));
  EXPECT_EQ(job.profile.profile->samples_total, 1'000);
  EXPECT_EQ(job.needs, nullptr);  // learned times rule no device out
  Run(job.id, {.units = 100, .unit_cpu_ns = 400 * kMs});
  EXPECT_EQ(Submit(again).profile.source, "learned by job 2");
}

TEST_F(ProfileBookTest, EnvironmentAndWayArePartOfTheContent) {
  Run(Submit(kSpec).id, kThousand);
  JobSpec other = kSpec;
  other.name = "other";
  other.env["BATCH"] = "9";
  EXPECT_EQ(Submit(other).profile.source, "");
  other = kSpec;
  other.way = FillWay::kProcess;
  EXPECT_EQ(Submit(other).profile.source, "");
}

TEST_F(ProfileBookTest, WordsAreNotRunTogether) {
  Run(Submit(SpecOf({"/bin/x", "ab", "c"}, "x")).id, kThousand);
  EXPECT_EQ(Submit(SpecOf({"/bin/x", "a", "bc"}, "x")).profile.source, "");
}

TEST_F(ProfileBookTest, SameNameAndProgramServesOtherArgumentsWithoutTheirAmountOfWork) {
  Run(Submit(kSpec).id, kThousand);
  const Job& job = Submit(SpecOf({"/bin/embed", "--shard", "4"}, "shard"));
  EXPECT_EQ(job.profile.source, "learned by job 1, which has the same name");
  EXPECT_EQ(job.profile.profile->samples_total, 0);
  EXPECT_EQ(Submit(SpecOf({"/bin/other", "--shard", "3"}, "shard")).profile.source, "");
}

TEST_F(ProfileBookTest, NameThatIsTheProgramsOwnSaysNothing) {
  Run(Submit(SpecOf({"/bin/python3", "a.py"}, "python3")).id, kThousand);
  EXPECT_EQ(Submit(SpecOf({"/bin/python3", "b.py"}, "python3")).profile.source, "");
  EXPECT_EQ(Submit(SpecOf({"/bin/python3", "a.py"}, "python3")).profile.source, "learned by job 1");
}

TEST_F(ProfileBookTest, GivenProfilesServeFromTheirSubmissionOn) {
  Submit(WithProfile(kSpec, "batch8"));
  const Job& same = Submit(kSpec);
  EXPECT_EQ(same.profile.source, "given with job 1");
  EXPECT_EQ(same.profile.profile->configurations[0].name, "batch8");
  EXPECT_EQ(same.profile.profile->samples_total, 500);
  ASSERT_NE(same.needs, nullptr);
  EXPECT_EQ((*same.needs)[0].unit_ns, kMs);
  JobSpec named = SpecOf({"/bin/embed", "--shard", "4"}, "shard");
  named.profile.samples_total = 7;
  const Job& job = Submit(named);
  EXPECT_EQ(job.profile.source, "given with job 1, which has the same name");
  EXPECT_EQ(job.profile.profile->samples_total, 7);
  EXPECT_EQ(job.needs, nullptr);  // nor do another job's
}

TEST_F(ProfileBookTest, OwnProfileComesFirst) {
  Submit(WithProfile(kSpec, "batch8"));
  const Job& job = Submit(WithProfile(kSpec, "batch9"));
  EXPECT_EQ(job.profile.source, "");
  EXPECT_EQ(job.profile.profile->configurations[0].name, "batch9");
  EXPECT_EQ(Submit(kSpec).profile.source, "given with job 2");
}

TEST_F(ProfileBookTest, WhoHasAGivenProfileTeachesNothing) {
  const JobId first = Submit(WithProfile(kSpec, "batch8")).id;
  const JobId second = Submit(kSpec).id;
  Run(first, kThousand);
  Run(second, kThousand);
  EXPECT_EQ(Submit(kSpec).profile.source, "given with job 1");
}

TEST_F(ProfileBookTest, FewUnitsTeachNothing) {
  Run(Submit(kSpec).id, {.units = kUnitsToSettle - 1, .unit_cpu_ns = 100 * kMs});
  EXPECT_EQ(Submit(kSpec).profile.source, "");
}

TEST_F(ProfileBookTest, NextAttemptGoesByWhatTheOneBeforeLearned) {
  JobSpec spec = kSpec;
  spec.retries = 1;
  const JobId id = Submit(spec).id;
  Run(id, kThousand, /*exit_code=*/1);
  const Job& job = **state_.FindJob(id);
  EXPECT_EQ(job.phase, JobPhase::kPending);
  EXPECT_EQ(job.profile.source, "learned by job 1");
  EXPECT_EQ(job.profile.profile->samples_total, 0);  // it was not all
}

TEST_F(ProfileBookTest, OldestContentGoesWhenThereAreTooMany) {
  ProfileBook book(2);
  Job job;
  job.phase = JobPhase::kSucceeded;
  job.attempts.emplace_back().progress = kThousand;
  for (const std::string name : {"a", "b", "c"}) {
    job.spec = std::make_shared<const JobSpec>(SpecOf({"/bin/" + name}, name));
    book.OnLearned(job);
  }
  EXPECT_TRUE(book.ProfileFor(SpecOf({"/bin/a"}, "a")).profile->configurations.empty());
  EXPECT_FALSE(book.ProfileFor(SpecOf({"/bin/b"}, "b")).profile->configurations.empty());
  EXPECT_FALSE(book.ProfileFor(SpecOf({"/bin/c"}, "c")).profile->configurations.empty());
}

}  // namespace
}  // namespace pipefill::scheduler
