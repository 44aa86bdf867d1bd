// Owns one shared page: a memfd of fixed size (F_SEAL_SHRINK | F_SEAL_GROW), zeroed, mapped here
// for reading and writing.
//
// A page is written by one process. Either that is this one: call SealWriter at once. Or another
// process gets descriptor(), maps it writable, and then SealWriter is called: from then on nobody
// can make a writable mapping (F_SEAL_FUTURE_WRITE), and existing ones stay.
//
// Thread-compatible.
#ifndef COMMON_SEALED_PAGE_H_
#define COMMON_SEALED_PAGE_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_descriptor.h"

namespace pipefill {

class SealedPage {
 public:
  // `name` shows up in /proc/PID/maps. ResourceExhausted or Internal if the kernel refuses.
  static absl::StatusOr<SealedPage> Create(const char* name, size_t size_bytes);

  SealedPage(SealedPage&& other) noexcept;
  SealedPage& operator=(SealedPage&& other) noexcept;
  ~SealedPage();

  absl::Status SealWriter();

  int descriptor() const { return descriptor_.get(); }
  size_t size_bytes() const { return size_bytes_; }
  void* data() const { return data_; }
  // REQUIRES: sizeof(Page) <= size_bytes().
  template <typename Page>
  Page* As() const {
    return static_cast<Page*>(data_);
  }

 private:
  SealedPage(FileDescriptor descriptor, void* data, size_t size_bytes);
  void Unmap();

  FileDescriptor descriptor_;
  void* data_ = nullptr;
  size_t size_bytes_ = 0;
};

}  // namespace pipefill

#endif  // COMMON_SEALED_PAGE_H_
