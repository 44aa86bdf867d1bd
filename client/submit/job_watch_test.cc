#include "client/submit/job_watch.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/retry_after.h"
#include "common/virtual_time.h"

namespace pipefill {
namespace {

v1::WatchJobsResponse AtCursor(const std::string& cursor) {
  v1::WatchJobsResponse response;
  response.set_cursor(cursor);
  return response;
}

// Schedulerd gives one stream after the other, of messages and an end; then it is away.
class JobWatchTest : public ::testing::Test {
 protected:
  struct Stream {
    std::vector<v1::WatchJobsResponse> messages;
    absl::Status end;
  };

  // Until `messages` have come.
  absl::Status Watch(size_t messages) {
    const JobWatchDependencies dependencies = {
        .watch_once =
            [this](const v1::WatchJobsRequest& request, absl::Duration timeout,
                   const SchedulerClient::WatchVisitor& take) {
              return RunStream(request, timeout, take);
            },
        .clock = time_,
        .pause =
            [this](absl::Duration pause) {
              pauses_.push_back(pause);
              time_.AdvanceBy(pause);
            },
        .random = [] { return 0.0; },
        .on_away = [this](const absl::Status&) { ++told_away_; },
    };
    return WatchJobs(dependencies, options_, v1::WatchJobsRequest(),
                     [this, messages](const v1::WatchJobsResponse& response) {
                       taken_.push_back(response.cursor());
                       return taken_.size() < messages;
                     });
  }

  absl::Status RunStream(const v1::WatchJobsRequest& request, absl::Duration timeout,
                         const SchedulerClient::WatchVisitor& take) {
    asked_.push_back(request.cursor());
    timeouts_.push_back(timeout);
    if (asked_.size() > streams_.size()) return absl::UnavailableError("away");
    const Stream& stream = streams_[asked_.size() - 1];
    for (const v1::WatchJobsResponse& message : stream.messages) {
      if (!take(message)) return absl::OkStatus();
    }
    return stream.end;
  }

  VirtualTime time_;
  JobWatchOptions options_;
  std::vector<Stream> streams_;
  std::vector<std::string> asked_;
  std::vector<absl::Duration> timeouts_;
  std::vector<std::string> taken_;
  std::vector<absl::Duration> pauses_;
  int told_away_ = 0;
};

TEST_F(JobWatchTest, GoesOnFromTheLastCursorThatItGot) {
  streams_ = {
      {{AtCursor("b.f.1"), AtCursor("b.f.2"), AtCursor("")}, absl::UnavailableError("gone")},
      {{AtCursor("b.f.3")}, absl::CancelledError("stopped")},
      {{AtCursor("b.f.4")}, absl::OkStatus()}};

  ASSERT_TRUE(Watch(5).ok());

  EXPECT_EQ(asked_, (std::vector<std::string>{"", "b.f.2", "b.f.3"}));
  EXPECT_EQ(taken_, (std::vector<std::string>{"b.f.1", "b.f.2", "", "b.f.3", "b.f.4"}));
  EXPECT_EQ(told_away_, 2);
}

TEST_F(JobWatchTest, PausesGrowUntilThereIsAnAnswer) {
  const Stream away = {{}, absl::UnavailableError("away")};
  streams_ = {away, away,
              away, {{AtCursor("b.f.1")}, absl::UnavailableError("gone")},
              away, {{AtCursor("b.f.2")}, absl::OkStatus()}};

  ASSERT_TRUE(Watch(2).ok());

  EXPECT_EQ(pauses_, (std::vector<absl::Duration>{absl::Milliseconds(100), absl::Milliseconds(200),
                                                  absl::Milliseconds(400), absl::Milliseconds(100),
                                                  absl::Milliseconds(200)}));
}

TEST_F(JobWatchTest, PausesAsLongAsItIsAdvised) {
  streams_ = {{{}, WithRetryAfter(absl::ResourceExhaustedError("watchers_max"), absl::Seconds(2))},
              {{AtCursor("b.f.1")}, absl::OkStatus()}};

  ASSERT_TRUE(Watch(1).ok());

  EXPECT_EQ(pauses_, std::vector<absl::Duration>{absl::Seconds(2)});
}

TEST_F(JobWatchTest, GivesUpSoonWithoutAFirstAnswerAndLaterAfterOne) {
  const Instant first = time_.Now();
  EXPECT_TRUE(absl::IsUnavailable(Watch(1)));
  EXPECT_LE(time_.Now() - first, absl::Seconds(10));

  const Instant start = time_.Now();
  asked_.clear();
  streams_ = {{{AtCursor("b.f.1")}, absl::UnavailableError("gone")}};
  EXPECT_TRUE(absl::IsUnavailable(Watch(9)));
  EXPECT_GT(time_.Now() - start, absl::Minutes(4));
  EXPECT_LE(time_.Now() - start, absl::Minutes(5));
}

TEST_F(JobWatchTest, OtherErrorsEndIt) {
  streams_ = {{{}, absl::InvalidArgumentError("job_ids")}};
  EXPECT_TRUE(absl::IsInvalidArgument(Watch(1)));
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(JobWatchTest, TimeoutIsForAllStreamsTogether) {
  options_.timeout = absl::Seconds(1);
  options_.first_answer_max = absl::Minutes(1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(Watch(1)));
  ASSERT_GE(timeouts_.size(), 2U);
  EXPECT_EQ(timeouts_[0], absl::Seconds(1));
  EXPECT_EQ(timeouts_[1], absl::Milliseconds(900));
}

}  // namespace
}  // namespace pipefill
