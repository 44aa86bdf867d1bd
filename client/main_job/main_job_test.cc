#include "client/main_job/main_job.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "client/testing/fake_agent.h"
#include "client/testing/fakes.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

pf_attach_options GoodOptions() {
  pf_attach_options options = {};
  options.size_bytes = sizeof(options);
  options.main_job = "gpt";
  options.rank = 1;
  options.ranks = 4;
  options.stage = 0;
  options.stages = 2;
  return options;
}

TEST(MakeRankRequestTest, CopiesWhatTheOptionsSay) {
  pf_attach_options options = GoodOptions();
  options.device = "cpu1";
  options.mode = PF_MODE_REPORT;
  options.budget_ppm = 5'000;
  AttachRankRequest request;

  ASSERT_TRUE(MakeRankRequest(options, FakeEnvironment(), &request).ok());
  EXPECT_STREQ(request.main_job, "gpt");
  EXPECT_STREQ(request.device, "cpu1");
  EXPECT_EQ(request.rank, 1);
  EXPECT_EQ(request.ranks, 4);
  EXPECT_EQ(request.stage, 0);
  EXPECT_EQ(request.stages, 2);
  EXPECT_EQ(request.mode, static_cast<uint32_t>(FillMode::kReport));
  EXPECT_EQ(request.budget_ppm, 5'000u);
}

TEST(MakeRankRequestTest, TakesDeviceAndModeFromTheEnvironmentUnlessGiven) {
  FakeEnvironment environment;
  environment.variables = {{"PIPEFILL_DEVICE", "cpu7"}, {"PIPEFILL_MODE", "off"}};
  pf_attach_options options = GoodOptions();
  AttachRankRequest request;

  ASSERT_TRUE(MakeRankRequest(options, environment, &request).ok());
  EXPECT_STREQ(request.device, "cpu7");
  EXPECT_EQ(request.mode, static_cast<uint32_t>(FillMode::kOff));

  options.device = "cpu0";
  options.mode = PF_MODE_FILL;
  ASSERT_TRUE(MakeRankRequest(options, environment, &request).ok());
  EXPECT_STREQ(request.device, "cpu0");
  EXPECT_EQ(request.mode, static_cast<uint32_t>(FillMode::kFill));
}

struct BadOptions {
  const char* field;
  void (*spoil)(pf_attach_options&);
};

class BadOptionsTest : public testing::TestWithParam<BadOptions> {};

TEST_P(BadOptionsTest, AreRefusedWithTheNameOfTheField) {
  pf_attach_options options = GoodOptions();
  GetParam().spoil(options);
  AttachRankRequest request;

  const Error error = MakeRankRequest(options, FakeEnvironment(), &request);
  EXPECT_EQ(error.code, PF_BAD_ARGUMENT);
  EXPECT_NE(error.text.find(GetParam().field), std::string::npos) << error.text;
}

const std::string kLongName(128, 'x');

INSTANTIATE_TEST_SUITE_P(
    All, BadOptionsTest,
    testing::Values(BadOptions{"main_job", [](auto& options) { options.main_job = nullptr; }},
                    BadOptions{"main_job", [](auto& options) { options.main_job = ""; }},
                    BadOptions{"main_job",
                               [](auto& options) { options.main_job = kLongName.c_str(); }},
                    BadOptions{"rank", [](auto& options) { options.rank = 4; }},
                    BadOptions{"rank", [](auto& options) { options.rank = -1; }},
                    BadOptions{"stage", [](auto& options) { options.stage = 2; }},
                    BadOptions{"device", [](auto& options) { options.device = kLongName.c_str(); }},
                    BadOptions{"mode", [](auto& options) { options.mode = 9; }}));

TEST(MakeRankRequestTest, RefusesAnUnknownModeInTheEnvironment) {
  FakeEnvironment environment;
  environment.variables = {{"PIPEFILL_MODE", "fast"}};
  AttachRankRequest request;

  const Error error = MakeRankRequest(GoodOptions(), environment, &request);
  EXPECT_EQ(error.code, PF_BAD_ARGUMENT);
  EXPECT_NE(error.text.find("PIPEFILL_MODE=fast"), std::string::npos);
}

class MainJobTest : public testing::Test {
 protected:
  MainJobTest() : futex_(clock_), job_(clock_, futex_) {
    clock_.now_ns = SystemClock().NowNs();
    Beat(agent_);
    environment_.variables = {{"PIPEFILL_SOCKET", agent_.socket()}};
  }

  void Beat(FakeAgent& agent) const { agent.window->heartbeat_ns.store(clock_.now_ns); }
  void PassSeconds(uint64_t count) { clock_.now_ns += count * 1'000'000'000; }
  void RunIteration() {
    job_.IterationBegin(++iteration_);
    job_.recorder()->BubbleBegin(PF_BUBBLE_HEAD, 0);
    job_.recorder()->BubbleEnd();
    job_.recorder()->IterationEnd();
  }
  // The answer comes from another process: iterations go on until it is there.
  void RunUntilMoved(FakeAgent& to) {
    while (to.signal->iteration.load() == 0) RunIteration();
  }

  FakeAgent agent_;
  FakeClock clock_;
  FakeFutex futex_;
  uint64_t iteration_ = 0;
  FakeEnvironment environment_;
  MainJob job_;
};

TEST_F(MainJobTest, WritesIntoThePageThatTheAgentReads) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  FakeAgent::Await(agent_.shared().mapped, 1);
  EXPECT_TRUE(job_.IsAttached());

  job_.IterationBegin(5);
  job_.recorder()->BubbleBegin(PF_BUBBLE_HEAD, 0);

  EXPECT_TRUE(ReadSignal(*agent_.signal).is_open());
  EXPECT_EQ(ReadSignal(*agent_.signal).iteration, 5u);
}

TEST_F(MainJobTest, IsNoLongerAttachedOnceTheHeartbeatIsStale) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  PassSeconds(2);
  EXPECT_FALSE(job_.IsAttached());
}

