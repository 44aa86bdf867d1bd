// A point on this node's monotonic clock (CLOCK_MONOTONIC), in nanoseconds. Not comparable between
// nodes, nor with wall time (absl::Time): mixing them does not compile.
//
// Pure.
#ifndef COMMON_INSTANT_H_
#define COMMON_INSTANT_H_

#include <compare>
#include <cstdint>

#include "absl/time/time.h"

namespace pipefill {

class Instant {
 public:
  constexpr Instant() = default;
  // From a `_ns` field of a page or a message.
  static constexpr Instant FromNs(int64_t ns) { return Instant(ns); }
  constexpr int64_t ns() const { return ns_; }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend Instant operator+(Instant a, absl::Duration d) {
    return Instant(a.ns_ + absl::ToInt64Nanoseconds(d));
  }
  friend absl::Duration operator-(Instant a, Instant b) { return absl::Nanoseconds(a.ns_ - b.ns_); }

 private:
  explicit constexpr Instant(int64_t ns) : ns_(ns) {}
  int64_t ns_ = 0;
};

}  // namespace pipefill

#endif  // COMMON_INSTANT_H_
