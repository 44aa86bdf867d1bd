#include "common/gzip_stream.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 18;
constexpr absl::string_view kMagic = "\x1f\x8b";
// The largest window, and the frame of gzip around it.
constexpr int kGzipWindowBits = 15 + 16;

}  // namespace

absl::StatusOr<std::unique_ptr<GzipBuffer>> GzipBuffer::Open(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  return std::unique_ptr<GzipBuffer>(new GzipBuffer(path, std::move(file)));
}

GzipBuffer::GzipBuffer(std::string path, FileDescriptor file)
    : path_(std::move(path)), file_(std::move(file)), bytes_(kPieceBytes) {}

GzipBuffer::~GzipBuffer() {
  if (unpacker_ != nullptr) inflateEnd(unpacker_.get());
}

void GzipBuffer::Refuse(const std::string& text) {
  status_ = absl::InvalidArgumentError(absl::StrCat(path_, ": ", text, "; copy it again"));
}

size_t GzipBuffer::Read(std::vector<char>& bytes) {
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = read(file_.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) status_ = ErrnoStatus(errno, absl::StrCat("read ", path_));
    if (count <= 0) break;
    size += static_cast<size_t>(count);
  }
  return size;
}

size_t GzipBuffer::ReadFirst() {
  is_begun_ = true;
  const size_t size = Read(bytes_);
  if (!absl::StartsWith(absl::string_view(bytes_.data(), size), kMagic)) return size;
  packed_.swap(bytes_);
  bytes_.resize(kPieceBytes);
  unpacker_ = std::make_unique<z_stream>();
  unpacker_->next_in = reinterpret_cast<Bytef*>(packed_.data());
  unpacker_->avail_in = static_cast<uInt>(size);
  if (inflateInit2(unpacker_.get(), kGzipWindowBits) != Z_OK) {
    unpacker_.reset();
    status_ = absl::ResourceExhaustedError(absl::StrCat(path_, ": no memory to unpack it"));
    return 0;
  }
  return Unpack();
}

size_t GzipBuffer::Unpack() {
  z_stream& unpacker = *unpacker_;
  unpacker.next_out = reinterpret_cast<Bytef*>(bytes_.data());
  unpacker.avail_out = static_cast<uInt>(bytes_.size());
  while (unpacker.avail_out == bytes_.size()) {
    if (unpacker.avail_in == 0) {
      unpacker.next_in = reinterpret_cast<Bytef*>(packed_.data());
      unpacker.avail_in = static_cast<uInt>(Read(packed_));
    }
    if (unpacker.avail_in == 0) {
      if (status_.ok() && !is_between_members_) Refuse("the compressed file is cut off");
      return 0;
    }
    is_between_members_ = false;
    const int result = inflate(&unpacker, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      is_between_members_ = true;
      inflateReset(&unpacker);
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      Refuse(absl::StrCat("cannot be unpacked (",
                          unpacker.msg == nullptr ? "unknown" : unpacker.msg, ")"));
      break;
    }
  }
  return bytes_.size() - unpacker.avail_out;
}

GzipBuffer::int_type GzipBuffer::underflow() {
  if (gptr() < egptr()) return traits_type::to_int_type(*gptr());
  if (!status_.ok()) return traits_type::eof();
  const size_t size = !is_begun_ ? ReadFirst() : unpacker_ != nullptr ? Unpack() : Read(bytes_);
  if (size == 0) return traits_type::eof();
  setg(bytes_.data(), bytes_.data(), bytes_.data() + size);
  return traits_type::to_int_type(*gptr());
}

}  // namespace pipefill
