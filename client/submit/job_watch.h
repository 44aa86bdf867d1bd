// A watch of jobs that outlasts the streams it is made of: when one breaks, it goes on from where
// it was, with jittered pauses. What schedulerd tells is handed on as it comes, resets included
// (proto/watch.proto).
//
// Thread-compatible: one call at a time.
#ifndef CLIENT_SUBMIT_JOB_WATCH_H_
#define CLIENT_SUBMIT_JOB_WATCH_H_

#include <functional>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/submit/scheduler_client.h"
#include "common/clock.h"
#include "proto/watch.pb.h"

namespace pipefill {

struct JobWatchOptions {
  // For all of it; absent = as long as it takes.
  std::optional<absl::Duration> timeout = std::nullopt;
  // How long schedulerd may be away before it has answered for the first time, and after.
  absl::Duration first_answer_max = absl::Seconds(10);
  absl::Duration away_max = absl::Minutes(5);
  absl::Duration back_off_min = absl::Milliseconds(100);
  absl::Duration back_off_max = absl::Seconds(5);
};

struct JobWatchDependencies {
  // One stream: WatchJobs of a SchedulerClient.
  std::function<absl::Status(const v1::WatchJobsRequest&, absl::Duration timeout,
                             const SchedulerClient::WatchVisitor&)>
      watch_once;
  const Clock& clock;
  // Returns after about that long.
  std::function<void(absl::Duration)> pause;
  // In [0, 1).
  std::function<double()> random;
  // Told when a stream has broken and another is tried, once until there is an answer again. May be
  // empty.
  std::function<void(const absl::Status&)> on_away = nullptr;
};

// Watches until `take` returns false: OK. DeadlineExceeded: the timeout is over. Unavailable, or
// ResourceExhausted: schedulerd stays away, or refuses it for too long. All else is as schedulerd
// sent it.
absl::Status WatchJobs(const JobWatchDependencies& dependencies, const JobWatchOptions& options,
                       v1::WatchJobsRequest request, const SchedulerClient::WatchVisitor& take);

}  // namespace pipefill

#endif  // CLIENT_SUBMIT_JOB_WATCH_H_
