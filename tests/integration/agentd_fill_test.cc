// agentd with a main rank and a task that fills its bubbles.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/integration/agentd_fixture.h"
#include "tests/integration/main_rank.h"

namespace pipefill {
namespace {

class AgentdFillTest : public AgentdFixture {};

TEST_F(AgentdFillTest, FillsBubblesOfAMainRankAndRecordsEdgesAndUnits) {
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  ASSERT_EQ(rank.code(), PF_OK) << rank.error();
  Fill(1, 30);
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_EXITED);
  EXPECT_EQ(end.exit_code(), 0) << end.text();
  EXPECT_EQ(end.progress().units(), 30);
  EXPECT_GT(end.progress().unit_cpu_ns(), 30 * 150'000);
  agent_->Shutdown();

  int edges = 0;
  int units = 0;
  int rank_key = 0;
  int task_key = 0;
  bool is_ended = false;
  for (const v1::TraceRecord& record : ReadTrace()) {
    if (record.has_rank_attached()) rank_key = record.rank_attached().rank_key();
    if (record.has_task_attached()) task_key = record.task_attached().task_key();
    edges += record.has_edge() && record.edge().rank_key() == rank_key;
    units += record.has_unit() && record.unit().task_key() == task_key &&
             record.unit().rank_key() == rank_key;
    is_ended = is_ended || (record.has_task_ended() && record.task_ended().task_key() == task_key);
  }
  EXPECT_EQ(units, 30);
  EXPECT_GT(edges, 4 * 8);
  EXPECT_TRUE(is_ended);
}

TEST_F(AgentdFillTest, TaskStaysWhileItsMainJobIsAwayAndGoesOnWithTheNext) {
  StartAgent();
  auto rank = std::make_unique<MainRank>(MainRank::Options{.socket = config_.socket()});
  Fill(1, 0);
  ASSERT_TRUE(WaitForUnits(1, 5));
  rank.reset();
  scheduler_->Forget();
  const auto is_alone = [](const v1::AgentMessage& message) {
    return message.has_report() && !message.report().devices(0).has_main_rank();
  };
  const auto alone = scheduler_->WaitFor(is_alone);
  ASSERT_TRUE(alone.has_value());
  const int64_t units_before = alone->report().progress(0).progress().units();
  rank = std::make_unique<MainRank>(MainRank::Options{.socket = config_.socket()});
  EXPECT_TRUE(WaitForUnits(1, units_before + 5));
}

TEST_F(AgentdFillTest, MainJobInReportModeIsMeasuredButNotFilled) {
  StartAgent();
  const MainRank rank({.socket = config_.socket(), .mode = PF_MODE_REPORT});
  Fill(1, 0);
  const auto report = scheduler_->WaitFor([](const v1::AgentMessage& message) {
    return message.report().bubbles_size() == 1 && message.report().bubbles(0).count() >= 50 &&
           message.report().progress_size() == 1;
  });
  ASSERT_TRUE(report.has_value());
  const v1::BubbleStats& bubble = report->report().bubbles(0);
  EXPECT_EQ(bubble.main_job(), "gpt");
  EXPECT_EQ(bubble.bubble_class(), v1::BUBBLE_CLASS_MIDDLE);
  EXPECT_GE(bubble.p50_ns(), 6'000'000);
  EXPECT_EQ(report->report().progress(0).progress().units(), 0);
  EXPECT_EQ(report->report().devices(0).main_rank().mode(), v1::FILL_MODE_REPORT);
}

TEST_F(AgentdFillTest, GatesStandStillWhileSchedulerdIsSilentBeyondItsLease) {
  scheduler_.reset();
  scheduler_ = std::make_unique<ScriptedScheduler>(
      ScriptedScheduler::Options{.lease = absl::Milliseconds(700)});
  config_.set_scheduler(scheduler_->address());
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  v1::AgentCommand keep_alive;
  keep_alive.mutable_keep_alive();
  Fill(1, 0);
  // Reports come each second; each is answered once, so that a window of 700 ms is open after it.
  int64_t units = 0;
  for (int reports = 0; reports < 60 && units == 0; ++reports) {
    scheduler_->Forget();
    const auto report = scheduler_->WaitFor([](const v1::AgentMessage& message) {
      return message.has_report() && message.report().progress_size() == 1;
    });
    ASSERT_TRUE(report.has_value());
    units = report->report().progress(0).progress().units();
    scheduler_->Send(keep_alive);
  }
  EXPECT_GT(units, 0);

  // Silence: of three reports in a row the last two say the same.
  std::vector<int64_t> seen;
  while (seen.size() < 4) {
    scheduler_->Forget();
    const auto report = scheduler_->WaitFor([](const v1::AgentMessage& message) {
      return message.has_report() && message.report().progress_size() == 1;
    });
    ASSERT_TRUE(report.has_value());
    seen.push_back(report->report().progress(0).progress().units());
  }
  EXPECT_EQ(seen[2], seen[3]);

  scheduler_->Send(keep_alive);
  EXPECT_TRUE(WaitForUnits(1, seen[3] + 1));
}

// A rank in a process of its own, which can be stopped like one whose peer died.
class RankProcess {
 public:
  RankProcess(const std::string& socket, const std::string& device) {
    const std::string program =
        std::filesystem::absolute("tests/integration/looping_rank").string();
    std::string socket_variable = absl::StrCat("PIPEFILL_SOCKET=", socket);
    const char* const arguments[] = {program.c_str(), device.c_str(), nullptr};
    const char* const variables[] = {socket_variable.c_str(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), nullptr, nullptr,
                          const_cast<char* const*>(arguments), const_cast<char* const*>(variables)),
              0);
  }
  ~RankProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  void Stop() const { kill(pid_, SIGSTOP); }
  void GoOn() const { kill(pid_, SIGCONT); }

