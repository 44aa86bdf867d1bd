#include "client/submit/scheduler_client.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/retry_after.h"
#include "common/status_grpc.h"
#include "common/virtual_time.h"
#include "proto/scheduler.grpc.pb.h"

namespace pipefill {
namespace {

// Answers submissions with what the test has laid ready, one after the other; then with success.
class FakeService : public v1::SchedulerService::Service {
 public:
  // Forgets the keys so far.
  void LayReady(std::vector<absl::Status> errors) {
    const absl::MutexLock lock(&mutex_);
    errors_ = std::move(errors);
    keys_.clear();
  }
  std::vector<std::string> keys() const {
    const absl::MutexLock lock(&mutex_);
    return keys_;
  }
  bool has_deadline() const {
    const absl::MutexLock lock(&mutex_);
    return has_deadline_;
  }

  grpc::Status SubmitJob(grpc::ServerContext* context, const v1::SubmitJobRequest* request,
                         v1::SubmitJobResponse* response) override {
    const absl::MutexLock lock(&mutex_);
    keys_.push_back(request->key());
    if (keys_.size() <= errors_.size()) {
      const absl::Status& error = errors_[keys_.size() - 1];
      const auto wait = RetryAfterOf(error);
      if (wait.has_value()) {
        context->AddTrailingMetadata(kRetryAfterMetadata, FormatRetryAfter(*wait));
      }
      return ToGrpc(error);
    }
    response->set_job_id(17);
    return grpc::Status::OK;
  }

  grpc::Status WaitJob(grpc::ServerContext* context, const v1::WaitJobRequest*, v1::Job*) override {
    const gpr_timespec deadline = context->raw_deadline();
    const absl::MutexLock lock(&mutex_);
    has_deadline_ = gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) < 0;
    return ToGrpc(absl::DeadlineExceededError("not over"));
  }

  grpc::Status GetJob(grpc::ServerContext*, const v1::GetJobRequest* request, v1::Job*) override {
    return ToGrpc(absl::NotFoundError(absl::StrCat("no such job: job=", request->job_id())));
  }

  grpc::Status WatchJobs(grpc::ServerContext* context, const v1::WatchJobsRequest* request,
                         grpc::ServerWriter<v1::WatchJobsResponse>* writer) override {
    v1::WatchJobsResponse response;
    for (int64_t id : request->job_ids()) {
      response.set_cursor(absl::StrCat("a.b.", id));
      writer->Write(response);
    }
    context->AddTrailingMetadata(kRetryAfterMetadata, "2000");
    return ToGrpc(absl::ResourceExhaustedError("watchers_max"));
  }

 private:
  // A message to a loop would not do: the test and gRPC's threads meet here, and there is no loop.
  mutable absl::Mutex mutex_;
  std::vector<absl::Status> errors_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> keys_ ABSL_GUARDED_BY(mutex_);
  bool has_deadline_ ABSL_GUARDED_BY(mutex_) = false;
};

class SchedulerClientTest : public ::testing::Test {
 protected:
  SchedulerClientTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    options_.address = absl::StrCat("127.0.0.1:", port);
    options_.away_hint = "start one";
  }

  std::unique_ptr<SchedulerClient> NewClient() {
    SchedulerClientDependencies dependencies = {
        .clock = time_,
        .pause =
            [this](absl::Duration pause) {
              pauses_.push_back(pause);
              time_.AdvanceBy(pause);
            },
        .random = [this] { return random_; },
        .new_key = [this] { return absl::StrCat("key-", ++keys_made_); },
        .on_retry = [this](const absl::Status& status) { retried_.push_back(status); },
    };
    return *NewSchedulerClient(options_, dependencies);
  }

  VirtualTime time_;
  FakeService service_;
  std::unique_ptr<grpc::Server> server_;
  SchedulerClientOptions options_;
  std::vector<absl::Duration> pauses_;
  std::vector<absl::Status> retried_;
  int keys_made_ = 0;
  double random_ = 0;
};

