#include "client/submit/job_watch.h"

#include <algorithm>
#include <utility>

#include "common/instant.h"
#include "common/retry_after.h"

namespace pipefill {
namespace {

// A server that ends its calls as it stops may say that they were cancelled.
bool MayComeBack(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsCancelled(status) ||
         RetryAfterOf(status).has_value();
}

class JobWatch {
 public:
  JobWatch(const JobWatchDependencies& dependencies, const JobWatchOptions& options,
           v1::WatchJobsRequest request, const SchedulerClient::WatchVisitor& take)
      : dependencies_(dependencies),
        options_(options),
        request_(std::move(request)),
        take_(take),
        start_(dependencies.clock.Now()),
        heard_at_(start_) {}

  absl::Status Run() {
    while (true) {
      const absl::Status status = dependencies_.watch_once(
          request_, TimeLeft(),
          [this](const v1::WatchJobsResponse& response) { return Take(response); });
      if (is_done_ || !MayComeBack(status)) return status;
      const absl::Duration pause = NextPause(status);
      const absl::Duration away_max = was_answered_ ? options_.away_max : options_.first_answer_max;
      const Instant next = dependencies_.clock.Now() + pause;
      if (next - heard_at_ > away_max) return status;
      if (pause >= TimeLeft()) return absl::DeadlineExceededError("the time to watch is over");
      if (tries_ == 1 && dependencies_.on_away) dependencies_.on_away(status);
      dependencies_.pause(pause);
    }
  }

 private:
  bool Take(const v1::WatchJobsResponse& response) {
    heard_at_ = dependencies_.clock.Now();
    was_answered_ = true;
    tries_ = 0;
    if (!response.cursor().empty()) request_.set_cursor(response.cursor());
    is_done_ = !take_(response);
    return !is_done_;
  }

  absl::Duration TimeLeft() const {
    if (!options_.timeout.has_value()) return absl::InfiniteDuration();
    return *options_.timeout - (dependencies_.clock.Now() - start_);
  }

  absl::Duration NextPause(const absl::Status& status) {
    ++tries_;
    absl::Duration pause = options_.back_off_min;
    for (int i = 1; i < tries_ && pause < options_.back_off_max; ++i) pause *= 2;
    pause = std::min(pause, options_.back_off_max);
    pause = std::max(pause, RetryAfterOf(status).value_or(absl::ZeroDuration()));
    // Later by up to half: schedulerd has many watchers.
    return pause * (1.0 + dependencies_.random() / 2);
  }

  const JobWatchDependencies& dependencies_;
  const JobWatchOptions& options_;
  v1::WatchJobsRequest request_;
  const SchedulerClient::WatchVisitor& take_;
  const Instant start_;
  Instant heard_at_;
  bool was_answered_ = false;
  bool is_done_ = false;
  int tries_ = 0;  // since the last answer
};

}  // namespace

absl::Status WatchJobs(const JobWatchDependencies& dependencies, const JobWatchOptions& options,
                       v1::WatchJobsRequest request, const SchedulerClient::WatchVisitor& take) {
  return JobWatch(dependencies, options, std::move(request), take).Run();
}

}  // namespace pipefill
