// Owns one file descriptor.
//
// Thread-compatible.
#ifndef CLIENT_PLATFORM_DESCRIPTOR_H_
#define CLIENT_PLATFORM_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace pipefill::sdk {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      value_ = std::exchange(other.value_, -1);
    }
    return *this;
  }
  ~Descriptor() { Close(); }

  // -1 if it owns none.
  int get() const { return value_; }
  bool is_open() const { return value_ >= 0; }
  // Gives up ownership without closing.
  int Release() { return std::exchange(value_, -1); }

 private:
  void Close() {
    if (value_ >= 0) close(value_);
    value_ = -1;
  }

  int value_ = -1;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PLATFORM_DESCRIPTOR_H_