TEST_F(MainJobTest, KeepsRecordingAfterTheAgentDiesInTheMiddle) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  job_.IterationBegin(1);
  job_.recorder()->BubbleBegin(PF_BUBBLE_HEAD, 0);
  agent_.Kill();

  for (uint64_t iteration = 2; iteration < 5'000; ++iteration) {
    job_.IterationBegin(iteration);
    job_.recorder()->BubbleBegin(PF_BUBBLE_HEAD, 0);
    job_.recorder()->BubbleEnd();
    job_.recorder()->IterationEnd();
  }
  EXPECT_FALSE(ReadSignal(*agent_.signal).is_open());
}

TEST_F(MainJobTest, IsDetachedInAForkedChild) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  const pid_t child = fork();
  if (child == 0) _exit(job_.recorder() == nullptr && !job_.IsAttached() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);

  EXPECT_EQ(status, 0);
  EXPECT_NE(job_.recorder(), nullptr);
}

TEST_F(MainJobTest, MovesToTheNextAgentOfItsSocketBetweenTwoIterations) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  RunIteration();
  agent_.Kill();
  FakeAgent successor(agent_.socket());
  PassSeconds(2);
  EXPECT_FALSE(job_.IsAttached());
  Beat(successor);

  RunUntilMoved(successor);
  FakeAgent::Await(successor.shared().mapped, 1);
  EXPECT_TRUE(job_.IsAttached());
  EXPECT_STREQ(successor.shared().rank_request.main_job, "gpt");
  EXPECT_EQ(successor.signal->iteration.load(), iteration_);
  EXPECT_EQ(successor.signal->seq.load() % 2, 0u);
  const uint64_t written_to_the_old = agent_.signal->events.written.load();
  RunIteration();
  EXPECT_EQ(agent_.signal->events.written.load(), written_to_the_old);
}

TEST_F(MainJobTest, NamesItsBubblesAgainInTheNewPage) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  job_.IterationBegin(++iteration_);
  job_.recorder()->BubbleBegin(PF_BUBBLE_CUSTOM, 7);
  job_.recorder()->IterationEnd();
  agent_.Kill();
  FakeAgent successor(agent_.socket());
  PassSeconds(2);
  Beat(successor);

  RunUntilMoved(successor);
  EXPECT_EQ(successor.signal->bubble_names[0].load(), PackBubbleName(BubbleClass::kCustom, 7));
  EXPECT_EQ(successor.signal->bubble_names[1].load(), PackBubbleName(BubbleClass::kHead, 0));
}

TEST_F(MainJobTest, LeavesAnIterationThatNeverEndedBehind) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  job_.IterationBegin(++iteration_);
  job_.recorder()->BubbleBegin(PF_BUBBLE_HEAD, 0);
  agent_.Kill();
  FakeAgent successor(agent_.socket());
  PassSeconds(2);
  Beat(successor);

  while (successor.signal->iteration.load() == 0) job_.IterationBegin(++iteration_);
  uint64_t words[kEdgeWords];
  ASSERT_TRUE(successor.signal->events.Read(0, words));
  EXPECT_EQ(UnpackEdge(words).kind, EdgeKind::kIterationBegin);
  EXPECT_FALSE(ReadSignal(*agent_.signal).is_open());
}

TEST_F(MainJobTest, KeepsAnAgentThatOnlyPaused) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  agent_.shared().manner.store(static_cast<uint32_t>(FakeAgent::Manner::kSilent));
  PassSeconds(2);
  RunIteration();
  Beat(agent_);
  EXPECT_TRUE(job_.IsAttached());
  RunIteration();

  EXPECT_EQ(agent_.signal->iteration.load(), iteration_);
  EXPECT_EQ(agent_.shared().requests.load(), 1u);
}

TEST_F(MainJobTest, ForkedChildNeverAttachesToTheNextAgent) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  agent_.Kill();
  FakeAgent successor(agent_.socket());
  PassSeconds(2);
  Beat(successor);
  const pid_t child = fork();
  if (child == 0) {
    for (uint64_t i = 0; i < 1000; ++i) job_.IterationBegin(i);
    _exit(successor.shared().requests.load() == 0 ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(MainJobTest, StaysDetachedWhenRefused) {
  agent_.shared().code.store(static_cast<uint32_t>(AttachCode::kBusy));
  const Error error = job_.Attach(GoodOptions(), environment_);

  EXPECT_EQ(error.code, PF_REFUSED);
  EXPECT_EQ(error.text, "told so by the test");
  EXPECT_EQ(job_.recorder(), nullptr);
  EXPECT_FALSE(job_.IsAttached());
}

}  // namespace
}  // namespace pipefill::sdk
