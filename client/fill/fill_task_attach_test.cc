// A fill task and an agentd in another process: attaching, refusals, and the agentd after it.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/fill/fill_task.h"
#include "client/testing/fake_agent.h"
#include "client/testing/fakes.h"
#include "client/testing/memory_store.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kSlot = 4;
constexpr uint64_t kForever = UINT64_MAX;

using Outcome = FillTask::Outcome;

// Against an agentd in another process.
class AttachedTest : public testing::Test {
 protected:
  AttachedTest() : futex_(fake_clock_) {
    Offer(agent_);
    environment_.variables = {{"PIPEFILL_SOCKET", agent_.socket()},
                              {"PIPEFILL_JOB", "17"},
                              {"PIPEFILL_ATTEMPT", "2"},
                              {"PIPEFILL_FENCE", "18446744073709551615"}};
  }

  void Attach() {
    task_ = FillTask::Attach({.clock = clock_, .futex = futex_}, "", environment_, &error_);
  }
  void Offer(FakeAgent& agent) const {
    OfferBubble(agent.window.get(), kSlot, 64 * kMs, int64_t{1} << 60);
    agent.window->heartbeat_ns.store(clock_.NowNs() + 600'000'000'000);
  }
  void OpenBubble(FakeAgent& agent) const {
    agent.signal->slot.store(kSlot);
    agent.signal->begin_ns.store(clock_.NowNs());
    agent.signal->seq.fetch_add(1);
  }
  static void RaiseGeneration(FakeAgent& agent, bool has_signal) {
    agent.shared().has_signal.store(has_signal ? 1 : 0);
    agent.window->signal_generation.fetch_add(1);
  }

  FakeAgent agent_;
  SystemClock clock_;
  FakeClock fake_clock_;
  FakeFutex futex_;
  FakeEnvironment environment_;
  Error error_;
  std::unique_ptr<FillTask> task_;
};

TEST_F(AttachedTest, SaysWhoItIs) {
  Attach();
  ASSERT_TRUE(error_.ok()) << error_.text;
  EXPECT_TRUE(task_->is_gated());
  EXPECT_EQ(agent_.shared().task_request.job_id, 17);
  EXPECT_EQ(agent_.shared().task_request.attempt, 2);
  EXPECT_EQ(agent_.shared().task_request.fence, UINT64_MAX);
}

TEST_F(AttachedTest, FetchesTheSignalPageWhenARankComesAndDropsItWhenItGoes) {
  Attach();
  OpenBubble(agent_);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_EQ(agent_.shared().signal_requests.load(), 0u);

  RaiseGeneration(agent_, true);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
  EXPECT_EQ(agent_.shared().signal_requests.load(), 1u);

  RaiseGeneration(agent_, false);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_EQ(agent_.shared().signal_requests.load(), 2u);

  RaiseGeneration(agent_, true);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
}

TEST_F(AttachedTest, StopsWhenTheAgentSaysSo) {
  Attach();
  agent_.SendStop();
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kStop);
}

TEST_F(AttachedTest, StaysParkedWhenTheAgentIsKilled) {
  RaiseGeneration(agent_, true);
  Attach();
  OpenBubble(agent_);
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
  agent_.Kill();
  EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
  EXPECT_EQ(task_->stats().units, 1u);
}

TEST_F(AttachedTest, GoesOnUnderTheNextAgentWithItsNumbers) {
  RaiseGeneration(agent_, true);
  Attach();
  OpenBubble(agent_);
  ASSERT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
  task_->EndUnit();
  agent_.Kill();
  FakeAgent successor(agent_.socket());
  Offer(successor);
  RaiseGeneration(successor, true);
  OpenBubble(successor);

  // Of the first agent's page nothing is used any more.
  while (task_->NextUnit(0, 0) != Outcome::kStarted) {
  }
  EXPECT_EQ(successor.shared().task_request.job_id, 17);
  EXPECT_EQ(successor.shared().task_request.fence, UINT64_MAX);
  EXPECT_EQ(successor.task->state.load(), static_cast<uint32_t>(TaskState::kInUnit));
  EXPECT_EQ(HolderOf(successor.turn->holder.load()), 0u);
  EXPECT_EQ(successor.turn->seats[0].wants.load(), 1u);
  task_->EndUnit();
  EXPECT_EQ(task_->stats().units, 2u);
  EXPECT_EQ(successor.task->units_done.load(), 1u);
  EXPECT_EQ(successor.task->units.written.load(), 1u);
}

