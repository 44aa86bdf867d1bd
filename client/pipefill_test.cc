// The C ABI and the C++ owners over it, with and without an agentd.
#include "client/pipefill.h"

#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "client/pipefill.hpp"
#include "client/platform/clock.h"
#include "client/testing/fake_agent.h"
#include "gtest/gtest.h"

namespace pipefill {
namespace {

using sdk::FakeAgent;

constexpr uint32_t kSlot = 0;

class AbiTest : public testing::Test {
 protected:
  AbiTest() {
    for (const char* name : {"PIPEFILL_SOCKET", "PIPEFILL_JOB", "PIPEFILL_ATTEMPT",
                             "PIPEFILL_FENCE", "PIPEFILL_MODE", "PIPEFILL_DEVICE"}) {
      unsetenv(name);
    }
  }
};

void MakeAllCalls(pf_main_job* job) {
  pf_iteration_begin(job, 1);
  pf_bubble_begin(job, PF_BUBBLE_HEAD, 0);
  pf_memory_hint(job, 1);
  pf_bubble_end(job);
  pf_chunk_begin(job, PF_CHUNK_FORWARD);
  pf_chunk_end(job);
  pf_iteration_end(job);
}

TEST_F(AbiTest, AcceptsNullHandlesEverywhere) {
  MakeAllCalls(nullptr);
  EXPECT_EQ(pf_is_attached(nullptr), 0);
  pf_detach(nullptr);

  pf_task_stats stats = {};
  stats.units = 9;
  EXPECT_EQ(pf_task_next_unit(nullptr, 0), 0);
  EXPECT_EQ(pf_task_wait_unit(nullptr, 0, 1), 0);
  uint32_t n = 0;
  EXPECT_EQ(pf_task_next_elastic(nullptr, 0, 1, 2, &n), 0);
  EXPECT_EQ(pf_task_wait_elastic(nullptr, 0, 1, 2, 1, &n), 0);
  EXPECT_EQ(pf_task_is_gated(nullptr), 0);
  EXPECT_EQ(pf_task_is_refused(nullptr), 1);
  pf_task_end_unit(nullptr);
  pf_task_get_stats(nullptr, &stats);
  EXPECT_EQ(stats.units, 0u);
  pf_task_get_stats(nullptr, nullptr);
  pf_task_detach(nullptr);
}

TEST_F(AbiTest, RefusesMissingArgumentsWithoutFailing) {
  EXPECT_EQ(pf_attach(nullptr, nullptr), PF_BAD_ARGUMENT);
  EXPECT_EQ(pf_task_attach(nullptr, nullptr), PF_BAD_ARGUMENT);

  pf_main_job* job = nullptr;
  EXPECT_EQ(pf_attach(nullptr, &job), PF_BAD_ARGUMENT);
  ASSERT_NE(job, nullptr);
  MakeAllCalls(job);
  pf_detach(job);

  const pf_task_options too_small = {};
  pf_task* task = nullptr;
  EXPECT_EQ(pf_task_attach(&too_small, &task), PF_BAD_ARGUMENT);
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(pf_task_next_unit(task, 0), 0);
  pf_task_detach(task);
}

TEST_F(AbiTest, HasATextForEveryCode) {
  for (int code = PF_OK; code <= PF_SYSTEM; ++code) {
    EXPECT_STRNE(pf_error_text(code), pf_error_text(1000));
  }
  EXPECT_STREQ(pf_error_text(-1), pf_error_text(1000));
}

TEST_F(AbiTest, SaysItsVersions) {
  EXPECT_EQ(std::string(pf_version()).find("0."), 0u);
  EXPECT_EQ(pf_page_version(), kPageVersion);
}

TEST_F(AbiTest, MainJobWithoutAgentIsDetachedAndSaysWhy) {
  MainJob job({.main_job = "gpt", .socket = "/nowhere/agentd.sock"});
  EXPECT_EQ(job.code(), PF_NO_AGENT);
  EXPECT_FALSE(job.is_attached());
  EXPECT_NE(job.error().find("/nowhere/agentd.sock"), std::string::npos);
  Iteration iteration(job, 1);
  Bubble bubble(job, PF_BUBBLE_HEAD, 0);
}

TEST_F(AbiTest, LastErrorIsEmptyAfterSuccess) {
  MainJob failing({.main_job = ""});
  EXPECT_STRNE(pf_last_error(), "");
  FillTask alone;
  EXPECT_EQ(alone.code(), PF_OK);
  EXPECT_STREQ(pf_last_error(), "");
}

TEST_F(AbiTest, TaskWithoutAgentRunsAlone) {
  FillTask task;
  EXPECT_FALSE(task.is_gated());
  EXPECT_FALSE(task.is_refused());
  int units = 0;
  while (units < 10 && task.NextUnit()) ++units;
  task.EndUnit();
  EXPECT_EQ(task.stats().units, 10u);
}

TEST_F(AbiTest, ElasticUnitsAloneAreAsLargeAsTheyMay) {
  FillTask task;
  EXPECT_EQ(task.NextElastic(3, 8), 8u);
  EXPECT_EQ(task.NextElastic(0, 0), 1u);
  EXPECT_EQ(task.NextElastic(5, 2), 5u);
  EXPECT_EQ(task.NextElastic(1, UINT32_MAX, 99), UINT32_MAX);
}

TEST_F(AbiTest, ElasticUnitsNeedAPlaceForTheirSize) {
  pf_task_options options = {};
  options.size_bytes = sizeof(options);
  pf_task* task = nullptr;
  ASSERT_EQ(pf_task_attach(&options, &task), PF_OK);
  EXPECT_EQ(pf_task_next_elastic(task, 0, 1, 2, nullptr), 0);
  pf_task_detach(task);
}

TEST_F(AbiTest, TaskThatIsProfiledWritesItsUnitsAndTriesAllSizes) {
  const std::string folder = testing::TempDir();
  setenv("PIPEFILL_PROFILE", folder.c_str(), 1);
  std::vector<uint32_t> sizes;
  {
    FillTask task;
    unsetenv("PIPEFILL_PROFILE");
    for (int i = 0; i < 5; ++i) task.NextUnit(3);
    for (int i = 0; i < 4; ++i) sizes.push_back(task.NextElastic(1, 4, 2));
  }
  EXPECT_EQ(sizes, (std::vector<uint32_t>{1, 2, 4, 1}));
  std::ifstream file(folder + "/units." + std::to_string(getpid()));
  std::stringstream text;
  text << file.rdbuf();
  for (const char* part : {"label=3 size=0 count=4 ", "label=2 size=1 count=1 ",
                           "label=2 size=2 count=1 ", "label=2 size=4 count=1 "}) {
    EXPECT_NE(text.str().find(part), std::string::npos) << part << text.str();
  }
}

TEST_F(AbiTest, ConfigIsThatOfTheEnvironmentAndStaysThat) {
  setenv("PIPEFILL_CONFIG", R"({"name":"b8","batch_size":8})", 1);
  EXPECT_EQ(TaskConfig(), R"({"name":"b8","batch_size":8})");
  unsetenv("PIPEFILL_CONFIG");
  EXPECT_STREQ(pf_task_config(), R"({"name":"b8","batch_size":8})");
  EXPECT_EQ(TaskBatchSize(1), 8u);
}

class AbiWithAgentTest : public AbiTest {
 protected:
  AbiWithAgentTest() {
    setenv("PIPEFILL_SOCKET", agent_.socket().c_str(), 1);
    agent_.window->heartbeat_ns.store(sdk::SystemClock().NowNs());
  }

