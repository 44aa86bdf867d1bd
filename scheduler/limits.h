// What schedulerd takes on at a time, and what it says when it is asked for more. Every limit has
// the name of its setting; docs/how-to/limits.md lists them.
//
// Pure, but for LimitedCount, which is thread-safe.
#ifndef SCHEDULER_LIMITS_H_
#define SCHEDULER_LIMITS_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace pipefill::scheduler {

struct Limits {
  int64_t message_max_bytes = int64_t{4} << 20;
  int64_t requests_max = 10'000;
  int64_t waits_max = 10'000;
  int64_t watchers_max = 4'000;
  int64_t watchers_per_peer_max = 2'000;
  int64_t agents_max = 16'384;
  int64_t backups_max = 4;
  int64_t page_max = 1'000;
  int64_t ids_max = 1'000;
  int64_t questions_max = 1'024;
  int64_t watch_log_max = 65'536;
};

struct ReachedLimit {
  absl::string_view name;  // of the setting
  int64_t max = 0;
  absl::string_view what;  // that there are so many of: "watches run"
  absl::string_view advice;
  // When there may be room again, if waiting helps.
  std::optional<absl::Duration> retry_after = std::nullopt;
};

// ResourceExhausted: "watchers_max: 4000 watches run already, which is the limit; ADVICE".
absl::Status LimitError(const ReachedLimit& limit);

// How many there are of something that comes and goes.
class LimitedCount {
 public:
  explicit LimitedCount(int64_t max) : max_(max) {}

  // False at the limit; else Leave is owed.
  bool Enter();
  void Leave() { --used_; }

  int64_t max() const { return max_; }
  int64_t used() const { return used_; }

 private:
  const int64_t max_;
  std::atomic<int64_t> used_ = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_LIMITS_H_
