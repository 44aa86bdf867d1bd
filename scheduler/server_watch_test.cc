// Watches, waits and limits of the whole server, over gRPC.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/owner_thread.h"
#include "common/retry_after.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/server.h"
#include "scheduler/testing/scripted_agent.h"
#include "scheduler/testing/server_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

using Stub = v1::SchedulerService::Stub;

// One stream of a watch.
class Watch {
 public:
  Watch(Stub& users, const v1::WatchJobsRequest& request) {
    SetTestDeadline(&context_);
    stream_ = users.WatchJobs(&context_, request);
  }
  ~Watch() {
    context_.TryCancel();
    if (stream_ != nullptr) End();
  }

  // The next message; empty at the end of the stream.
  v1::WatchJobsResponse Next() {
    v1::WatchJobsResponse response;
    if (stream_->Read(&response) && !response.cursor().empty()) cursor_ = response.cursor();
    return response;
  }
  // The next job that is in `state`; of one message the last.
  v1::Job NextIn(v1::JobState state) {
    v1::WatchJobsResponse response;
    v1::Job found;
    while (stream_->Read(&response)) {
      if (!response.cursor().empty()) cursor_ = response.cursor();
      for (const v1::Job& job : response.jobs()) {
        if (job.state() == state) found = job;
      }
      if (found.id() != 0) return found;
    }
    ADD_FAILURE() << "the stream ended";
    return {};
  }
  grpc::Status End() {
    v1::WatchJobsResponse ignored;
    while (stream_->Read(&ignored)) {
    }
    const grpc::Status status = stream_->Finish();
    stream_ = nullptr;
    return status;
  }