  FakeAgent agent_;
};

TEST_F(AbiWithAgentTest, MainJobReportsThroughItsScopes) {
  MainJob job({.main_job = "gpt", .rank = 0, .ranks = 2, .stage = 0, .stages = 2});
  ASSERT_EQ(job.code(), PF_OK) << job.error();
  EXPECT_TRUE(job.is_attached());
  {
    Iteration iteration(job, 7);
    Bubble bubble(job, PF_BUBBLE_MIDDLE, 1);
    EXPECT_TRUE(ReadSignal(*agent_.signal).is_open());
  }
  EXPECT_FALSE(ReadSignal(*agent_.signal).is_open());
  EXPECT_EQ(agent_.signal->events.written.load(), 4u);
  EXPECT_EQ(agent_.signal->calls_misplaced.load(), 0u);
}

TEST_F(AbiWithAgentTest, MainJobReportsChunksThroughItsScopes) {
  MainJob job({.main_job = "gpt"});
  Iteration iteration(job, 7);
  { Chunk chunk(job, PF_CHUNK_FORWARD); }
  EXPECT_TRUE(ReadSignal(*agent_.signal).is_open());
  { Chunk chunk(job, PF_CHUNK_BACKWARD); }
  EXPECT_EQ(agent_.signal->calls_misplaced.load(), 0u);
}

TEST_F(AbiWithAgentTest, MainJobGoesOnWhenTheAgentIsKilledInTheMiddle) {
  MainJob job({.main_job = "gpt"});
  Iteration iteration(job, 1);
  Bubble bubble(job, PF_BUBBLE_HEAD, 0);
  agent_.Kill();
  for (uint64_t i = 2; i < 1000; ++i) {
    job.BeginIteration(i);
    job.BeginBubble(PF_BUBBLE_HEAD, 0);
    job.EndBubble();
    job.EndIteration();
  }
  agent_.window->heartbeat_ns.store(sdk::SystemClock().NowNs() - 2 * kHeartbeatStaleNs);
  EXPECT_FALSE(job.is_attached());
}

TEST_F(AbiWithAgentTest, MainJobOfAnotherVersionRunsWithoutPipefill) {
  agent_.shared().page_version.store(kPageVersion + 1);
  MainJob job({.main_job = "gpt"});
  EXPECT_EQ(job.code(), PF_BAD_VERSION);
  EXPECT_FALSE(job.is_attached());
  job.BeginIteration(1);
}

TEST_F(AbiWithAgentTest, MainJobAttachesWithinItsBoundEvenIfNobodyAnswers) {
  agent_.shared().manner.store(static_cast<uint32_t>(FakeAgent::Manner::kSilent));
  const uint64_t begin_ns = sdk::SystemClock().NowNs();
  MainJob job({.main_job = "gpt"});
  EXPECT_EQ(job.code(), PF_NO_AGENT);
  EXPECT_GE(sdk::SystemClock().NowNs() - begin_ns, 200'000'000u);
}

class TaskWithAgentTest : public AbiWithAgentTest {
 protected:
  TaskWithAgentTest() {
    setenv("PIPEFILL_JOB", "5", 1);
    setenv("PIPEFILL_ATTEMPT", "1", 1);
    setenv("PIPEFILL_FENCE", "3", 1);
    agent_.shared().has_signal.store(1);
    agent_.window->signal_generation.store(1);
    sdk::OfferBubble(agent_.window.get(), kSlot, 100'000'000, int64_t{1} << 60);
    agent_.window->heartbeat_ns.store(sdk::SystemClock().NowNs() + 600'000'000'000);
    agent_.signal->slot.store(kSlot);
    agent_.signal->begin_ns.store(sdk::SystemClock().NowNs());
    agent_.signal->seq.store(1);
  }
};

TEST_F(TaskWithAgentTest, RunsUnitsInAnOpenBubbleUntilItIsToldToStop) {
  FillTask task;
  ASSERT_EQ(task.code(), PF_OK) << task.error();
  EXPECT_TRUE(task.is_gated());
  int units = 0;
  while (task.NextUnit()) {
    if (++units == 3) agent_.SendStop();
  }
  EXPECT_EQ(units, 3);
  EXPECT_EQ(agent_.task->units_done.load(), 3u);
}

TEST_F(TaskWithAgentTest, RunsElasticUnitsFromTheSmallestUpUntilItIsToldToStop) {
  FillTask task;
  EXPECT_EQ(task.NextElastic(1, 64), 1u);
  EXPECT_GE(task.NextElastic(1, 64), 1u);
  agent_.SendStop();
  EXPECT_EQ(task.NextElastic(1, 64), 0u);
  EXPECT_EQ(agent_.task->units_done.load(), 2u);
}

TEST_F(TaskWithAgentTest, WaitsAsLongAsItIsToldForABubble) {
  agent_.signal->seq.store(2);
  pf_task_options options = {};
  options.size_bytes = sizeof(options);
  pf_task* task = nullptr;
  ASSERT_EQ(pf_task_attach(&options, &task), PF_OK);
  EXPECT_EQ(pf_task_wait_unit(task, 0, 2'000'000), 2);
  agent_.signal->seq.store(3);
  EXPECT_EQ(pf_task_wait_unit(task, 0, 2'000'000), 1);
  pf_task_detach(task);
  EXPECT_EQ(agent_.task->state.load(), static_cast<uint32_t>(TaskState::kDone));
}

TEST_F(TaskWithAgentTest, RefusedTaskStartsNothing) {
  agent_.shared().code.store(static_cast<uint32_t>(AttachCode::kUnknown));
  FillTask task;
  EXPECT_EQ(task.code(), PF_REFUSED);
  EXPECT_TRUE(task.is_refused());
  EXPECT_FALSE(task.NextUnit());
}

}  // namespace
}  // namespace pipefill
