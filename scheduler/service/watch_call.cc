#include "scheduler/service/watch_call.h"

#include <utility>

#include "scheduler/convert/convert.h"
#include "scheduler/convert/ties.h"
#include "scheduler/service/finish.h"
#include "scheduler/watch/watch_cursor.h"

namespace pipefill::scheduler {
namespace {

// Jobs of one message, of some hundred bytes each.
constexpr size_t kMessageJobsMax = 256;

v1::WatchResetCause ToProto(WatchResetCause from) {
  switch (from) {
    case WatchResetCause::kStart:
      return v1::WATCH_RESET_CAUSE_START;
    case WatchResetCause::kOtherBoot:
      return v1::WATCH_RESET_CAUSE_OTHER_BOOT;
    case WatchResetCause::kTooOld:
      return v1::WATCH_RESET_CAUSE_TOO_OLD;
    case WatchResetCause::kDropped:
      return v1::WATCH_RESET_CAUSE_DROPPED;
    case WatchResetCause::kOtherFilter:
      return v1::WATCH_RESET_CAUSE_OTHER_FILTER;
  }
  return v1::WATCH_RESET_CAUSE_UNSPECIFIED;
}

}  // namespace

void WatchCall::Begin(const std::string& peer) {
  self_ = shared_from_this();
  const absl::StatusOr<WatcherId> id = dependencies_.hub.Enter(self_, filter_.jobs, peer);
  absl::MutexLock lock(&mutex_);
  if (!id.ok()) return Close(id.status());
  id_ = *id;
  if (end_status_.has_value()) return;
  ReadOn();
}

void WatchCall::Wake() {
  absl::MutexLock lock(&mutex_);
  if (!is_writing_ && !end_status_.has_value()) ReadOn();
}

void WatchCall::OnQuiet(uint64_t position) {
  absl::MutexLock lock(&mutex_);
  if (is_writing_ || end_status_.has_value()) return;
  reader_.SkipTo(position);
  response_.Clear();
  response_.set_cursor(CursorOf(filter_, dependencies_.boot, reader_.position()));
  is_writing_ = true;
  StartWrite(&response_);
}

void WatchCall::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  is_writing_ = false;
  if (end_status_.has_value()) return Close(*end_status_);
  if (!ok) return Close(absl::UnavailableError("the watcher's stream broke"));
  ReadOn();
}

void WatchCall::OnCancel() {
  absl::MutexLock lock(&mutex_);
  Close(absl::CancelledError("the watcher has gone"));
}

void WatchCall::OnDone() {
  std::optional<WatcherId> id;
  {
    absl::MutexLock lock(&mutex_);
    id = id_;
  }
  if (id.has_value()) dependencies_.hub.Leave(*id);
  self_ = nullptr;
}

void WatchCall::ReadOn() {
  if (!id_.has_value()) return;
  const std::optional<WatchBatch> batch = dependencies_.hub.Next(*id_, kMessageJobsMax, &reader_);
  if (!batch.has_value()) return;
  Fill(*batch);
  is_writing_ = true;
  StartWrite(&response_);
}

void WatchCall::Close(const absl::Status& status) {
  end_status_ = status;
  // What is being written comes back first, cancelled or not.
  if (is_writing_ || is_finished_) return;
  is_finished_ = true;
  FinishCall(context_, this, status);
}

void WatchCall::Fill(const WatchBatch& batch) {
  response_.Clear();
  if (batch.reset.has_value()) {
    response_.mutable_reset()->set_cause(ToProto(*batch.reset));
    response_.mutable_reset()->set_dropped(batch.dropped);
  }
  const Instant now = dependencies_.clock.Now();
  for (const Job* job : batch.jobs) {
    v1::Job* to = response_.add_jobs();
    *to = ToWatchedProto(*job, *batch.view->plan, now);
    AddTies(*job, batch.view->jobs, *batch.view->plan, now, to);
  }
  for (JobId id : batch.gone) response_.add_gone(id.value());
  response_.set_synced(batch.is_synced);
  if (!batch.position.has_value()) return;
  response_.set_cursor(CursorOf(filter_, dependencies_.boot, *batch.position));
}

void WaitCall::Begin(JobId job) {
  self_ = shared_from_this();
  const absl::StatusOr<WatcherId> id = hub_.EnterWait(self_, job);
  absl::MutexLock lock(&mutex_);
  if (!id.ok()) return Close(id.status());
  id_ = *id;
  LookAgain();
}

void WaitCall::Wake() {
  absl::MutexLock lock(&mutex_);
  LookAgain();
}

void WaitCall::OnCancel() {
  absl::MutexLock lock(&mutex_);
  Close(absl::CancelledError("the caller does not wait any more"));
}

void WaitCall::OnDone() {
  std::optional<WatcherId> id;
  {
    absl::MutexLock lock(&mutex_);
    id = id_;
  }
  if (id.has_value()) hub_.Leave(*id);
  self_ = nullptr;
}

void WaitCall::LookAgain() {
  if (is_finished_) return;
  const std::optional<absl::Status> status = look_();
  if (status.has_value()) Close(*status);
}

void WaitCall::Close(const absl::Status& status) {
  if (is_finished_) return;
  is_finished_ = true;
  FinishCall(context_, this, status);
}

}  // namespace pipefill::scheduler
