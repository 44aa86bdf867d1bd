#include "client/attach/page_mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace pipefill::sdk {
namespace {

Error CheckFile(int descriptor, size_t size_bytes) {
  // Not fstat: as a symbol of its own it is younger than many a glibc that loads this library.
  const off_t has_bytes = lseek(descriptor, 0, SEEK_END);
  if (has_bytes < 0) return SystemError("size of a shared page", errno);
  if (static_cast<size_t>(has_bytes) < size_bytes) {
    return {PF_BAD_VERSION, "shared page too small: has_bytes=" + std::to_string(has_bytes) +
                                " needs_bytes=" + std::to_string(size_bytes) +
                                "; use the SDK that came with this agentd"};
  }
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return {PF_SYSTEM, "shared page refused: it is not sealed against shrinking"};
  }
  return {};
}

Error CheckHeader(const PageHeader& header, const PageExpectation& expected) {
  if (header.magic != static_cast<uint32_t>(expected.kind)) {
    return {PF_SYSTEM, "shared page refused: magic=" + std::to_string(header.magic) +
                           " expected=" + std::to_string(static_cast<uint32_t>(expected.kind))};
  }
  if (header.version != kPageVersion || header.size_bytes != expected.size_bytes) {
    return {PF_BAD_VERSION, "page version differs: agentd=" + std::to_string(header.version) +
                                " sdk=" + std::to_string(kPageVersion) +
                                "; use the SDK that came with this agentd"};
  }
  return {};
}

}  // namespace

PageMapping::PageMapping(PageMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)) {}

PageMapping& PageMapping::operator=(PageMapping&& other) noexcept {
  if (this != &other) {
    Unmap();
    data_ = std::exchange(other.data_, nullptr);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
  }
  return *this;
}

PageMapping::~PageMapping() { Unmap(); }

void PageMapping::Unmap() {
  if (data_ != nullptr) munmap(data_, size_bytes_);
  data_ = nullptr;
}

Error PageMapping::Map(int descriptor, const PageExpectation& expected, PageMapping* mapping) {
  Error error = CheckFile(descriptor, expected.size_bytes);
  if (!error.ok()) return error;
  const int protection =
      expected.access == PageAccess::kReadWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  // Populated now, so that no later store or load takes a page fault.
  void* data =
      mmap(nullptr, expected.size_bytes, protection, MAP_SHARED | MAP_POPULATE, descriptor, 0);
  if (data == MAP_FAILED) return SystemError("mmap of a shared page", errno);
  PageMapping mapped;
  mapped.data_ = data;
  mapped.size_bytes_ = expected.size_bytes;
  error = CheckHeader(*mapped.As<PageHeader>(), expected);
  if (error.ok()) *mapping = std::move(mapped);
  return error;
}

}  // namespace pipefill::sdk
