#include "agent/scheduler_contact.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

Instant AtMs(int64_t ms) { return Instant::FromNs(ms * 1'000'000); }

TEST(SchedulerContactTest, SilentUntilTheFirstWelcome) {
  SchedulerContact contact({});
  EXPECT_TRUE(contact.is_silent(AtMs(0)));
  EXPECT_FALSE(contact.is_fading(AtMs(0)));
  contact.OnMessage(AtMs(1), AtMs(1));
  EXPECT_TRUE(contact.is_silent(AtMs(1)));
  contact.OnWelcome(absl::Seconds(10), AtMs(2), AtMs(2));
  EXPECT_FALSE(contact.is_silent(AtMs(2)));
}

TEST(SchedulerContactTest, SilentAgainWhenNothingCameForALease) {
  SchedulerContact contact({});
  contact.OnWelcome(absl::Seconds(10), AtMs(0), AtMs(0));
  contact.OnMessage(AtMs(4'000), AtMs(4'000));
  EXPECT_FALSE(contact.is_silent(AtMs(14'000)));
  EXPECT_TRUE(contact.is_fading(AtMs(14'000)));
  EXPECT_TRUE(contact.is_silent(AtMs(14'001)));
  contact.OnMessage(AtMs(20'000), AtMs(20'000));
  EXPECT_FALSE(contact.is_silent(AtMs(20'000)));
}

TEST(SchedulerContactTest, LeaseCountsFromWhatWasHeardAndNotFromTheAnswer) {
  SchedulerContact contact({});
  contact.OnWelcome(absl::Seconds(10), AtMs(0), AtMs(3'000));
  EXPECT_FALSE(contact.is_silent(AtMs(10'000)));
  EXPECT_TRUE(contact.is_silent(AtMs(10'001)));
  // Said before schedulerd gave the node up, and held up on its way.
  contact.OnMessage(AtMs(4'000), AtMs(20'000));
  EXPECT_TRUE(contact.is_silent(AtMs(20'000)));
  contact.OnMessage(AtMs(19'000), AtMs(20'001));
  EXPECT_FALSE(contact.is_silent(AtMs(29'000)));
  EXPECT_TRUE(contact.is_silent(AtMs(29'001)));
}

TEST(SchedulerContactTest, OlderOrImpossibleConfirmationChangesNothing) {
  SchedulerContact contact({});
  contact.OnWelcome(absl::Seconds(10), AtMs(5'000), AtMs(5'000));
  contact.OnMessage(AtMs(1'000), AtMs(5'001));
  EXPECT_FALSE(contact.is_silent(AtMs(15'000)));
  contact.OnMessage(AtMs(90'000), AtMs(6'000));
  EXPECT_FALSE(contact.is_silent(AtMs(16'000)));
  EXPECT_TRUE(contact.is_silent(AtMs(16'001)));
}

TEST(SchedulerContactTest, FadesWithoutConfirmationsToo) {
  SchedulerContact contact({});
  contact.OnWelcome(absl::Seconds(10), AtMs(0), AtMs(0));
  contact.OnMessage(AtMs(0), AtMs(5'000));
  EXPECT_FALSE(contact.is_fading(AtMs(7'500)));
  EXPECT_TRUE(contact.is_fading(AtMs(7'501)));
}

TEST(SchedulerContactTest, LeaseThatMakesNoSenseIsBroughtIntoRange) {
  SchedulerContact contact({});
  contact.OnWelcome(absl::Nanoseconds(-5), AtMs(0), AtMs(0));
  EXPECT_FALSE(contact.is_silent(AtMs(100)));
  EXPECT_TRUE(contact.is_silent(AtMs(101)));
}

TEST(SchedulerContactTest, BackoffDoublesUpToItsLimitAndStartsAnewAfterAWelcome) {
  SchedulerContact contact(
      {.backoff_min = absl::Milliseconds(100), .backoff_max = absl::Milliseconds(350)});
  EXPECT_EQ(contact.NextBackoff(0.0), absl::Milliseconds(50));
  EXPECT_EQ(contact.NextBackoff(0.0), absl::Milliseconds(100));
  EXPECT_EQ(contact.NextBackoff(0.0), absl::Milliseconds(175));
  EXPECT_EQ(contact.NextBackoff(0.0), absl::Milliseconds(175));
  contact.OnWelcome(absl::Seconds(1), AtMs(0), AtMs(0));
  EXPECT_EQ(contact.NextBackoff(0.0), absl::Milliseconds(50));
}

TEST(SchedulerContactTest, JitterSpreadsOverTheUpperHalf) {
  SchedulerContact contact({});
  EXPECT_EQ(contact.NextBackoff(0.5), absl::Milliseconds(75));
  EXPECT_EQ(contact.NextBackoff(0.0), absl::Milliseconds(100));
}

}  // namespace
}  // namespace pipefill
