// agentd and a task that saves, with a main rank whose bubbles it fills: when it is asked to, and
// what the next attempt finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/testing/scripted_scheduler.h"
#include "tests/integration/agentd_fixture.h"
#include "tests/integration/main_rank.h"

namespace pipefill {
namespace {

using ::testing::StartsWith;

constexpr int64_t kSubmittedNs = 123;

class CheckpointsTest : public AgentdFixture {
 protected:
  void SetUp() override {
    AgentdFixture::SetUp();
    // By itself it saves nothing that soon.
    config_.set_checkpoint_every_min("10m");
  }
  void TearDown() override {
    rank_.reset();
    AgentdFixture::TearDown();
  }

  void Start(absl::Duration lease) {
    scheduler_ = std::make_unique<ScriptedScheduler>(ScriptedScheduler::Options{.lease = lease});
    config_.set_scheduler(scheduler_->address());
    StartAgent();
    rank_.emplace(MainRank::Options{.socket = config_.socket()});
  }

  static v1::AttemptKey KeyOf(int attempt) {
    v1::AttemptKey key;
    key.set_job_id(1);
    key.set_attempt(attempt);
    key.set_fence(static_cast<uint64_t>(100 + attempt));
    return key;
  }
  void Launch(int attempt) {
    v1::AgentCommand command;
    v1::LaunchAttempt& launch = *command.mutable_launch();
    *launch.mutable_key() = KeyOf(attempt);
    launch.set_device("cpu0");
    launch.set_job_submitted_unix_ns(kSubmittedNs);
    launch.mutable_spec()->add_command(
        std::filesystem::absolute("tests/integration/saving_task").string());
    launch.mutable_spec()->add_command("200");
    launch.mutable_spec()->set_memory_bytes(int64_t{256} << 20);
    scheduler_->Send(command);
  }
  void Stop(int attempt) {
    v1::AgentCommand command;
    *command.mutable_stop()->mutable_key() = KeyOf(attempt);
    command.mutable_stop()->set_cause(v1::END_CAUSE_LOST);
    command.mutable_stop()->set_text("moved");
    scheduler_->Send(command);
  }
  // The first report in which the attempt has done so many units.
  v1::FillProgress WaitForUnits(int attempt, int64_t units) {
    v1::FillProgress found;
    const auto message = scheduler_->WaitFor([&](const v1::AgentMessage& candidate) {
      for (const v1::AttemptProgress& progress : candidate.report().progress()) {
        if (progress.key().attempt() != attempt || progress.progress().units() < units) continue;
        found = progress.progress();
        return true;
      }
      return false;
    });
    EXPECT_TRUE(message.has_value());
    return found;
  }
  v1::AttemptEnded WaitForEnd(int attempt) {
    const auto message = scheduler_->WaitFor([&](const v1::AgentMessage& candidate) {
      return candidate.has_attempt_ended() && candidate.attempt_ended().key().attempt() == attempt;
    });
    EXPECT_TRUE(message.has_value());
    return message.value_or(v1::AgentMessage()).attempt_ended();
  }

  std::optional<MainRank> rank_;
};

TEST_F(CheckpointsTest, SavesBeforeItIsStoppedAndGoesOnInTheNextAttempt) {
  Start(absl::Minutes(10));
  Launch(1);
  EXPECT_EQ(WaitForUnits(1, 5).resumed_from(), "the beginning");
  Stop(1);
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.text(), "moved");
  EXPECT_EQ(end.progress().checkpoints(), 1);
  EXPECT_EQ(end.progress().checkpoint_failures(), 0);

  Launch(2);
  EXPECT_THAT(WaitForUnits(2, 1).resumed_from(),
              StartsWith("checkpoint 1 of the attempt with fence 101, "));
  const std::string saves = absl::StrCat(folder_, "/agentd/checkpoints/job-1-", kSubmittedNs);
  EXPECT_TRUE(std::filesystem::exists(saves));
  Stop(2);
  WaitForEnd(2);
  // No attempt will follow.
  v1::AgentCommand acknowledged;
  *acknowledged.mutable_end_acknowledged()->mutable_key() = KeyOf(2);
  acknowledged.mutable_end_acknowledged()->set_job_over_submitted_unix_ns(kSubmittedNs);
  scheduler_->Send(acknowledged);
  v1::AgentCommand question;
  question.mutable_content()->set_request_id(7);
  scheduler_->Send(question);
  ASSERT_TRUE(scheduler_
                  ->WaitFor([](const v1::AgentMessage& message) {
                    return message.content_reply().request_id() == 7;
                  })
                  .has_value());
  EXPECT_FALSE(std::filesystem::exists(saves));
}

TEST_F(CheckpointsTest, SavesWhenSchedulerdFallsSilentBeforeItsGatesAreShut) {
  Start(absl::Seconds(4));
  Launch(1);
  v1::AgentCommand keep_alive;
  keep_alive.mutable_keep_alive();
  int64_t checkpoints = 0;
  // One word, and then nothing for three reports, which come each second.
  for (int words = 0; words < 20 && checkpoints == 0; ++words) {
    scheduler_->Send(keep_alive);
    for (int reports = 0; reports < 3; ++reports) {
      scheduler_->Forget();
      const auto report = scheduler_->WaitFor([](const v1::AgentMessage& message) {
        return message.has_report() && message.report().progress_size() == 1;
      });
      ASSERT_TRUE(report.has_value());
      checkpoints = report->report().progress(0).progress().checkpoints();
    }
  }
  EXPECT_GT(checkpoints, 0);
}

}  // namespace
}  // namespace pipefill
