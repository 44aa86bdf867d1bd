// The real agentd and the real schedulerd: a job's whole life, over restarts of both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/cluster_fixture.h"
#include "tests/integration/main_rank.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;

class AgentdSchedulerdTest : public ClusterFixture {
 protected:
  void SetUp() override {
    ClusterFixture::SetUp();
    StartAgent();
  }

  JobId Submit(const std::vector<std::string>& command) {
    v1::SubmitJobRequest request;
    request.mutable_spec()->set_name("fill");
    request.mutable_spec()->mutable_command()->Assign(command.begin(), command.end());
    request.mutable_spec()->set_memory_bytes(int64_t{256} << 20);
    const absl::StatusOr<v1::SubmitJobResponse> response = client_->SubmitJob(request);
    EXPECT_TRUE(response.ok()) << response.status();
    return JobId(response.ok() ? response->job_id() : 0);
  }
  JobId SubmitFill(int units) {
    return Submit({std::filesystem::absolute("tests/integration/filling_task").string(),
                   absl::StrCat(units), "200"});
  }
  v1::Job Wait(JobId job) {
    const absl::StatusOr<v1::Job> ended = client_->WaitJob(job, kPatience);
    EXPECT_TRUE(ended.ok()) << ended.status();
    return ended.value_or(v1::Job());
  }
  // The job as soon as `is_so`, or as it is when patience ends.
  v1::Job WaitUntil(JobId job, const std::function<bool(const v1::Job&)>& is_so) {
    const Instant end = SystemClock().Now() + kPatience;
    v1::Job seen;
    do {
      seen = client_->GetJob(job).value_or(v1::Job());
      if (is_so(seen)) return seen;
      Pause(absl::Milliseconds(20));
    } while (SystemClock().Now() < end);
    ADD_FAILURE() << "waited in vain; the job is " << seen.ShortDebugString();
    return seen;
  }
  static bool IsRunning(const v1::Job& job) {
    return job.state() == v1::JOB_STATE_RUNNING && job.attempts_size() > 0 &&
           job.attempts(job.attempts_size() - 1).state() == v1::ATTEMPT_STATE_RUNNING;
  }
};

// Two of these do not fit on the device.
v1::SubmitJobRequest LargeJob(const std::string& program, const std::vector<std::string>& words) {
  v1::SubmitJobRequest request;
  v1::JobSpec& spec = *request.mutable_spec();
  spec.add_command(std::filesystem::absolute("tests/integration/" + program).string());
  for (const std::string& word : words) spec.add_command(word);
  spec.set_memory_bytes(int64_t{600} << 20);
  spec.set_min_runtime_ns(0);
  return request;
}

TEST_F(AgentdSchedulerdTest, EvictedJobGoesOnFromItsCheckpointWhenTheOtherIsDone) {
  const MainRank rank({.socket = agent_config_.socket()});
  ASSERT_EQ(rank.code(), PF_OK) << rank.error();
  const JobId low(client_->SubmitJob(LargeJob("saving_task", {"200"}))->job_id());
  WaitUntil(low, [](const v1::Job& seen) {
    return IsRunning(seen) && seen.attempts(0).progress().units() >= 5;
  });
  v1::SubmitJobRequest urgent = LargeJob("filling_task", {"20", "200"});
  urgent.mutable_spec()->set_priority(5);
  const JobId high(client_->SubmitJob(urgent)->job_id());

  EXPECT_EQ(Wait(high).state(), v1::JOB_STATE_SUCCEEDED);
  const v1::Job seen = WaitUntil(low, [](const v1::Job& job) {
    return job.attempts_size() == 2 && job.attempts(1).progress().units() > 0;
  });
  EXPECT_EQ(seen.attempts(0).end_text(),
            absl::StrCat("evicted: job ", high.value(), " of priority 5 needs its place"));
  EXPECT_THAT(seen.attempts(1).progress().resumed_from(), HasSubstr("of the attempt with fence 1"));
  EXPECT_TRUE(client_->CancelJob(low).ok());
  EXPECT_EQ(Wait(low).state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(AgentdSchedulerdTest, JobWaitsForAMainJobThenFillsItsBubbles) {
  const JobId job = SubmitFill(20);
  WaitUntil(job, [](const v1::Job& seen) {
    return seen.pending_reason() == v1::PENDING_REASON_NO_MAIN_JOB;
  });
  const MainRank rank({.socket = agent_config_.socket()});
  ASSERT_EQ(rank.code(), PF_OK) << rank.error();
  const v1::Job ended = Wait(job);
  EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED) << ended.ShortDebugString();
  ASSERT_EQ(ended.attempts_size(), 1);
  EXPECT_EQ(ended.attempts(0).node(), "node");
  EXPECT_EQ(ended.attempts(0).device(), "cpu0");

  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_STDOUT);
  request.set_job_id(job.value());
  const absl::StatusOr<v1::ReadContentResponse> log = client_->ReadContent(request);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(log->data(), HasSubstr("gated=1"));
  EXPECT_THAT(log->data(), HasSubstr("units=20"));
}

TEST_F(AgentdSchedulerdTest, MissingCommandFailsTheJobWithItsName) {
  const MainRank rank({.socket = agent_config_.socket()});
  const v1::Job ended = Wait(Submit({"no-such-program"}));
  EXPECT_EQ(ended.state(), v1::JOB_STATE_FAILED);
  EXPECT_THAT(ended.end_text(), HasSubstr("command not found: no-such-program"));
}

