// The way from a tool to schedulerd: one blocking method per call of SchedulerService.
//
// Every call has a deadline. UNAVAILABLE, and a refusal that comes with advice when to try again
// (common/retry_after.h), and nothing else, is tried again with jittered back-off until that
// deadline; a submission is therefore only safe to send with a key, and SubmitJob makes
// one up if it has none. Errors carry the code and the text that schedulerd sent; transport errors
// are put into our own words and name the address that was tried.
//
// The interface is abstract so that commands can be tested without a network.
//
// Thread-compatible: one call at a time.
#ifndef CLIENT_SUBMIT_SCHEDULER_CLIENT_H_
#define CLIENT_SUBMIT_SCHEDULER_CLIENT_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "proto/scheduler.pb.h"
#include "proto/types.pb.h"

namespace pipefill {

class SchedulerClient {
 public:
  virtual ~SchedulerClient() = default;

  // InvalidArgument names the bad field; AlreadyExists: the key was used with another spec;
  // ResourceExhausted names the limit. Unavailable and DeadlineExceeded: the result is unknown, and
  // sending the same key again is safe.
  virtual absl::StatusOr<v1::SubmitJobResponse> SubmitJob(const v1::SubmitJobRequest& request) = 0;
  // Where and when such a job would run. Codes as for SubmitJob; nothing is submitted.
  virtual absl::StatusOr<v1::PlanJobResponse> PlanJob(const v1::PlanJobRequest& request) = 0;
  // NotFound if there is no such job; likewise for the four below.
  virtual absl::StatusOr<v1::Job> GetJob(JobId job) = 0;
  virtual absl::StatusOr<v1::Job> CancelJob(JobId job) = 0;
  // InvalidArgument: what the request names; jobs that refuse the verb are in the answer.
  virtual absl::StatusOr<v1::ControlJobsResponse> ControlJobs(
      const v1::ControlJobsRequest& request) = 0;
  // FailedPrecondition: it does not run, or no such device could take it now.
  virtual absl::StatusOr<v1::Job> MoveJob(const v1::MoveJobRequest& request) = 0;
  // Returns the job once it is terminal. DeadlineExceeded: it is not after `timeout`.
  virtual absl::StatusOr<v1::Job> WaitJob(JobId job, absl::Duration timeout) = 0;
  // Hands what schedulerd tells a watcher to `take`, until that returns false: OK. Is not tried
  // again: client/submit/job_watch.h goes on by itself. DeadlineExceeded: after `timeout`, which
  // may be infinite.
  using WatchVisitor = std::function<bool(const v1::WatchJobsResponse&)>;
  virtual absl::Status WatchJobs(const v1::WatchJobsRequest& request, absl::Duration timeout,
                                 const WatchVisitor& take) = 0;
  virtual absl::StatusOr<v1::ReadContentResponse> ReadContent(
      const v1::ReadContentRequest& request) = 0;
  virtual absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request) = 0;
  virtual absl::StatusOr<v1::ListDevicesResponse> ListDevices() = 0;
  // `main_job` empty = those of all main jobs.
  virtual absl::StatusOr<v1::ListBubblesResponse> ListBubbles(absl::string_view main_job) = 0;
  // NotFound names the main jobs that are attached; InvalidArgument the bad field.
  virtual absl::StatusOr<v1::MainJobSettings> UpdateMainJob(
      const v1::UpdateMainJobRequest& request) = 0;
  virtual absl::StatusOr<v1::ListMainJobsResponse> ListMainJobs() = 0;
  virtual absl::StatusOr<v1::GetStatusResponse> GetStatus() = 0;
  // Hands the bytes of a backup to `take`, in order; ends with its first error. Is not tried again.
  // Only after OK they are complete.
  using BytesVisitor = std::function<absl::Status(absl::string_view bytes)>;
  virtual absl::Status Backup(const BytesVisitor& take) = 0;
};

struct SchedulerClientOptions {
  std::string address;  // host:port
  // For all tries of one call together.
  absl::Duration call_timeout = absl::Seconds(10);
  absl::Duration back_off_min = absl::Milliseconds(50);
  absl::Duration back_off_max = absl::Seconds(1);
  // What to do when schedulerd does not answer; ends the text of that error.
  std::string away_hint = "check that schedulerd runs there";
};

struct SchedulerClientDependencies {
  const Clock& clock;
  // Returns after about that long.
  std::function<void(absl::Duration)> pause;
  // In [0, 1).
  std::function<double()> random;
  // New keys; never the same twice.
  std::function<std::string()> new_key;
  // Told once per call, when its first try has failed and another follows. May be empty.
  std::function<void(const absl::Status&)> on_retry = nullptr;
};

// Connects at the first call. InvalidArgument if the address is not host:port.
absl::StatusOr<std::unique_ptr<SchedulerClient>> NewSchedulerClient(
    const SchedulerClientOptions& options, const SchedulerClientDependencies& dependencies);

// Whether `status`, an error of SubmitJob, says that nothing of the request can have reached
// schedulerd.
bool WasNeverSent(const absl::Status& status);

// InvalidArgument, with an example, unless `address` is host:port with a port in [1, 65535].
absl::Status CheckAddress(absl::string_view address);

// How long to pause after failed try number `tries`, from 1: doubling from back_off_min up to
// back_off_max, then shortened by up to half. `random` is in [0, 1).
absl::Duration BackOffDelay(const SchedulerClientOptions& options, int tries, double random);

}  // namespace pipefill

#endif  // CLIENT_SUBMIT_SCHEDULER_CLIENT_H_