 private:
  pid_t pid_ = 0;
};

// Of the last report; nothing if it has none.
std::optional<v1::BubbleStats> FailuresIn(const v1::AgentMessage& message) {
  for (const v1::BubbleStats& bubble : message.report().bubbles()) {
    if (bubble.bubble_class() == v1::BUBBLE_CLASS_FAILURE) return bubble;
  }
  return std::nullopt;
}

TEST_F(AgentdFillTest, DeviceOfAMainJobThatStandsStillIsFilledUntilItGoesOn) {
  config_.mutable_failure()->set_after("500ms");
  StartAgent();
  const RankProcess rank(config_.socket(), "cpu0");
  Fill(1, 0);
  ASSERT_TRUE(WaitForUnits(1, 10));
  rank.Stop();
  const auto is_filled = [](const v1::AgentMessage& message) {
    const std::optional<v1::BubbleStats> failures = FailuresIn(message);
    return failures.has_value() && failures->offer() == v1::BUBBLE_OFFER_YES;
  };
  ASSERT_TRUE(scheduler_->WaitFor(is_filled).has_value());
  scheduler_->Forget();
  // A report later it is still open.
  ASSERT_TRUE(scheduler_->WaitFor(is_filled).has_value());
  rank.GoOn();
  const auto closed = scheduler_->WaitFor([](const v1::AgentMessage& message) {
    const std::optional<v1::BubbleStats> failures = FailuresIn(message);
    return failures.has_value() && failures->offer() != v1::BUBBLE_OFFER_YES;
  });
  ASSERT_TRUE(closed.has_value());
  const v1::BubbleStats failures = *FailuresIn(*closed);
  // How much depends on what else the machine has to do.
  EXPECT_GT(failures.filled_ns(), 0);
  EXPECT_GE(failures.bubble_ns(), 500'000'000);
  const int64_t units = closed->report().progress(0).progress().units();
  EXPECT_TRUE(WaitForUnits(1, units + 10));
  agent_.reset();
  int began = 0;
  int ended = 0;
  for (const v1::TraceRecord& record : ReadTrace()) {
    began += record.has_failure_began() ? 1 : 0;
    ended += record.has_failure_ended() ? 1 : 0;
  }
  EXPECT_GE(began, 1);
  EXPECT_EQ(ended, began);
}

}  // namespace
}  // namespace pipefill
