// A queue with a limit, and a named policy for what happens at the limit.
//
// Thread-compatible: belongs to one loop. Between threads, post to the loop instead.
#ifndef COMMON_BOUNDED_QUEUE_H_
#define COMMON_BOUNDED_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "common/check.h"

namespace pipefill {

enum class Overflow {
  kReject,      // Push returns false; the new item is dropped
  kDropOldest,  // the item that waits longest is dropped
};

template <typename T>
class BoundedQueue {
 public:
  BoundedQueue(size_t limit, Overflow overflow) : limit_(limit), overflow_(overflow) {
    CHECK(limit > 0);
  }

  // False if an item, this or the oldest, was dropped.
  bool Push(T item) {
    bool kept_all = true;
    if (items_.size() >= limit_) {
      ++dropped_;
      if (overflow_ == Overflow::kReject) return false;
      items_.pop_front();
      kept_all = false;
    }
    items_.push_back(std::move(item));
    return kept_all;
  }

  std::optional<T> Pop() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  bool is_empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }
  size_t limit() const { return limit_; }
  // Items ever dropped.
  uint64_t dropped() const { return dropped_; }

 private:
  const size_t limit_;
  const Overflow overflow_;
  std::deque<T> items_;
  uint64_t dropped_ = 0;
};

}  // namespace pipefill

#endif  // COMMON_BOUNDED_QUEUE_H_