  const std::string& cursor() const { return cursor_; }
  grpc::ClientContext& context() { return context_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchJobsResponse>> stream_;
  std::string cursor_;
};

class ServerWatchTest : public ServerFixture {
 protected:
  int64_t Submit(size_t argument_bytes = 1) {
    v1::SubmitJobRequest request;
    request.mutable_spec()->add_command("/bin/true");
    request.mutable_spec()->add_command(std::string(argument_bytes, 'x'));
    v1::SubmitJobResponse response;
    const grpc::Status status = Call(&Stub::SubmitJob, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.job_id();
  }

  void Cancel(int64_t id) {
    v1::CancelJobRequest request;
    request.set_job_id(id);
    v1::Job job;
    EXPECT_TRUE(Call(&Stub::CancelJob, request, &job).ok());
  }

  int64_t Used(const std::string& limit) {
    v1::GetStatusResponse status;
    EXPECT_TRUE(Call(&Stub::GetStatus, v1::GetStatusRequest(), &status).ok());
    for (const v1::LimitStatus& entry : status.limits()) {
      if (entry.name() == limit) return entry.used();
    }
    ADD_FAILURE() << limit << " is not told";
    return -1;
  }

  static v1::WatchJobsRequest RequestFor(const std::vector<int64_t>& ids,
                                         const std::string& cursor = "") {
    v1::WatchJobsRequest request;
    for (int64_t id : ids) request.add_job_ids(id);
    request.set_cursor(cursor);
    return request;
  }
};

TEST_F(ServerWatchTest, WatchTellsTheStateAndThenEachChange) {
  Start();
  ScriptedAgent agent(server_->address(), {});
  const int64_t id = Submit(1'000);
  const auto launch = agent.NextCommand();
  ASSERT_TRUE(launch.has_value() && launch->has_launch());

  Watch watch(*users_, RequestFor({id, 99}));
  const v1::WatchJobsResponse state = watch.Next();
  EXPECT_EQ(state.reset().cause(), v1::WATCH_RESET_CAUSE_START);
  ASSERT_EQ(state.jobs_size(), 1);
  EXPECT_EQ(state.jobs(0).id(), id);
  EXPECT_EQ(state.jobs(0).spec().name(), "true");
  EXPECT_EQ(state.jobs(0).spec().command_size(), 0);
  EXPECT_THAT(state.gone(), ElementsAre(99));
  EXPECT_TRUE(state.synced());
  agent.SendExited(launch->launch().key(), 3);
  const v1::Job ended = watch.NextIn(v1::JOB_STATE_FAILED);
  EXPECT_EQ(ended.end_text(), "exit code 3");
  ASSERT_EQ(ended.attempts_size(), 1);
  EXPECT_EQ(ended.attempts(0).exit_code(), 3);
}

TEST_F(ServerWatchTest, WatchGoesOnFromItsCursor) {
  Start();
  const int64_t id = Submit();
  std::string cursor;
  {
    Watch watch(*users_, RequestFor({id}));
    watch.Next();
    cursor = watch.cursor();
  }
  Cancel(id);
  Watch watch(*users_, RequestFor({id}, cursor));
  const v1::WatchJobsResponse change = watch.Next();
  EXPECT_FALSE(change.has_reset());
  ASSERT_EQ(change.jobs_size(), 1);
  EXPECT_EQ(change.jobs(0).state(), v1::JOB_STATE_CANCELLED);
}

TEST_F(ServerWatchTest, CursorOfAnotherRunIsAnsweredWithTheStateAnew) {
  Start();
  const int64_t id = Submit();
  std::string cursor;
  {
    Watch watch(*users_, RequestFor({id}));
    watch.Next();
    cursor = watch.cursor();
  }
  Start();
  Watch watch(*users_, RequestFor({id}, cursor));
  const v1::WatchJobsResponse state = watch.Next();
  EXPECT_EQ(state.reset().cause(), v1::WATCH_RESET_CAUSE_OTHER_BOOT);
  ASSERT_EQ(state.jobs_size(), 1);
  EXPECT_EQ(state.jobs(0).id(), id);
}

TEST_F(ServerWatchTest, WaitingJobIsToldAgainWithItsReason) {
  Start();
  const int64_t id = Submit();
  Watch watch(*users_, RequestFor({id}));
  v1::PendingReasonCode reason = v1::PENDING_REASON_UNSPECIFIED;
  while (reason != v1::PENDING_REASON_NO_AGENT) {
    const v1::WatchJobsResponse response = watch.Next();
    ASSERT_TRUE(response.jobs_size() > 0 || !response.cursor().empty());
    if (response.jobs_size() > 0) reason = response.jobs(0).pending_reason();
  }
}

TEST_F(ServerWatchTest, WhatIsNoWatchIsRefused) {
  Start();
  Watch bad_cursor(*users_, RequestFor({}, "nonsense"));
  EXPECT_EQ(bad_cursor.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  Watch bad_job(*users_, RequestFor({-1}));
  EXPECT_EQ(bad_job.End().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServerWatchTest, ShutdownEndsWatches) {
  Start();
  Watch watch(*users_, RequestFor({}));
  watch.Next();
  server_->Shutdown();
  EXPECT_FALSE(watch.End().ok());
}

// --- Many ---

// Opens a stream, and never reads.
class SleepingWatch : public grpc::ClientReadReactor<v1::WatchJobsResponse> {
 public:
  explicit SleepingWatch(Stub& users) {
    SetTestDeadline(&context_);
    users.async()->WatchJobs(&context_, &request_, this);
    StartCall();
  }
  ~SleepingWatch() override {
    context_.TryCancel();
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&is_done_));
  }

  void OnDone(const grpc::Status& /*status*/) override {
    absl::MutexLock lock(&mutex_);
    is_done_ = true;
  }

 private:
  grpc::ClientContext context_;
  const v1::WatchJobsRequest request_;
  absl::Mutex mutex_;
  bool is_done_ ABSL_GUARDED_BY(mutex_) = false;
};

int64_t ThreadsOfThisProcess() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

int64_t ResidentBytesOfThisProcess() {
  std::ifstream file("/proc/self/statm");
  int64_t total = 0;
  int64_t resident = 0;
  file >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST_F(ServerWatchTest, ThousandWatchersThatDoNotReadCostNoThreadsAndLittleMemory) {
  constexpr int kWatchers = 1'000;
  Start();
  for (int i = 0; i < 100; ++i) Submit();
  const int64_t before_bytes = ResidentBytesOfThisProcess();
  std::vector<std::unique_ptr<SleepingWatch>> watches;
  for (int i = 0; i < kWatchers; ++i) {
    watches.push_back(std::make_unique<SleepingWatch>(*users_));
  }
  while (Used("watchers_max") < kWatchers) Submit();
  // Changes that they do not read; one who does is not held up.
  Watch reader(*users_, RequestFor({}));
  for (int64_t id = 1; id <= 100; ++id) Cancel(id);
  const int64_t id = Submit();
  Cancel(id);
  while (reader.NextIn(v1::JOB_STATE_CANCELLED).id() != id) {
  }
  EXPECT_LT(ThreadsOfThisProcess(), 100);
  // Both ends of each stream are in this process.
  EXPECT_LT((ResidentBytesOfThisProcess() - before_bytes) / kWatchers, 1 << 20);
}

// --- Limits ---

std::string AdviceOf(const grpc::ClientContext& context) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto advice = metadata.find(kRetryAfterMetadata);
  return advice == metadata.end() ? "" : std::string(advice->second.data(), advice->second.size());
}

TEST_F(ServerWatchTest, WatchBeyondTheLimitIsRefusedWithAdvice) {
  config_.set_watchers_max(2);
  Start();
  Watch first(*users_, RequestFor({}));
  Watch second(*users_, RequestFor({}));
  EXPECT_TRUE(first.Next().synced());
  EXPECT_TRUE(second.Next().synced());
  Watch third(*users_, RequestFor({}));
  const grpc::Status refused = third.End();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), StartsWith("watchers_max: 2 watches run already"));
  EXPECT_EQ(AdviceOf(third.context()), "2000");
}

TEST_F(ServerWatchTest, WaitBeyondTheLimitIsRefused) {
  config_.set_waits_max(1);
  Start();
  v1::WaitJobRequest request;
  request.set_job_id(Submit());
  grpc::ClientContext first_context;
  SetTestDeadline(&first_context);
  {
    v1::Job ended;
    OwnerThread first("first", [&] { users_->WaitJob(&first_context, request, &ended); });
    while (Used("waits_max") < 1) Submit();
    v1::Job job;
    const grpc::Status refused = Call(&Stub::WaitJob, request, &job);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(refused.error_message(), StartsWith("waits_max: 1 calls wait for jobs already"));
    first_context.TryCancel();
  }
}

TEST_F(ServerWatchTest, CallThatNamesMoreThanTheLimitIsRefused) {
  config_.set_ids_max(2);
  Start();
  Watch accepted(*users_, RequestFor({1, 2}));
  EXPECT_TRUE(accepted.Next().synced());
  Watch refused(*users_, RequestFor({1, 2, 3}));
  EXPECT_EQ(refused.End().error_message(),
            "job_ids: 3 in one call, more than ids_max, 2; send several calls");
  v1::SubmitJobsRequest jobs;
  for (int i = 0; i < 2; ++i) jobs.add_jobs()->mutable_spec()->add_command("/bin/true");
  v1::SubmitJobsResponse submitted;
  EXPECT_TRUE(Call(&Stub::SubmitJobs, jobs, &submitted).ok());
  jobs.add_jobs()->mutable_spec()->add_command("/bin/true");
  EXPECT_EQ(Call(&Stub::SubmitJobs, jobs, &submitted).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServerWatchTest, PageBeyondTheLimitIsRefused) {
  config_.set_page_max(2);
  Start();
  v1::ListJobsRequest request;
  v1::ListJobsResponse response;
  request.set_limit(2);
  EXPECT_TRUE(Call(&Stub::ListJobs, request, &response).ok());
  request.set_limit(3);
  EXPECT_THAT(Call(&Stub::ListJobs, request, &response).error_message(), HasSubstr("page_max, 2"));
}

TEST_F(ServerWatchTest, AgentBeyondTheLimitIsRefused) {
  config_.set_agents_max(1);
  Start();
  ScriptedAgent first(server_->address(), {});
  ASSERT_TRUE(first.Settle());
  ScriptedAgent::Options other;
  other.node = "b";
  ScriptedAgent second(server_->address(), other);
  const grpc::Status refused = second.WaitForEnd();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), StartsWith("agents_max: 1 agents are connected already"));
  EXPECT_EQ(Used("agents_max"), 1);
}

