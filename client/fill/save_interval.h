// When a task should save: how much useful time may pass between two checkpoints.
//
// Young's rule: with saves that cost C and a loss once in M of useful time, saves every sqrt(2 C M)
// make saving plus work done twice the least. M is assumed to be kLossEveryNs: a task of a busy
// cluster is moved or loses its node a few times a day, and half an hour of useful time is some
// hours of bubbles. Being wrong about M by a factor of four costs a quarter more than the least.
// In any case saves cost at most one kCostShare-th of useful time, and what is configured bounds
// the rest.
//
// Useful time is CPU time of units; what a save costs is its unit and the writing to disk, in which
// the task could have used bubbles.
//
// Pure.
#ifndef CLIENT_FILL_SAVE_INTERVAL_H_
#define CLIENT_FILL_SAVE_INTERVAL_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace pipefill::sdk {

// Configured; min <= max.
struct SaveBounds {
  uint64_t min_ns = 10'000'000'000;
  uint64_t max_ns = 600'000'000'000;
};

class SaveInterval {
 public:
  static constexpr uint64_t kLossEveryNs = 1'800'000'000'000;
  static constexpr uint64_t kCostShare = 50;

  explicit SaveInterval(const SaveBounds& bounds) : bounds_(bounds), interval_ns_(bounds.min_ns) {}

  void OnUseful(uint64_t useful_ns) {
    unsaved_ns_ += useful_ns;
    since_try_ns_ += useful_ns;
  }
  // Failed or not, the next one comes an interval later.
  void OnSave(uint64_t cost_ns, bool is_done) {
    since_try_ns_ = 0;
    if (is_done) unsaved_ns_ = 0;
    const auto young_ns = static_cast<uint64_t>(
        std::sqrt(2.0 * static_cast<double>(cost_ns) * static_cast<double>(kLossEveryNs)));
    const uint64_t least_ns = std::max(bounds_.min_ns, kCostShare * cost_ns);
    interval_ns_ = std::max(std::min(young_ns, bounds_.max_ns), least_ns);
  }

  bool is_due() const { return since_try_ns_ >= std::max<uint64_t>(1, interval_ns_); }
  // By a whole interval.
  bool is_overdue() const { return is_due() && since_try_ns_ >= 2 * interval_ns_; }
  uint64_t unsaved_ns() const { return unsaved_ns_; }
  uint64_t interval_ns() const { return interval_ns_; }

 private:
  const SaveBounds bounds_;
  uint64_t interval_ns_;
  uint64_t unsaved_ns_ = 0;    // since the last save that was done
  uint64_t since_try_ns_ = 0;  // since the last one that was tried
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_SAVE_INTERVAL_H_