TEST_F(SchedulerClientTest, RetriesUnavailableWithTheSameKeyAndGrowingPauses) {
  service_.LayReady({absl::UnavailableError("starting"), absl::UnavailableError("starting"),
                     absl::UnavailableError("starting")});

  const auto response = NewClient()->SubmitJob({});

  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->job_id(), 17);
  EXPECT_EQ(service_.keys(), std::vector<std::string>(4, "key-1"));
  EXPECT_EQ(pauses_, (std::vector<absl::Duration>{absl::Milliseconds(50), absl::Milliseconds(100),
                                                  absl::Milliseconds(200)}));
}

TEST_F(SchedulerClientTest, RefusalWithAdviceIsTriedAgainWhenItSays) {
  service_.LayReady(
      {WithRetryAfter(absl::ResourceExhaustedError("requests_max"), absl::Milliseconds(700)),
       WithRetryAfter(absl::UnavailableError("starting"), absl::Milliseconds(300))});
  random_ = 0.5;

  ASSERT_TRUE(NewClient()->SubmitJob({}).ok());

  // Later by a quarter: half of the jitter.
  EXPECT_EQ(pauses_,
            (std::vector<absl::Duration>{absl::Milliseconds(875), absl::Milliseconds(375)}));
  EXPECT_EQ(service_.keys(), std::vector<std::string>(3, "key-1"));
}

TEST_F(SchedulerClientTest, RefusalWithAdviceBeyondTheDeadlineIsTheAnswer) {
  service_.LayReady({WithRetryAfter(absl::ResourceExhaustedError("full"), absl::Minutes(1))});

  EXPECT_EQ(NewClient()->SubmitJob({}).status().code(), absl::StatusCode::kResourceExhausted);

  EXPECT_TRUE(pauses_.empty());
}

TEST_F(SchedulerClientTest, RefusalWithoutAdviceIsTheAnswer) {
  service_.LayReady({absl::ResourceExhaustedError("jobs_max")});

  EXPECT_EQ(NewClient()->SubmitJob({}).status().code(), absl::StatusCode::kResourceExhausted);

  EXPECT_EQ(service_.keys().size(), 1U);
}