TEST_F(ServerWatchTest, BackupBeyondTheLimitIsRefused) {
  config_.set_backups_max(1);
  Start();
  // More than a reader that stops takes off the server's hands, with a window that does not grow.
  for (int i = 0; i < 40; ++i) Submit(60'000);
  grpc::ChannelArguments small_window;
  small_window.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  small_window.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 64 << 10);
  const auto slow_reader = v1::SchedulerService::NewStub(grpc::CreateCustomChannel(
      server_->address(), grpc::InsecureChannelCredentials(), small_window));
  grpc::ClientContext first_context;
  SetTestDeadline(&first_context);
  const auto first = slow_reader->Backup(&first_context, v1::BackupRequest());
  v1::BackupChunk chunk;
  ASSERT_TRUE(first->Read(&chunk));
  ASSERT_EQ(Used("backups_max"), 1);
  grpc::ClientContext second_context;
  SetTestDeadline(&second_context);
  const auto second = users_->Backup(&second_context, v1::BackupRequest());
  EXPECT_FALSE(second->Read(&chunk));
  EXPECT_THAT(second->Finish().error_message(),
              StartsWith("backups_max: 1 backups are being read"));
  first_context.TryCancel();
}

TEST_F(ServerWatchTest, MessageBeyondTheLimitIsRefused) {
  config_.set_message_max("128KiB");
  Start();
  EXPECT_EQ(Submit(60'000), 1);
  v1::SubmitJobRequest request;
  request.mutable_spec()->add_command(std::string(128 << 10, 'x'));
  v1::SubmitJobResponse response;
  const grpc::Status refused = Call(&Stub::SubmitJob, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  // gRPC's own words; they name the value.
  EXPECT_THAT(refused.error_message(), HasSubstr("131072"));
  EXPECT_EQ(Submit(), 2);
}

}  // namespace
}  // namespace pipefill::scheduler
