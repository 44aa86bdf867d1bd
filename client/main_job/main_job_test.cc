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
  MainJobTest() : futex_(fake_clock_), job_(clock_, futex_) {
    agent_.window->heartbeat_ns.store(clock_.NowNs());
    environment_.variables = {{"PIPEFILL_SOCKET", agent_.socket()}};
  }

  FakeAgent agent_;
  SystemClock clock_;
  FakeClock fake_clock_;
  FakeFutex futex_;
  FakeEnvironment environment_;
  MainJob job_;
};

TEST_F(MainJobTest, WritesIntoThePageThatTheAgentReads) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  FakeAgent::Await(agent_.shared().mapped, 1);
  EXPECT_TRUE(job_.IsAttached());

  job_.recorder()->IterationBegin(5);
  job_.recorder()->BubbleBegin(PF_BUBBLE_HEAD, 0);

  EXPECT_TRUE(ReadSignal(*agent_.signal).is_open());
  EXPECT_EQ(ReadSignal(*agent_.signal).iteration, 5u);
}

TEST_F(MainJobTest, IsNoLongerAttachedOnceTheHeartbeatIsStale) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  agent_.window->heartbeat_ns.store(clock_.NowNs() - 2 * kHeartbeatStaleNs);
  EXPECT_FALSE(job_.IsAttached());
}

TEST_F(MainJobTest, KeepsRecordingAfterTheAgentDiesInTheMiddle) {
  ASSERT_TRUE(job_.Attach(GoodOptions(), environment_).ok());
  job_.recorder()->IterationBegin(1);
  job_.recorder()->BubbleBegin(PF_BUBBLE_HEAD, 0);
  agent_.Kill();

  for (uint64_t iteration = 2; iteration < 5'000; ++iteration) {
    job_.recorder()->IterationBegin(iteration);
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