TEST_F(AgentdSchedulerdTest, JobThatRunsForTooLongFailsWhateverItsRetries) {
  const MainRank rank({.socket = agent_config_.socket()});
  v1::SubmitJobRequest request;
  request.mutable_spec()->add_command("sleep");
  request.mutable_spec()->add_command("600");
  request.mutable_spec()->set_retries(3);
  request.mutable_spec()->set_memory_bytes(64 << 20);
  request.mutable_spec()->set_max_runtime_ns(1'000'000'000);
  const v1::Job ended = Wait(JobId(client_->SubmitJob(request)->job_id()));
  EXPECT_EQ(ended.state(), v1::JOB_STATE_FAILED) << ended.ShortDebugString();
  ASSERT_EQ(ended.attempts_size(), 1);
  EXPECT_EQ(ended.attempts(0).end_cause(), v1::END_CAUSE_MAX_RUNTIME);
  EXPECT_THAT(ended.end_text(), HasSubstr("max_runtime (limit 1 s, ran "));
}

TEST_F(AgentdSchedulerdTest, CancelEndsTheTask) {
  const MainRank rank({.socket = agent_config_.socket()});
  const JobId job = Submit({"sleep", "600"});
  WaitUntil(job, IsRunning);
  ASSERT_TRUE(client_->CancelJob(job).ok());
  EXPECT_EQ(Wait(job).state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(AgentdSchedulerdTest, RestartOfSchedulerdLosesNeitherTheTaskNorTheNode) {
  const MainRank rank({.socket = agent_config_.socket()});
  const JobId job = Submit({"sh", "-c", "echo $$; while ! test -e go; do sleep 0.05; done"});
  WaitUntil(job, IsRunning);
  server_.reset();
  StartScheduler();
  WaitUntil(job, IsRunning);
  const std::string go = absl::StrCat(folder_, "/agentd/attempts/", job.value(), ".1/work/go");
  std::filesystem::create_directory(go);
  const v1::Job ended = Wait(job);
  EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED) << ended.ShortDebugString();
  EXPECT_EQ(ended.attempts_size(), 1);
}

// As after a crash: with this option a stop leaves the tasks to the next agentd too.
TEST_F(AgentdSchedulerdTest, NextAgentdTakesOverTheTaskAndTheMainJobWithoutStoppingEither) {
  agent_config_.set_keep_tasks_at_stop(true);
  agent_.reset();
  StartAgent();
  const MainRank rank({.socket = agent_config_.socket()});
  ASSERT_EQ(rank.code(), PF_OK) << rank.error();
  // More than can be done before the first report.
  const JobId job = SubmitFill(10'000);
  const auto has_units = [](int64_t units) {
    return [units](const v1::Job& seen) {
      return seen.attempts_size() > 0 && seen.attempts(0).progress().units() >= units;
    };
  };
  const int64_t before = WaitUntil(job, has_units(1)).attempts(0).progress().units();
  agent_->Shutdown();
  agent_.reset();
  StartAgent();
  const v1::Job ended = Wait(job);
  EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED) << ended.ShortDebugString();
  ASSERT_EQ(ended.attempts_size(), 1);
  EXPECT_GT(ended.attempts(0).progress().units(), before);
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_STDOUT);
  request.set_job_id(job.value());
  EXPECT_THAT(client_->ReadContent(request)->data(), HasSubstr("units=10000"));
}

TEST_F(AgentdSchedulerdTest, TaskThatEndsWhileThereIsNoAgentdIsReportedAsItEnded) {
  agent_config_.set_keep_tasks_at_stop(true);
  agent_.reset();
  StartAgent();
  const MainRank rank({.socket = agent_config_.socket()});
  const JobId job = Submit({"sh", "-c", "while ! test -e go; do sleep 0.05; done; exit 3"});
  WaitUntil(job, IsRunning);
  agent_->Shutdown();
  agent_.reset();
  const std::string attempt = absl::StrCat(folder_, "/agentd/attempts/", job.value(), ".1");
  std::filesystem::create_directory(attempt + "/work/go");
  while (!std::filesystem::exists(attempt + "/exit")) Pause(absl::Milliseconds(10));
  StartAgent();
  const v1::Job ended = Wait(job);
  EXPECT_EQ(ended.state(), v1::JOB_STATE_FAILED) << ended.ShortDebugString();
  ASSERT_EQ(ended.attempts_size(), 1);
  EXPECT_EQ(ended.attempts(0).exit_code(), 3);
}

TEST_F(AgentdSchedulerdTest, RestartOfAgentdGivesTheJobAnotherAttempt) {
  auto rank = std::make_unique<MainRank>(MainRank::Options{.socket = agent_config_.socket()});
  const JobId job = Submit({"sh", "-c", "test $PIPEFILL_ATTEMPT = 2 || sleep 600"});
  WaitUntil(job, IsRunning);
  agent_->Shutdown();
  agent_.reset();
  rank.reset();
  StartAgent();
  rank = std::make_unique<MainRank>(MainRank::Options{.socket = agent_config_.socket()});
  const v1::Job ended = Wait(job);
  EXPECT_EQ(ended.state(), v1::JOB_STATE_SUCCEEDED) << ended.ShortDebugString();
  ASSERT_EQ(ended.attempts_size(), 2);
  EXPECT_EQ(ended.attempts(0).end_cause(), v1::END_CAUSE_LOST);
}

}  // namespace
}  // namespace pipefill
