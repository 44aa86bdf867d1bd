#include "scheduler/service/content_relay.h"

#include <gtest/gtest.h>

#include <vector>

namespace pipefill::scheduler {
namespace {

class ContentRelayTest : public testing::Test {
 protected:
  absl::StatusOr<int64_t> Ask(uint64_t session) {
    return relay_.Ask(SessionId(session), [this](absl::StatusOr<v1::ReadContentResponse> content) {
      answers_.push_back(content.status());
    });
  }

  ContentRelay relay_{2};
  std::vector<absl::Status> answers_;
};

TEST_F(ContentRelayTest, QuestionIsAnsweredOnce) {
  const auto request = Ask(1);
  ASSERT_TRUE(request.ok());
  relay_.FinishFrom(SessionId(1), *request, v1::ReadContentResponse());
  relay_.Finish(*request, absl::DeadlineExceededError("late"));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_TRUE(answers_[0].ok());
}

TEST_F(ContentRelayTest, AgentCannotAnswerForAnother) {
  const auto request = Ask(1);
  relay_.FinishFrom(SessionId(2), *request, v1::ReadContentResponse());
  EXPECT_TRUE(answers_.empty());
}

TEST_F(ContentRelayTest, EndOfStreamAnswersItsQuestionsOnly) {
  ASSERT_TRUE(Ask(1).ok());
  ASSERT_TRUE(Ask(2).ok());
  relay_.EndSession(SessionId(1));
  ASSERT_EQ(answers_.size(), 1U);
  EXPECT_EQ(answers_[0].code(), absl::StatusCode::kUnavailable);
}

TEST_F(ContentRelayTest, RefusesBeyondItsLimitUntilOneIsAnswered) {
  const auto first = Ask(1);
  ASSERT_TRUE(Ask(1).ok());
  EXPECT_EQ(Ask(1).status().code(), absl::StatusCode::kResourceExhausted);
  relay_.Finish(*first, v1::ReadContentResponse());
  EXPECT_TRUE(Ask(1).ok());
}

}  // namespace
}  // namespace pipefill::scheduler
