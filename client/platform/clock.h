// The two clocks that the SDK reads. All other code gets a Clock, so that tests set the time.
//
// Thread-safe.
#ifndef CLIENT_PLATFORM_CLOCK_H_
#define CLIENT_PLATFORM_CLOCK_H_

#include <cstdint>

namespace pipefill::sdk {

class Clock {
 public:
  virtual ~Clock() = default;

  // CLOCK_MONOTONIC, the time base of all shared pages.
  virtual uint64_t NowNs() const = 0;
  // CPU time of all threads of this process so far.
  virtual uint64_t ProcessCpuNs() const = 0;
};

class SystemClock final : public Clock {
 public:
  uint64_t NowNs() const override;
  uint64_t ProcessCpuNs() const override;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PLATFORM_CLOCK_H_
