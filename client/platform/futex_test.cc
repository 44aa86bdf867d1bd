#include "client/platform/futex.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint64_t kLongNs = 30'000'000'000;

// A word that a forked child shares.
class FutexTest : public testing::Test {
 protected:
  FutexTest()
      : word_(static_cast<std::atomic<uint32_t>*>(mmap(nullptr, sizeof(uint32_t),
                                                       PROT_READ | PROT_WRITE,
                                                       MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~FutexTest() override { munmap(word_, sizeof(uint32_t)); }

  std::atomic<uint32_t>* const word_;
  SystemFutex futex_;
};

TEST_F(FutexTest, ReturnsAtOnceWhenTheWordHasAnotherValue) {
  word_->store(4);
  EXPECT_EQ(futex_.Wait(*word_, 3, kLongNs), WaitResult::kWoken);
}

TEST_F(FutexTest, ReturnsWhenTheTimeIsOver) {
  EXPECT_EQ(futex_.Wait(*word_, 0, 1'000'000), WaitResult::kTimedOut);
}

TEST_F(FutexTest, IsWokenByAnotherProcess) {
  const pid_t child = fork();
  if (child == 0) {
    word_->store(1);
    // Until the waiter has really been woken, or never waited.
    while (word_->load() == 1) futex_.WakeAll(*word_);
    _exit(0);
  }
  WaitResult result = WaitResult::kWoken;
  while (word_->load() == 0 && result == WaitResult::kWoken)
    result = futex_.Wait(*word_, 0, kLongNs);
  word_->store(2);
  waitpid(child, nullptr, 0);

  EXPECT_EQ(result, WaitResult::kWoken);
}

TEST_F(FutexTest, TellsThatASignalHandlerRan) {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(SIGUSR1, &action, nullptr);
  const pid_t waiter = getpid();
  const pid_t child = fork();
  if (child == 0) {
    while (word_->load() == 0) kill(waiter, SIGUSR1);
    _exit(0);
  }
  WaitResult result = WaitResult::kWoken;
  while (result == WaitResult::kWoken) result = futex_.Wait(*word_, 0, kLongNs);
  word_->store(1);
  waitpid(child, nullptr, 0);

  EXPECT_EQ(result, WaitResult::kInterrupted);
}

}  // namespace
}  // namespace pipefill::sdk
