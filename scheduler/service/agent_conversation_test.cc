#include "scheduler/service/agent_conversation.h"

#include <gtest/gtest.h>

namespace pipefill::scheduler {
namespace {

v1::AgentMessage Hello(int64_t sent_ns) {
  v1::AgentMessage message;
  message.mutable_hello()->set_node("node");
  message.mutable_hello()->set_boot_id("boot");
  message.set_sent_ns(sent_ns);
  return message;
}

v1::AgentMessage Report(int64_t sent_ns) {
  v1::AgentMessage message;
  message.mutable_report();
  message.set_sent_ns(sent_ns);
  return message;
}

TEST(AgentConversationTest, HelloCountsAsHeardAtOnceAndAReportOnceItIsDealtWith) {
  AgentConversation conversation(SessionId(1));
  EXPECT_FALSE(conversation.has_hello());
  ASSERT_TRUE(conversation.Take(Hello(5)).ok());
  EXPECT_TRUE(conversation.has_hello());
  EXPECT_EQ(conversation.heard_sent_ns(), 5);
  ASSERT_TRUE(conversation.Take(Report(9)).ok());
  EXPECT_EQ(conversation.heard_sent_ns(), 5);
  conversation.OnDealtWith();
  EXPECT_EQ(conversation.heard_sent_ns(), 9);
}

TEST(AgentConversationTest, OtherWordsAreNotHeardAsReports) {
  AgentConversation conversation(SessionId(1));
  ASSERT_TRUE(conversation.Take(Hello(5)).ok());
  v1::AgentMessage started;
  started.mutable_attempt_started()->mutable_key()->set_job_id(3);
  started.set_sent_ns(7);
  const auto said = conversation.Take(started);
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(std::get<AttemptStarted>(*said).attempt.job, JobId(3));
  conversation.OnDealtWith();
  EXPECT_EQ(conversation.heard_sent_ns(), 5);
}

TEST(AgentConversationTest, RefusesWhatComesInTheWrongOrder) {
  AgentConversation conversation(SessionId(1));
  EXPECT_EQ(conversation.Take(Report(1)).status().message(), "the first message is no hello");
  ASSERT_TRUE(conversation.Take(Hello(5)).ok());
  EXPECT_EQ(conversation.Take(Hello(6)).status().message(),
            "a second hello on one stream; dial again instead");
  EXPECT_FALSE(conversation.Take({}).ok());
}

}  // namespace
}  // namespace pipefill::scheduler
