#include "common/sealed_page.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace pipefill {
namespace {

absl::Status PageError(int error_number, const char* name, const char* step) {
  const absl::Status status =
      ErrnoStatus(error_number, absl::StrCat("shared page ", name, ": ", step));
  const bool is_exhausted =
      error_number == ENOMEM || error_number == EMFILE || error_number == ENFILE;
  return is_exhausted ? absl::ResourceExhaustedError(status.message())
                      : absl::InternalError(status.message());
}

}  // namespace

absl::StatusOr<SealedPage> SealedPage::Create(const char* name, size_t size_bytes) {
  CHECK(size_bytes > 0);
  FileDescriptor descriptor(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!descriptor.is_open()) return PageError(errno, name, "memfd_create");
  if (ftruncate(descriptor.get(), static_cast<off_t>(size_bytes)) != 0) {
    return PageError(errno, name, "ftruncate");
  }
  if (fcntl(descriptor.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
    return PageError(errno, name, "seal size");
  }
  void* data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
  if (data == MAP_FAILED) return PageError(errno, name, "mmap");
  return SealedPage(std::move(descriptor), data, size_bytes);
}

SealedPage::SealedPage(FileDescriptor descriptor, void* data, size_t size_bytes)
    : descriptor_(std::move(descriptor)), data_(data), size_bytes_(size_bytes) {}

SealedPage::SealedPage(SealedPage&& other) noexcept
    : descriptor_(std::move(other.descriptor_)),
      data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

SealedPage& SealedPage::operator=(SealedPage&& other) noexcept {
  if (this != &other) {
    Unmap();
    descriptor_ = std::move(other.descriptor_);
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

SealedPage::~SealedPage() { Unmap(); }

absl::Status SealedPage::SealWriter() {
  // F_SEAL_SEAL: whoever gets the descriptor cannot add seals of its own.
  if (fcntl(descriptor_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
    return absl::InternalError(ErrnoStatus(errno, "shared page: seal writer").message());
  }
  return absl::OkStatus();
}

void SealedPage::Unmap() {
  if (data_ != nullptr) munmap(data_, size_bytes_);
  data_ = nullptr;
}

}  // namespace pipefill
