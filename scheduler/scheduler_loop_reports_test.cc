// What the loop makes of reports that come twice, late, in another order or over a stream that is
// over, while agents lose their streams, are restarted and fall silent.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/testing/loop_fixture.h"

namespace pipefill::scheduler {
namespace {

constexpr int kJobs = 5;
constexpr int kSteps = 120;
// Far more than it takes once everything arrives.
constexpr int kSettleSteps = 200;

class ReportsTest : public SchedulerLoopTest, public testing::WithParamInterface<uint64_t> {
 protected:
  using News = decltype(AgentSaid::message);

  uint64_t Draw(uint64_t below) { return random_() % below; }

  // --- The agent, as agentd is ---

  std::vector<AttemptKey> Live() const {
    std::vector<AttemptKey> live(running_.begin(), running_.end());
    for (const auto& [key, end] : untold_) live.push_back(key);
    return live;
  }

  void EndStream() {
    ASSERT_TRUE(loop_->Post(StreamEnded{SessionId(session_)}).ok());
    time_->RunReady();
  }

  // It may be refused while schedulerd takes the former for alive.
  void Redial(bool is_restarted) {
    if (is_restarted) ++boot_;
    DialIn(++session_, Live(), absl::StrCat("boot-", boot_));
  }

  // Commands that came over a stream which is over are lost.
  void TakeCommands() {
    for (; commands_ < agents_.sent_.size(); ++commands_) {
      const auto [session, action] = agents_.sent_[commands_];
      if (session == SessionId(session_)) Take(action);
    }
  }

  void Take(const Action& action) {
    if (const auto* launch = std::get_if<LaunchAttempt>(&action)) {
      if (!seen_.insert(launch->attempt).second) return;
      running_.insert(launch->attempt);
      Tell(AttemptStarted{launch->attempt});
    } else if (const auto* stop = std::get_if<StopAttempt>(&action)) {
      if (untold_.contains(stop->attempt)) return;
      running_.erase(stop->attempt);
      End(EndOf(stop->attempt, stop->cause));
    } else if (const auto* acknowledged = std::get_if<AcknowledgeEnd>(&action)) {
      untold_.erase(acknowledged->attempt);
    }
  }

  void Tell(News news) { on_the_way_.emplace_back(session_, std::move(news)); }

  void End(const AttemptEnded& end) {
    untold_[end.attempt] = end;
    Tell(end);
  }

  void FinishOne() {
    if (running_.empty()) return;
    const AttemptKey key = *std::next(running_.begin(), static_cast<int>(Draw(running_.size())));
    running_.erase(key);
    finished_.insert(key);
    End(ExitOf(key, 0));
  }

  // --- The network ---

  void DeliverOne() {
    if (on_the_way_.empty()) return;
    const size_t chosen = Draw(on_the_way_.size());
    const auto [session, news] = on_the_way_[chosen];
    // Or it will come once more.
    if (Draw(2) == 0) on_the_way_.erase(on_the_way_.begin() + static_cast<int>(chosen));
    Say(session, news);
  }

  void Step() {
    switch (Draw(12)) {
      case 0:
        if (submitted_ < kJobs && Submit().ok()) ++submitted_;
        break;
      case 1:
        if (Draw(2) == 0) EndStream();
        Redial(/*is_restarted=*/Draw(3) == 0);
        break;
      case 2:
        time_->AdvanceBy(absl::Seconds(static_cast<int64_t>(Draw(16))));
        break;
      case 3:
        FinishOne();
        break;
      case 4:
        PassReporting(1, session_);
        break;
      case 5:
      case 6:
      case 7:
        TakeCommands();
        break;
      default:
        DeliverOne();
    }
  }

  // Everything arrives from now on.
  void SettleOnce() {
    TakeCommands();
    FinishOne();
    for (const auto& [key, end] : std::map(untold_)) Say(session_, end);
    PassReporting(1, session_);
  }

  void CheckJobs() {
    for (int64_t id = 1; id <= submitted_; ++id) {
      const Job& job = Get(id);
      int successes = 0;
      uint64_t last_fence = 0;
      for (const Attempt& attempt : job.attempts) {
        EXPECT_GT(attempt.fence.value(), last_fence);
        last_fence = attempt.fence.value();
        const bool is_success = attempt.state == AttemptState::kEnded &&
                                attempt.end.cause == EndCause::kExited &&
                                attempt.end.exit_code == 0;
        if (!is_success) continue;
        ++successes;
        EXPECT_TRUE(finished_.contains({job.id, attempt.number, attempt.fence}))
            << "job " << id << " has a success that never was";
      }
      EXPECT_LE(successes, 1) << "job " << id;
      EXPECT_EQ(successes == 1, job.phase == JobPhase::kSucceeded) << "job " << id;
      EXPECT_TRUE(!succeeded_.contains(id) || successes == 1) << "job " << id;
      if (successes == 1) succeeded_.insert(id);
    }
  }

  bool IsOver() {
    for (int64_t id = 1; id <= submitted_; ++id) {
      if (Get(id).phase != JobPhase::kSucceeded) return false;
    }
    return true;
  }

  std::mt19937_64 random_{GetParam()};
  uint64_t session_ = 0;
  int boot_ = 0;
  int64_t submitted_ = 0;
  size_t commands_ = 0;  // of agents_.sent_, taken so far
  std::set<AttemptKey> seen_;
  std::set<AttemptKey> running_;
  std::set<AttemptKey> finished_;
  std::map<AttemptKey, AttemptEnded> untold_;
  std::vector<std::pair<uint64_t, News>> on_the_way_;
  std::set<int64_t> succeeded_;
};

TEST_P(ReportsTest, EveryJobSucceedsOnceWhateverArrivesWhen) {
  Redial(/*is_restarted=*/true);
  for (int i = 0; i < kSteps; ++i) {
    Step();
    CheckJobs();
  }
  time_->AdvanceBy(absl::Minutes(1));  // whoever was taken for alive has been given up
  Redial(/*is_restarted=*/false);
  for (int i = 0; i < kSettleSteps && !IsOver(); ++i) SettleOnce();
  CheckJobs();
  EXPECT_TRUE(IsOver());
  EXPECT_TRUE(fatal_.ok());
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReportsTest, testing::Range(uint64_t{1}, uint64_t{200}));

}  // namespace
}  // namespace pipefill::scheduler
