#include "client/platform/futex.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace pipefill::sdk {

// Never FUTEX_PRIVATE_FLAG: the word lies in a page that several processes map.
WaitResult SystemFutex::Wait(const std::atomic<uint32_t>& word, uint32_t expected,
                             uint64_t timeout_ns) {
  timespec timeout = {};
  timeout.tv_sec = static_cast<time_t>(timeout_ns / 1'000'000'000u);
  timeout.tv_nsec = static_cast<long>(timeout_ns % 1'000'000'000u);
  const long result = syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
  if (result == 0) return WaitResult::kWoken;
  if (errno == ETIMEDOUT) return WaitResult::kTimedOut;
  if (errno == EINTR) return WaitResult::kInterrupted;
  return WaitResult::kWoken;
}

void SystemFutex::WakeAll(const std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void SystemFutex::Relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace pipefill::sdk
