// A value of its own that most objects of a kind do not have: costs a pointer where it is absent.
// Copies and compares as the value does.
//
// Pure.
#ifndef SCHEDULER_CORE_BOXED_H_
#define SCHEDULER_CORE_BOXED_H_

#include <memory>
#include <utility>

namespace pipefill::scheduler {

template <typename T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) { *this = other; }
  Boxed& operator=(const Boxed& other) {
    value_ = other.value_ == nullptr ? nullptr : std::make_unique<T>(*other.value_);
    return *this;
  }
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  bool has_value() const { return value_ != nullptr; }
  // REQUIRES: has_value().
  const T& operator*() const { return *value_; }
  T& operator*() { return *value_; }
  const T* operator->() const { return value_.get(); }
  T* operator->() { return value_.get(); }

  friend bool operator==(const Boxed& a, const Boxed& b) {
    if (a.value_ == nullptr || b.value_ == nullptr) return a.value_ == b.value_;
    return *a.value_ == *b.value_;
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_BOXED_H_
