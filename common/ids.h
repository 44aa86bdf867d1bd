// Distinct integer types for ids: passing one where another is meant does not compile.
//
// Pure.
#ifndef COMMON_IDS_H_
#define COMMON_IDS_H_

#include <compare>
#include <cstdint>
#include <ostream>
#include <utility>

namespace pipefill {

template <typename Tag, typename Value>
class Id {
 public:
  constexpr Id() = default;
  explicit constexpr Id(Value value) : value_(value) {}
  constexpr Value value() const { return value_; }
  friend constexpr auto operator<=>(Id, Id) = default;
  friend std::ostream& operator<<(std::ostream& out, Id id) { return out << id.value_; }
  template <typename H>
  friend H AbslHashValue(H h, Id id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  Value value_ = 0;
};

// A fill job; unique in one store for ever, from 1.
using JobId = Id<struct JobTag, int64_t>;
// One try at a job; unique inside the job, from 1.
using AttemptNumber = Id<struct AttemptTag, int32_t>;
// Unique and growing over the whole store: the larger fence is the newer attempt.
using Fence = Id<struct FenceTag, uint64_t>;

}  // namespace pipefill

#endif  // COMMON_IDS_H_
