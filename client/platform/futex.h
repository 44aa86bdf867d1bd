// Waiting for, and waking, another process at a 32-bit word of a shared page.
//
// Thread-safe.
#ifndef CLIENT_PLATFORM_FUTEX_H_
#define CLIENT_PLATFORM_FUTEX_H_

#include <atomic>
#include <cstdint>

namespace pipefill::sdk {

enum class WaitResult {
  kWoken,        // somebody woke us, or the word had another value already
  kTimedOut,     // nothing happened
  kInterrupted,  // a signal handler ran in this thread
};

class Futex {
 public:
  virtual ~Futex() = default;

  // Sleeps while `word` holds `expected`, at most `timeout_ns`. A read-only mapping will do. May
  // return kWoken without any reason: look again.
  virtual WaitResult Wait(const std::atomic<uint32_t>& word, uint32_t expected,
                          uint64_t timeout_ns) = 0;

  // One system call; wakes everyone who waits at `word`, in all processes.
  virtual void WakeAll(const std::atomic<uint32_t>& word) = 0;

  // Lets the other hardware thread of the core run for a moment, between two looks at a word.
  virtual void Relax() = 0;
};

class SystemFutex final : public Futex {
 public:
  WaitResult Wait(const std::atomic<uint32_t>& word, uint32_t expected,
                  uint64_t timeout_ns) override;
  void WakeAll(const std::atomic<uint32_t>& word) override;
  void Relax() override;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PLATFORM_FUTEX_H_
