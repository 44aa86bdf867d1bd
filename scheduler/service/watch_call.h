// The calls that stay open until something happens to jobs: WatchJobs and WaitJob. Both are
// watchers of the hub, and cost no thread while they wait. gRPC owns a call: it lets go of itself
// in OnDone.
//
// Thread-safe.
#ifndef SCHEDULER_SERVICE_WATCH_CALL_H_
#define SCHEDULER_SERVICE_WATCH_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/ids.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/watch/watch_hub.h"
#include "scheduler/watch/watch_reader.h"

namespace pipefill::scheduler {

// One message is under way at a time; the next one is made when that one is written, of the state
// as it is then.
//
//   parked <--nothing new-- reading --StartWrite--> writing --OnWriteDone--> reading
//      |                      ^
//      +------ Wake ----------+          any --Close--> finished --OnDone--> gone
class WatchCall : public grpc::ServerWriteReactor<v1::WatchJobsResponse>,
                  public Watcher,
                  public std::enable_shared_from_this<WatchCall> {
 public:
  // Clock and hub outlive the call. `boot`: see WatchCursor.
  struct Dependencies {
    const Clock& clock;
    WatchHub& hub;
    std::string boot;
  };

  // `context` is gRPC's, and outlives the call.
  WatchCall(const Dependencies& dependencies, grpc::CallbackServerContext* context,
            WatchReader reader)
      : dependencies_(dependencies),
        context_(context),
        filter_(reader.filter()),
        reader_(std::move(reader)) {}

  // Call once, at first.
  void Begin(const std::string& peer);

  // --- Watcher ---

  void Wake() override;
  void OnQuiet(uint64_t position) override;

  // --- Called by gRPC ---

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void ReadOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fill(const WatchBatch& batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Dependencies dependencies_;
  grpc::CallbackServerContext* const context_;
  const WatchFilter filter_;
  // Until OnDone.
  std::shared_ptr<WatchCall> self_;
  // Wakes come from the edge loop and from watchers that enter, the rest from gRPC's threads.
  absl::Mutex mutex_;
  WatchReader reader_ ABSL_GUARDED_BY(mutex_);
  std::optional<WatcherId> id_ ABSL_GUARDED_BY(mutex_);
  v1::WatchJobsResponse response_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  // Why it is finished once nothing is being written.
  std::optional<absl::Status> end_status_ ABSL_GUARDED_BY(mutex_);
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
};

// Waits for the end of one job.
class WaitCall : public grpc::ServerUnaryReactor,
                 public Watcher,
                 public std::enable_shared_from_this<WaitCall> {
 public:
  // Fills in the answer and returns its status; nullopt: not yet. Called again after each change of
  // the job.
  using Look = std::function<std::optional<absl::Status>()>;

  // `hub` and `context`, which is gRPC's, outlive the call.
  WaitCall(WatchHub& hub, grpc::CallbackServerContext* context, Look look)
      : hub_(hub), context_(context), look_(std::move(look)) {}

  // Call once, at first.
  void Begin(JobId job);

  void Wake() override;
  void OnQuiet(uint64_t /*position*/) override {}

  void OnCancel() override;
  void OnDone() override;

 private:
  void LookAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Close(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  WatchHub& hub_;
  grpc::CallbackServerContext* const context_;
  const Look look_;
  // Until OnDone.
  std::shared_ptr<WaitCall> self_;
  absl::Mutex mutex_;
  std::optional<WatcherId> id_ ABSL_GUARDED_BY(mutex_);
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_WATCH_CALL_H_