// Unlike units, of which each agentd counts those that came over its own page.
TEST_F(AttachedTest, TellsTheNextAgentOfAllItsSaves) {
  RaiseGeneration(agent_, true);
  Attach();
  MemoryStore::Blobs blobs;
  const SaveHooks hooks = {.save = [](std::string*) { return true; },
                           .load = [](std::string_view) { return true; }};
  ASSERT_TRUE(task_
                  ->SetSaver(std::make_unique<Saver>(
                      clock_, SaveSettings{.folder = "", .fence = 1, .bounds = {}}, hooks,
                      std::make_unique<MemoryStore>(blobs)))
                  .ok());
  OpenBubble(agent_);
  ASSERT_EQ(task_->NextUnit(0, 0), Outcome::kStarted);
  ASSERT_TRUE(task_->SaveNow().ok());
  EXPECT_EQ(agent_.task->saves_done.load(), 1u);
  agent_.Kill();
  FakeAgent successor(agent_.socket());
  Offer(successor);
  RaiseGeneration(successor, true);
  OpenBubble(successor);
  while (task_->NextUnit(0, 0) != Outcome::kStarted) {
  }
  EXPECT_EQ(successor.task->saves_done.load(), 1u);
  EXPECT_EQ(successor.task->checkpoint_flags.load(), kCheckpointHooks);
}

TEST_F(AttachedTest, DialsWithPausesThatGrow) {
  FakeClock clock;
  task_ = FillTask::Attach({.clock = clock, .futex = futex_}, "", environment_, &error_);
  agent_.Kill();
  FakeAgent successor(agent_.socket());
  successor.shared().code.store(static_cast<uint32_t>(AttachCode::kBusy));
  std::vector<uint64_t> pauses_ms;
  uint64_t last_ms = clock.now_ns / kMs;
  uint32_t requests = 0;
  while (pauses_ms.size() < 6) {
    EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
    if (successor.shared().requests.load() > requests) {
      pauses_ms.push_back(clock.now_ns / kMs - last_ms);
      last_ms = clock.now_ns / kMs;
      ++requests;
    }
    clock.now_ns += kMs;
  }
  EXPECT_EQ(pauses_ms, (std::vector<uint64_t>{0, 100, 200, 400, 800, 1000}));
}

TEST_F(AttachedTest, StaysParkedWhenTheNextAgentDoesNotKnowIt) {
  FakeClock clock;
  task_ = FillTask::Attach({.clock = clock, .futex = futex_}, "", environment_, &error_);
  agent_.Kill();
  FakeAgent successor(agent_.socket());
  successor.shared().code.store(static_cast<uint32_t>(AttachCode::kUnknown));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(task_->NextUnit(0, 0), Outcome::kLater);
    clock.now_ns += 1'000 * kMs;
  }
  EXPECT_EQ(successor.shared().requests.load(), 1u);
  EXPECT_TRUE(task_->is_gated());
}

TEST_F(AttachedTest, NeverRunsUngatedWhenAgentdStartedItAndRefusesIt) {
  agent_.shared().code.store(static_cast<uint32_t>(AttachCode::kUnknown));
  Attach();
  EXPECT_EQ(error_.code, PF_REFUSED);
  EXPECT_TRUE(task_->is_refused());
  EXPECT_FALSE(task_->is_gated());
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
}

TEST_F(AttachedTest, NeverRunsUngatedWhenAgentdStartedItAndIsGone) {
  agent_.Kill();
  const uint64_t begin_ns = fake_clock_.now_ns;
  task_ = FillTask::Attach({.clock = fake_clock_, .futex = futex_}, "", environment_, &error_);
  EXPECT_EQ(error_.code, PF_NO_AGENT);
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStop);
  EXPECT_GE(fake_clock_.now_ns - begin_ns, FillTask::kAttachPatienceNs);
}

TEST_F(AttachedTest, StartsUnderTheNextAgentIfItsOwnIsGoneByThen) {
  agent_.Kill();
  std::unique_ptr<FakeAgent> successor;
  futex_.on_wait = [&] {
    fake_clock_.now_ns += FillTask::kRedialNs;
    if (futex_.waits == 3) successor = std::make_unique<FakeAgent>(agent_.socket());
    return WaitResult::kTimedOut;
  };
  task_ = FillTask::Attach({.clock = fake_clock_, .futex = futex_}, "", environment_, &error_);
  ASSERT_TRUE(error_.ok()) << error_.text;
  EXPECT_TRUE(task_->is_gated());
  EXPECT_EQ(successor->shared().task_request.job_id, 17);
}

TEST_F(AttachedTest, RefusesAnIdentityThatIsNoNumber) {
  environment_.variables["PIPEFILL_FENCE"] = "12x";
  Attach();
  EXPECT_EQ(error_.code, PF_BAD_ARGUMENT);
  EXPECT_NE(error_.text.find("PIPEFILL_FENCE=12x"), std::string::npos);
  EXPECT_TRUE(task_->is_refused());
}

TEST_F(AttachedTest, RunsAloneWithoutASocketAndSaysNothing) {
  environment_.variables.erase("PIPEFILL_SOCKET");
  Attach();
  EXPECT_TRUE(error_.ok());
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
}

TEST_F(AttachedTest, RunsAloneWhenAgentdDidNotStartItAndSaysWhy) {
  environment_.variables.erase("PIPEFILL_JOB");
  Attach();
  EXPECT_EQ(error_.code, PF_BAD_ARGUMENT);
  EXPECT_FALSE(task_->is_refused());
  EXPECT_EQ(task_->NextUnit(0, kForever), Outcome::kStarted);
  EXPECT_EQ(agent_.shared().requests.load(), 0u);
}

}  // namespace
}  // namespace pipefill::sdk
