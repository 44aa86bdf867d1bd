#include "agent/end_reports.h"

#include <gtest/gtest.h>

#include "agent/convert.h"

namespace pipefill {
namespace {

AttemptKey KeyOf(int64_t job) {
  return {.job = JobId(job), .attempt = AttemptNumber(1), .fence = Fence(10)};
}

EndReport EndOf(int64_t job, int exit_code = 0) {
  return {.ended = ToProto(KeyOf(job), {.cause = EndCause::kExited, .exit_code = exit_code}, {})};
}

TEST(EndReportsTest, KeepsAnEndUntilItIsAcknowledged) {
  EndReports ends(10);
  ends.Add(EndOf(1));
  ends.Add(EndOf(2));
  ends.Acknowledge(KeyOf(1));
  ends.Acknowledge(KeyOf(99));
  EXPECT_EQ(ends.Find(KeyOf(1)), nullptr);
  ASSERT_NE(ends.Find(KeyOf(2)), nullptr);
  EXPECT_EQ(ends.waiting().size(), 1u);
}

TEST(EndReportsTest, MayBeToldOnceItIsKept) {
  EndReports ends(10);
  ends.Add(EndOf(1));
  ends.Add(EndOf(2));
  ends.SetKept(KeyOf(2));
  ends.SetKept(KeyOf(99));
  EXPECT_FALSE(ends.Find(KeyOf(1))->is_kept);
  EXPECT_TRUE(ends.Find(KeyOf(2))->is_kept);
}

TEST(EndReportsTest, KeepsOneEndPerAttempt) {
  EndReports ends(10);
  ends.Add(EndOf(1, 3));
  ends.Add(EndOf(1, 4));
  EXPECT_EQ(ends.waiting().size(), 1u);
  EXPECT_EQ(ends.Find(KeyOf(1))->ended.exit_code(), 4);
}

TEST(EndReportsTest, ForgetsTheOldestBeyondTheLimitAndSaysWhich) {
  EndReports ends(2);
  EXPECT_FALSE(ends.Add(EndOf(1)).has_value());
  EXPECT_FALSE(ends.Add(EndOf(2)).has_value());
  const std::optional<v1::AttemptEnded> forgotten = ends.Add(EndOf(3));
  ASSERT_TRUE(forgotten.has_value());
  EXPECT_EQ(forgotten->key().job_id(), 1);
  EXPECT_EQ(ends.waiting().front().ended.key().job_id(), 2);
}

TEST(EndReportsTest, AnotherFenceIsAnotherAttempt) {
  EndReports ends(10);
  ends.Add(EndOf(1));
  AttemptKey other = KeyOf(1);
  other.fence = Fence(11);
  EXPECT_EQ(ends.Find(other), nullptr);
  ends.Acknowledge(other);
  EXPECT_NE(ends.Find(KeyOf(1)), nullptr);
}

}  // namespace
}  // namespace pipefill
