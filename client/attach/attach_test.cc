// Attaching to an agentd in another process, and to everything that is none.
#include "client/attach/attach.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>

#include "client/pages/signal_page.h"
#include "client/pages/window_page.h"
#include "client/testing/fake_agent.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kShortNs = 50'000'000;
constexpr uint64_t kLongNs = 20'000'000'000;

class AttachTest : public testing::Test {
 protected:
  Error AttachAsRank(uint64_t timeout_ns = kLongNs) {
    return AttachRank({}, {.socket = agent_.socket(), .timeout_ns = timeout_ns}, clock_, &rank_);
  }
  Error AttachAsTask() {
    return AttachTask({}, {.socket = agent_.socket(), .timeout_ns = kLongNs}, clock_, &task_);
  }
  void AnswerWith(FakeAgent::Manner manner) {
    agent_.shared().manner.store(static_cast<uint32_t>(manner));
  }

  FakeAgent agent_;
  SystemClock clock_;
  RankPages rank_;
  TaskPages task_;
};

TEST_F(AttachTest, RankGetsItsPagesAndConfirmsThatItMappedThem) {
  ASSERT_TRUE(AttachAsRank().ok());
  FakeAgent::Await(agent_.shared().mapped, 1);

  rank_.signal.As<SignalPage>()->seq.store(9);
  EXPECT_EQ(agent_.signal->seq.load(), 9u);
  agent_.window->gates.store(3);
  EXPECT_EQ(rank_.window.As<const WindowPage>()->gates.load(), 3u);
}

TEST_F(AttachTest, RequestCarriesMagicTypeVersionAndSize) {
  ASSERT_TRUE(AttachAsRank().ok());
  const MessageHeader header = agent_.shared().rank_request.header;
  EXPECT_EQ(header.magic, kHandshakeMagic);
  EXPECT_EQ(header.type, static_cast<uint32_t>(MessageType::kAttachRank));
  EXPECT_EQ(header.page_version, kPageVersion);
  EXPECT_EQ(header.size_bytes, sizeof(AttachRankRequest));
}

TEST_F(AttachTest, TaskGetsASignalPageOnlyWhileARankIsAttached) {
  ASSERT_TRUE(AttachAsTask().ok());
  EXPECT_EQ(task_.signal.As<const SignalPage>(), nullptr);
  EXPECT_EQ(task_.signal_generation, 0u);

  task_ = TaskPages();
  agent_.shared().has_signal.store(1);
  agent_.window->signal_generation.store(4);
  ASSERT_TRUE(AttachAsTask().ok());
  EXPECT_NE(task_.signal.As<const SignalPage>(), nullptr);
  EXPECT_EQ(task_.signal_generation, 4u);
}

TEST_F(AttachTest, ConnectionIsCloseOnExec) {
  ASSERT_TRUE(AttachAsRank().ok());
  int open = 0;
  for (int descriptor = 3; descriptor < 200; ++descriptor) {
    sockaddr_un peer = {};
    socklen_t size = sizeof(peer);
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    if (agent_.socket() != peer.sun_path) continue;
    ++open;
    EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_EQ(open, 1);
}

TEST_F(AttachTest, ReportsAgentsRefusalInItsOwnWords) {
  for (const AttachCode code :
       {AttachCode::kInvalid, AttachCode::kNoDevice, AttachCode::kBusy, AttachCode::kUnknown}) {
    agent_.shared().code.store(static_cast<uint32_t>(code));
    const Error error = AttachAsTask();
    EXPECT_EQ(error.code, PF_REFUSED);
    EXPECT_EQ(error.text, "told so by the test");
  }
}

TEST_F(AttachTest, ReportsAnotherVersionWhicheverSideNoticesIt) {
  agent_.shared().code.store(static_cast<uint32_t>(AttachCode::kVersion));
  EXPECT_EQ(AttachAsRank().code, PF_BAD_VERSION);

  agent_.shared().code.store(0);
  agent_.shared().page_version.store(kPageVersion + 1);
  const std::string versions =
      "agentd=" + std::to_string(kPageVersion + 1) + " sdk=" + std::to_string(kPageVersion);
  const Error error = AttachAsRank();
  EXPECT_EQ(error.code, PF_BAD_VERSION);
  EXPECT_NE(error.text.find(versions), std::string::npos) << error.text;
}

TEST_F(AttachTest, GivesUpOnAnAgentThatDoesNotAnswer) {
  AnswerWith(FakeAgent::Manner::kSilent);
  const uint64_t begin_ns = clock_.NowNs();
  EXPECT_EQ(AttachAsRank(kShortNs).code, PF_NO_AGENT);
  EXPECT_GE(clock_.NowNs() - begin_ns, kShortNs);
}

TEST_F(AttachTest, ReportsAnAgentThatHangsUpAsNone) {
  AnswerWith(FakeAgent::Manner::kHangUp);
  EXPECT_EQ(AttachAsRank().code, PF_NO_AGENT);
}

TEST_F(AttachTest, RefusesAnswersThatMakeNoSense) {
  AnswerWith(FakeAgent::Manner::kGarbage);
  EXPECT_EQ(AttachAsRank().code, PF_SYSTEM);
  AnswerWith(FakeAgent::Manner::kTooFewPages);
  EXPECT_EQ(AttachAsRank().code, PF_SYSTEM);
  EXPECT_EQ(rank_.signal.As<void>(), nullptr);
}

TEST_F(AttachTest, ReportsADeadAgentAsNone) {
  agent_.Kill();
  EXPECT_EQ(AttachAsRank().code, PF_NO_AGENT);
}

TEST(AttachWithoutAgentTest, ReportsAMissingSocketAsNoAgentAndAnImpossibleOneAsBadArgument) {
  SystemClock clock;
  RankPages pages;
  const Error missing =
      AttachRank({}, {.socket = "/nowhere/at/all", .timeout_ns = kLongNs}, clock, &pages);
  EXPECT_EQ(missing.code, PF_NO_AGENT);
  EXPECT_NE(missing.text.find("socket=/nowhere/at/all"), std::string::npos);

  const std::string path(200, 'x');
  EXPECT_EQ(AttachRank({}, {.socket = path, .timeout_ns = kLongNs}, clock, &pages).code,
            PF_BAD_ARGUMENT);
}

// A listener that never accepts: once its queue is full, connecting would wait for ever.
TEST(AttachWithoutAgentTest, GivesUpConnectingWhenTheQueueOfTheListenerStaysFull) {
  const std::string path = testing::TempDir() + "full.sock";
  unlink(path.c_str());
  Descriptor listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) GTEST_SKIP() << "temporary folder too deep";
  memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(listen(listener.get(), 0), 0);
  SystemClock clock;
  Connection waiting;
  ASSERT_TRUE(Connection::Connect(path, clock.NowNs() + kLongNs, clock, &waiting).ok());

  const uint64_t begin_ns = clock.NowNs();
  Connection late;
  EXPECT_EQ(Connection::Connect(path, begin_ns + kShortNs, clock, &late).code, PF_NO_AGENT);
  EXPECT_GE(clock.NowNs() - begin_ns, kShortNs / 2);
  unlink(path.c_str());
}

}  // namespace
}  // namespace pipefill::sdk