TEST_F(SchedulerClientTest, WatchHandsOnWhatComesAndThenTheErrorWithItsAdvice) {
  v1::WatchJobsRequest request;
  for (int id = 1; id <= 3; ++id) request.add_job_ids(id);
  std::vector<std::string> cursors;

  const absl::Status status = NewClient()->WatchJobs(request, absl::InfiniteDuration(),
                                                     [&](const v1::WatchJobsResponse& response) {
                                                       cursors.push_back(response.cursor());
                                                       return true;
                                                     });

  EXPECT_EQ(cursors, (std::vector<std::string>{"a.b.1", "a.b.2", "a.b.3"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(RetryAfterOf(status), absl::Seconds(2));
}

TEST_F(SchedulerClientTest, WatchEndsWhenItsTakerHasEnough) {
  v1::WatchJobsRequest request;
  for (int id = 1; id <= 3; ++id) request.add_job_ids(id);
  int taken = 0;

  const absl::Status status = NewClient()->WatchJobs(
      request, absl::Seconds(30), [&](const v1::WatchJobsResponse&) { return ++taken < 2; });

  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(taken, 2);
}

TEST_F(SchedulerClientTest, TellsAboutRetriesOncePerCall) {
  service_.LayReady({absl::UnavailableError("starting"), absl::UnavailableError("starting")});

  ASSERT_TRUE(NewClient()->SubmitJob({}).ok());

  ASSERT_EQ(retried_.size(), 1U);
  EXPECT_EQ(retried_[0].message(), "starting");
}

TEST_F(SchedulerClientTest, KeepsTheCallersKey) {
  v1::SubmitJobRequest request;
  request.set_key("mine");

  ASSERT_TRUE(NewClient()->SubmitJob(request).ok());

  EXPECT_EQ(service_.keys(), std::vector<std::string>{"mine"});
}

TEST_F(SchedulerClientTest, NoOtherErrorIsTriedAgain) {
  for (const absl::Status& error :
       {absl::InvalidArgumentError("name: too long"), absl::AbortedError("stale"),
        absl::ResourceExhaustedError("full"), absl::InternalError("bug")}) {
    service_.LayReady({error});

    EXPECT_EQ(NewClient()->SubmitJob({}).status(), error);
    EXPECT_EQ(service_.keys().size(), 1U);
  }
}

TEST_F(SchedulerClientTest, StopsTryingAtTheDeadline) {
  service_.LayReady(std::vector<absl::Status>(1000, absl::UnavailableError("starting")));
  const Instant start = time_.Now();

  const auto response = NewClient()->SubmitJob({});

  EXPECT_EQ(response.status(), absl::UnavailableError("starting"));
  EXPECT_LT(time_.Now() - start, absl::Seconds(10));
  EXPECT_GT(time_.Now() - start, absl::Seconds(8));
}

TEST_F(SchedulerClientTest, ErrorOfSchedulerdKeepsItsText) {
  EXPECT_EQ(NewClient()->GetJob(JobId(4711)).status(),
            absl::NotFoundError("no such job: job=4711"));
}

TEST_F(SchedulerClientTest, EveryCallHasADeadline) {
  const auto job = NewClient()->WaitJob(JobId(1), absl::Seconds(5));

  EXPECT_TRUE(absl::IsDeadlineExceeded(job.status()));
  EXPECT_TRUE(service_.has_deadline());
}

TEST_F(SchedulerClientTest, SchedulerdAwayNamesAddressCauseAndHint) {
  server_->Shutdown();
  server_.reset();

  const auto response = NewClient()->SubmitJob({});

  EXPECT_EQ(response.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(response.status().message(),
            absl::StrCat("schedulerd does not answer: address=", options_.address,
                         " error=\"Connection refused\"; start one"));
  EXPECT_TRUE(WasNeverSent(response.status()));
}

TEST_F(SchedulerClientTest, FindsASchedulerdThatComesBack) {
  server_->Shutdown();
  server_.reset();
  SchedulerClientDependencies dependencies = {
      .clock = time_,
      .pause =
          [this](absl::Duration pause) {
            time_.AdvanceBy(pause);
            if (server_ != nullptr) return;
            grpc::ServerBuilder builder;
            builder.AddListeningPort(options_.address, grpc::InsecureServerCredentials());
            builder.RegisterService(&service_);
            server_ = builder.BuildAndStart();
          },
      .random = [] { return 0.0; },
      .new_key = [] { return std::string("key"); }};
  // Virtual time runs ahead of gRPC's own pauses between connections.
  options_.call_timeout = absl::Hours(10);
  options_.back_off_max = absl::Milliseconds(50);

  const auto response = (*NewSchedulerClient(options_, dependencies))->SubmitJob({});

  EXPECT_TRUE(response.ok()) << response.status();
}

TEST_F(SchedulerClientTest, RefusalBySchedulerdWasSent) {
  service_.LayReady(std::vector<absl::Status>(1000, absl::UnavailableError("starting")));

  EXPECT_FALSE(WasNeverSent(NewClient()->SubmitJob({}).status()));
}

TEST(CheckAddressTest, WantsHostAndPort) {
  EXPECT_TRUE(CheckAddress("127.0.0.1:7700").ok());
  EXPECT_TRUE(CheckAddress("[::1]:7700").ok());
  for (const char* address : {"", "head", "head:", ":7700", "head:0", "head:70000", "head:http"}) {
    EXPECT_EQ(CheckAddress(address).code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

TEST(BackOffDelayTest, DoublesUpToTheMostAndIsJittered) {
  const SchedulerClientOptions options;
  EXPECT_EQ(BackOffDelay(options, 1, 0), absl::Milliseconds(50));
  EXPECT_EQ(BackOffDelay(options, 3, 0), absl::Milliseconds(200));
  EXPECT_EQ(BackOffDelay(options, 1'000'000, 0), absl::Seconds(1));
  EXPECT_EQ(BackOffDelay(options, 1, 0.5), absl::Microseconds(37'500));
}

}  // namespace
}  // namespace pipefill
