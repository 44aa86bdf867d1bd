#include "scheduler/service/agent_streams.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace pipefill::scheduler {
namespace {

class FakeStream : public AgentStream {
 public:
  void Write(v1::AgentCommand command) override { written_.push_back(std::move(command)); }
  void ReadNext() override { ++reads_; }
  void End(const absl::Status& status) override { ends_.push_back(status); }

  std::vector<v1::AgentCommand> written_;
  std::vector<absl::Status> ends_;
  int reads_ = 0;
};

class AgentStreamsTest : public testing::Test {
 protected:
  AgentStreams streams_{AgentTerms{}};
  FakeStream stream_;
};

TEST_F(AgentStreamsTest, SessionsAreNeverZeroAndNeverReused) {
  const SessionId first = streams_.Enter(&stream_);
  streams_.Leave(first);
  const SessionId second = streams_.Enter(&stream_);
  EXPECT_NE(first, SessionId(0));
  EXPECT_NE(first, second);
}

TEST_F(AgentStreamsTest, EverythingReachesTheStreamOfTheSession) {
  const SessionId session = streams_.Enter(&stream_);
  streams_.Send(session, KeepAgentAlive{"a"});
  EXPECT_TRUE(streams_.SendContentRequest(session, v1::ContentRequest()));
  streams_.ReadNext(session);
  streams_.Close(session, absl::AbortedError("enough"));
  ASSERT_EQ(stream_.written_.size(), 2U);
  EXPECT_TRUE(stream_.written_[0].has_keep_alive());
  EXPECT_TRUE(stream_.written_[1].has_content());
  EXPECT_EQ(stream_.reads_, 1);
  ASSERT_EQ(stream_.ends_.size(), 1U);
  EXPECT_EQ(stream_.ends_[0].message(), "enough");
}

TEST_F(AgentStreamsTest, NothingReachesStreamThatLeft) {
  const SessionId session = streams_.Enter(&stream_);
  streams_.Leave(session);
  streams_.Send(session, KeepAgentAlive{"a"});
  EXPECT_FALSE(streams_.SendContentRequest(session, v1::ContentRequest()));
  streams_.ReadNext(session);
  streams_.Close(session, absl::OkStatus());
  EXPECT_TRUE(stream_.written_.empty());
  EXPECT_TRUE(stream_.ends_.empty());
  EXPECT_EQ(stream_.reads_, 0);
}

}  // namespace
}  // namespace pipefill::scheduler
