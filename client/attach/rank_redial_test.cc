#include "client/attach/rank_redial.h"

#include <cstring>

#include "client/pages/signal_page.h"
#include "client/testing/fake_agent.h"
#include "client/testing/fakes.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;

class RankRedialTest : public testing::Test {
 protected:
  RankRedialTest() : redial_(Request(), agent_.socket(), clock_) {}

  static AttachRankRequest Request() {
    AttachRankRequest request = {};
    strcpy(request.main_job, "gpt");
    return request;
  }
  void AnswerWith(FakeAgent::Manner manner) {
    agent_.shared().manner.store(static_cast<uint32_t>(manner));
  }
  bool Step() { return redial_.Step(clock_.now_ns, &pages_); }
  void StepUntilRequest(uint32_t count) {
    while (agent_.shared().requests.load() < count) Step();
  }
  // Until the answer has been taken.
  void StepWhileAsked() {
    while (redial_.is_asked()) Step();
  }
  // The next request comes `delay_ns` from now, and not much before it.
  void ExpectNextRequestAfter(uint64_t delay_ns) {
    const uint32_t before = agent_.shared().requests.load();
    clock_.now_ns += delay_ns - kSecondNs / 10;
    for (int i = 0; i < 100; ++i) Step();
    EXPECT_EQ(agent_.shared().requests.load(), before);
    clock_.now_ns += kSecondNs / 10;
    StepUntilRequest(before + 1);
  }

  FakeAgent agent_;
  FakeClock clock_;
  RankRedial redial_;
  RankPages pages_;
};

TEST_F(RankRedialTest, GetsPagesAndConfirmsThem) {
  while (!Step()) {
  }
  FakeAgent::Await(agent_.shared().mapped, 1);
  pages_.signal.As<SignalPage>()->seq.store(9);
  EXPECT_EQ(agent_.signal->seq.load(), 9u);
  EXPECT_STREQ(agent_.shared().rank_request.main_job, "gpt");
  EXPECT_EQ(agent_.shared().requests.load(), 1u);
}

TEST_F(RankRedialTest, TriesOnceASecondWhileNobodyIsThere) {
  agent_.Kill();
  EXPECT_FALSE(Step());
  FakeAgent successor(agent_.socket());
  clock_.now_ns += kSecondNs - 1;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Step());
  EXPECT_EQ(successor.shared().requests.load(), 0u);
  clock_.now_ns += 1;
  while (!Step()) {
  }
  EXPECT_EQ(successor.shared().requests.load(), 1u);
}

TEST_F(RankRedialTest, HangsUpOnAnAgentThatDoesNotAnswerAndTriesAgain) {
  AnswerWith(FakeAgent::Manner::kSilent);
  StepUntilRequest(1);
  clock_.now_ns += RankRedial::kAnswerMaxNs + 1;
  EXPECT_FALSE(Step());
  AnswerWith(FakeAgent::Manner::kAccept);
  ExpectNextRequestAfter(RankRedial::kAgainNs);
}

TEST_F(RankRedialTest, AsksLessAndLessOftenWhenRefused) {
  agent_.shared().code.store(static_cast<uint32_t>(AttachCode::kVersion));
  StepUntilRequest(1);
  for (const uint64_t seconds : {2, 4, 8, 16, 32, 64, 64}) {
    StepWhileAsked();
    ExpectNextRequestAfter(seconds * kSecondNs);
  }
  EXPECT_EQ(pages_.signal.As<SignalPage>(), nullptr);
}

TEST_F(RankRedialTest, TakesNothingFromAnAnswerThatMakesNoSense) {
  AnswerWith(FakeAgent::Manner::kGarbage);
  StepUntilRequest(1);
  while (redial_.is_asked()) EXPECT_FALSE(Step());
  EXPECT_EQ(pages_.signal.As<SignalPage>(), nullptr);
}

TEST_F(RankRedialTest, ForgetsWhatIsUnderWayWhenTheOldAgentIsBack) {
  AnswerWith(FakeAgent::Manner::kSilent);
  StepUntilRequest(1);
  redial_.Reset();
  AnswerWith(FakeAgent::Manner::kAccept);
  StepUntilRequest(2);
}

}  // namespace
}  // namespace pipefill::sdk
