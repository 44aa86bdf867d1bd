// Time and waiting under a test's control.
//
// Thread-compatible: for tests of one thread.
#ifndef CLIENT_TESTING_FAKES_H_
#define CLIENT_TESTING_FAKES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "client/platform/clock.h"
#include "client/platform/environment.h"
#include "client/platform/futex.h"

namespace pipefill::sdk {

// Stands still unless told to move, or to move on by itself at each look.
class FakeClock final : public Clock {
 public:
  uint64_t NowNs() const override { return now_ns += ns_per_look; }
  uint64_t ProcessCpuNs() const override { return cpu_ns; }

  mutable uint64_t now_ns = 100'000'000'000;
  uint64_t ns_per_look = 0;
  uint64_t cpu_ns = 0;
};

// Notes what it is asked for. A wait at a word that has not changed calls `on_wait`, which plays
// the rest of the world, and returns what that says; without it, it lets the time-out pass.
class FakeFutex final : public Futex {
 public:
  explicit FakeFutex(FakeClock& clock) : clock_(clock) {}

  WaitResult Wait(const std::atomic<uint32_t>& word, uint32_t expected,
                  uint64_t timeout_ns) override {
    ++waits;
    waited_at = &word;
    last_timeout_ns = timeout_ns;
    if (word.load() != expected) return WaitResult::kWoken;
    if (on_wait) return on_wait();
    clock_.now_ns += timeout_ns;
    return WaitResult::kTimedOut;
  }
  void WakeAll(const std::atomic<uint32_t>&) override { ++wakes; }
  void Relax() override {
    ++relaxes;
    clock_.now_ns += relax_ns;
  }

  std::function<WaitResult()> on_wait;
  uint64_t relax_ns = 100;
  int waits = 0;
  int wakes = 0;
  int relaxes = 0;
  const void* waited_at = nullptr;
  uint64_t last_timeout_ns = 0;

 private:
  FakeClock& clock_;
};

class FakeEnvironment final : public Environment {
 public:
  std::string Get(const char* name) const override {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  }

  std::map<std::string, std::string> variables;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_TESTING_FAKES_H_
