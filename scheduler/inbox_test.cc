#include "scheduler/inbox.h"

#include <gtest/gtest.h>

namespace pipefill::scheduler {
namespace {

CancelRequest Request(int64_t job) { return {JobId(job), nullptr}; }

TEST(InboxTest, FirstMessageHasToWakeTheLoop) {
  Inbox inbox(10);
  EXPECT_EQ(inbox.Push(Request(1)), Inbox::Pushed::kFirst);
  EXPECT_EQ(inbox.Push(Request(2)), Inbox::Pushed::kBehind);
  inbox.Take(10);
  EXPECT_EQ(inbox.Push(Request(3)), Inbox::Pushed::kFirst);
}

TEST(InboxTest, MessagesComeOutInOrderUpToTheLimit) {
  Inbox inbox(10);
  for (int64_t job = 1; job <= 3; ++job) inbox.Push(Request(job));
  const std::vector<Message> first = inbox.Take(2);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(std::get<CancelRequest>(first[1]).job, JobId(2));
  EXPECT_FALSE(inbox.is_empty());
  EXPECT_EQ(inbox.Take(2).size(), 1U);
  EXPECT_TRUE(inbox.is_empty());
}

TEST(InboxTest, RequestsBeyondTheLimitAreRefusedUntilSomeAreTaken) {
  Inbox inbox(2);
  inbox.Push(Request(1));
  inbox.Push(Request(2));
  EXPECT_EQ(inbox.Push(Request(3)), Inbox::Pushed::kRefused);
  inbox.Take(1);
  EXPECT_EQ(inbox.Push(Request(3)), Inbox::Pushed::kBehind);
}

TEST(InboxTest, AgentsAreNeverRefused) {
  Inbox inbox(1);
  inbox.Push(Request(1));
  EXPECT_EQ(inbox.Push(StreamEnded{SessionId(1)}), Inbox::Pushed::kBehind);
  EXPECT_EQ(inbox.Push(AgentSaid{SessionId(1), AgentReported(), nullptr}), Inbox::Pushed::kBehind);
}

TEST(InboxTest, ManyJobsInOneMessageCountAsMany) {
  const auto many = [] { return SubmitManyRequest{std::vector<NewJob>(3), nullptr}; };
  Inbox inbox(/*requests_max=*/7);
  EXPECT_EQ(inbox.Push(many()), Inbox::Pushed::kFirst);
  EXPECT_EQ(inbox.Push(many()), Inbox::Pushed::kBehind);
  EXPECT_EQ(inbox.Push(many()), Inbox::Pushed::kRefused);

  EXPECT_EQ(inbox.Take(2).size(), 1U);
  EXPECT_EQ(inbox.Push(many()), Inbox::Pushed::kBehind);
  EXPECT_EQ(inbox.Take(6).size(), 2U);
}

}  // namespace
}  // namespace pipefill::scheduler
