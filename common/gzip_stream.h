// Reads a file that may be compressed by gzip, piece by piece.
//
// Thread-compatible: used from one thread.
#ifndef COMMON_GZIP_STREAM_H_
#define COMMON_GZIP_STREAM_H_

#include <memory>
#include <streambuf>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_descriptor.h"

struct z_stream_s;

namespace pipefill {

// For std::istream. Ends where the file ends, or where it is broken: ask status() then.
class GzipBuffer : public std::streambuf {
 public:
  // NotFound or PermissionDenied as the file system says.
  static absl::StatusOr<std::unique_ptr<GzipBuffer>> Open(const std::string& path);
  ~GzipBuffer() override;
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

  // InvalidArgument if the file was cut off or is damaged, as far as it was read; or what the file
  // system says.
  const absl::Status& status() const { return status_; }

 protected:
  int_type underflow() override;

 private:
  GzipBuffer(std::string path, FileDescriptor file);

  // Of the file, as it is. 0 at its end, or on an error.
  size_t Read(std::vector<char>& bytes);
  // The first bytes say whether there is something to unpack.
  size_t ReadFirst();
  // Members of a compressed file follow each other. 0 at its end, or on an error.
  size_t Unpack();
  void Refuse(const std::string& text);

  const std::string path_;
  const FileDescriptor file_;
  std::vector<char> bytes_;
  std::vector<char> packed_;              // empty: the file is not compressed
  std::unique_ptr<z_stream_s> unpacker_;  // if it is
  bool is_begun_ = false;
  bool is_between_members_ = true;
  absl::Status status_;
};

}  // namespace pipefill

#endif  // COMMON_GZIP_STREAM_H_
