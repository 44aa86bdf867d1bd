#include "common/gzip_stream.h"

#include <zlib.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 18;

}  // namespace

absl::StatusOr<std::unique_ptr<GzipBuffer>> GzipBuffer::Open(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return ErrnoStatus(errno, absl::StrCat("open ", path));
  return std::unique_ptr<GzipBuffer>(new GzipBuffer(path, file));
}

GzipBuffer::GzipBuffer(std::string path, gzFile_s* file)
    : path_(std::move(path)), file_(file), bytes_(kPieceBytes) {}

GzipBuffer::~GzipBuffer() { gzclose(file_); }

GzipBuffer::int_type GzipBuffer::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  const int count = gzread(file_, bytes_.data(), static_cast<unsigned>(bytes_.size()));
  int error = Z_OK;
  const char* text = gzerror(file_, &error);
  // A file that ends inside its compressed data gives Z_BUF_ERROR once all that can be is read.
  if (count <= 0 && error != Z_OK) {
    status_ = absl::InvalidArgumentError(
        error == Z_BUF_ERROR
            ? absl::StrCat(path_, ": the compressed file is cut off; copy it again")
            : absl::StrCat(path_, ": cannot be unpacked (", text, "); copy it again"));
  }
  if (count <= 0) return traits_type::eof();
  setg(bytes_.data(), bytes_.data(), bytes_.data() + count);
  return traits_type::to_int_type(*gptr());
}

}  // namespace pipefill
