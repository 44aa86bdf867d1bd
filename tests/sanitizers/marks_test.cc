// Whether the marks let the thread sanitizer see the races that there are, and none that there are
// not. Only of use in a build with it.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "proto/scheduler.grpc.pb.h"

namespace pipefill {
namespace {

constexpr int kReported = 66;  // the sanitizer's exit status

// Calls `on_call` on a thread of gRPC in the middle of each call.
class CalledService : public v1::SchedulerService::CallbackService {
 public:
  explicit CalledService(std::function<void()> on_call) : on_call_(std::move(on_call)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::unique_ptr<v1::SchedulerService::Stub> NewStub() const {
    return v1::SchedulerService::NewStub(
        grpc::CreateChannel(absl::StrCat("127.0.0.1:", port_), grpc::InsecureChannelCredentials()));
  }

 private:
  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const v1::GetStatusRequest*,
                                      v1::GetStatusResponse*) override {
    on_call_();
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const std::function<void()> on_call_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

struct CallSteps {
  std::function<void()> in_server = [] {};
  std::function<void()> meanwhile = [] {};  // here, after the call began
  std::function<void()> when_done = [] {};  // in the client's callback
};

void Call(const CallSteps& steps) {
  const CalledService service(steps.in_server);
  const auto stub = service.NewStub();
  grpc::ClientContext context;
  const v1::GetStatusRequest request;
  v1::GetStatusResponse response;
  absl::Notification done;
  stub->async()->GetStatus(&context, &request, &response, [&](const grpc::Status&) {
    steps.when_done();
    done.Notify();
  });
  steps.meanwhile();
  done.WaitForNotification();
}

void InTwoThreads(const std::function<void()>& one, const std::function<void()>& other) {
  std::thread thread(one);
  other();
  thread.join();
}

// With the sanitizer's status if it has reported anything.
[[noreturn]] void End() {
  std::exit(0);  // NOLINT(concurrency-mt-unsafe): the other threads are at rest
}

// Each body runs in a process of its own, for a report ends in an exit status.
class RaceDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

  int value_ = 0;
  absl::Mutex mutex_;
  absl::Mutex other_mutex_;
};

#define EXPECT_RACE(body) \
  EXPECT_EXIT(            \
      {                   \
        body;             \
        End();            \
      },                  \
      ::testing::ExitedWithCode(kReported), "data race [^ ]*marks_test\\.cc")
#define EXPECT_NO_RACE(body) \
  EXPECT_EXIT(               \
      {                      \
        body;                \
        End();               \
      },                     \
      ::testing::ExitedWithCode(0), "^$")

TEST_F(RaceDeathTest, IsReportedBetweenAServersCallbackAndAnotherThread) {
  EXPECT_RACE(Call({.in_server = [&] { ++value_; }, .meanwhile = [&] { ++value_; }}));
}

TEST_F(RaceDeathTest, IsReportedBetweenAClientsCallbackAndAnotherThread) {
  EXPECT_RACE(Call({.meanwhile = [&] { ++value_; }, .when_done = [&] { ++value_; }}));
}

TEST_F(RaceDeathTest, IsReportedUnderTwoLocks) {
  EXPECT_RACE(InTwoThreads(
      [&] {
        const absl::MutexLock lock(&mutex_);
        ++value_;
      },
      [&] {
        const absl::MutexLock lock(&other_mutex_);
        ++value_;
      }));
}

TEST_F(RaceDeathTest, IsReportedUnderALockForReaders) {
  EXPECT_RACE(InTwoThreads(
      [&] {
        const absl::ReaderMutexLock lock(&mutex_);
        ++value_;
      },
      [&] {
        const absl::ReaderMutexLock lock(&mutex_);
        ++value_;
      }));
}

TEST_F(RaceDeathTest, IsReportedAfterAWaitThatEndedWithoutNotification) {
  absl::Notification never;
  EXPECT_RACE(InTwoThreads([&] { ++value_; },
                           [&] {
                             never.WaitForNotificationWithTimeout(absl::ZeroDuration());
                             ++value_;
                           }));
}

TEST_F(RaceDeathTest, IsNoneUnderOneLock) {
  const auto add = [&] {
    const absl::MutexLock lock(&mutex_);
    ++value_;
  };
  EXPECT_NO_RACE(Call({.in_server = add, .meanwhile = add, .when_done = add}));
}

TEST_F(RaceDeathTest, IsNoneBetweenReadersAndAWriterOfOneLock) {
  const auto read = [&] {
    const absl::ReaderMutexLock lock(&mutex_);
    return value_;
  };
  EXPECT_NO_RACE(InTwoThreads(
      [&] {
        const absl::MutexLock lock(&mutex_);
        ++value_;
      },
      read));
}

TEST_F(RaceDeathTest, IsNoneAfterWaitingForACondition) {
  bool is_set = false;
  EXPECT_NO_RACE(InTwoThreads(
      [&] {
        const absl::MutexLock lock(&mutex_);
        ++value_;
        is_set = true;
      },
      [&] {
        const absl::MutexLock lock(&mutex_);
        mutex_.Await(absl::Condition(&is_set));
        ++value_;
      }));
}

TEST_F(RaceDeathTest, IsNoneAfterASignal) {
  bool is_set = false;
  absl::CondVar changed;
  EXPECT_NO_RACE(InTwoThreads(
      [&] {
        const absl::MutexLock lock(&mutex_);
        is_set = true;
        changed.Signal();
      },
      [&] {
        const absl::MutexLock lock(&mutex_);
        while (!is_set) changed.Wait(&mutex_);
      }));
}

TEST_F(RaceDeathTest, IsNoneBetweenACallerAndWhatItsCallHandsOn) {
  EXPECT_NO_RACE({
    ++value_;  // before the call
    Call({.when_done = [&] { ++value_; }});
    ++value_;  // after its notification
  });
}

}  // namespace
}  // namespace pipefill
