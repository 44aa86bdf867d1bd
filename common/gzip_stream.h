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

struct gzFile_s;

namespace pipefill {

// For std::istream. Ends where the file ends, or where it is broken: ask status() then.
class GzipBuffer : public std::streambuf {
 public:
  // NotFound or PermissionDenied as the file system says.
  static absl::StatusOr<std::unique_ptr<GzipBuffer>> Open(const std::string& path);
  ~GzipBuffer() override;
  GzipBuffer(const GzipBuffer&) = delete;
  GzipBuffer& operator=(const GzipBuffer&) = delete;

  // InvalidArgument if the file was cut off or is damaged, as far as it was read.
  const absl::Status& status() const { return status_; }

 protected:
  int_type underflow() override;

 private:
  GzipBuffer(std::string path, gzFile_s* file);

  const std::string path_;
  gzFile_s* const file_;  // owned
  std::vector<char> bytes_;
  absl::Status status_;
};

}  // namespace pipefill

#endif  // COMMON_GZIP_STREAM_H_
