// Owns a file descriptor.
//
// Thread-compatible.
#ifndef COMMON_FILE_DESCRIPTOR_H_
#define COMMON_FILE_DESCRIPTOR_H_

#include <utility>

namespace pipefill {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor() { Close(); }

  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }
  void Close();

 private:
  int fd_ = -1;
};

}  // namespace pipefill

#endif  // COMMON_FILE_DESCRIPTOR_H_
