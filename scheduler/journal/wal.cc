#include "scheduler/journal/wal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/file_descriptor.h"
#include "common/status.h"

namespace pipefill::scheduler {
namespace {

// https://sqlite.org/fileformat.html#the_write_ahead_log
constexpr size_t kHeadBytes = 32;
constexpr size_t kFrameHeadBytes = 24;
constexpr uint32_t kMagic = 0x377f0682;  // the last bit: checksums over big-endian words

uint32_t BigEndian(absl::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

uint32_t LittleEndian(absl::string_view bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 4; i > 0; --i) number = number << 8 | static_cast<uint8_t>(bytes[at + i - 1]);
  return number;
}

struct Checksum {
  uint32_t first = 0;
  uint32_t second = 0;

  friend bool operator==(const Checksum&, const Checksum&) = default;
};

// Goes on from `sum`. REQUIRES: the length is a multiple of 8.
Checksum AddTo(Checksum sum, absl::string_view bytes, bool is_big_endian) {
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    const uint32_t a = is_big_endian ? BigEndian(bytes, at) : LittleEndian(bytes, at);
    const uint32_t b = is_big_endian ? BigEndian(bytes, at + 4) : LittleEndian(bytes, at + 4);
    sum.first += a + sum.second;
    sum.second += b + sum.first;
  }
  return sum;
}

struct WalHead {
  bool is_good = false;
  bool is_big_endian = false;
  size_t page_bytes = 0;
  uint32_t salt1 = 0;
  uint32_t salt2 = 0;
  Checksum sum;
};

WalHead ReadHead(absl::string_view bytes) {
  WalHead head;
  if (bytes.size() < kHeadBytes || (BigEndian(bytes, 0) & ~1U) != kMagic) return head;
  head.is_big_endian = (BigEndian(bytes, 0) & 1U) != 0;
  head.page_bytes = BigEndian(bytes, 8);
  head.salt1 = BigEndian(bytes, 16);
  head.salt2 = BigEndian(bytes, 20);
  head.sum = AddTo({}, bytes.substr(0, 24), head.is_big_endian);
  const bool is_page_size = head.page_bytes >= 512 && head.page_bytes <= 65536 &&
                            (head.page_bytes & (head.page_bytes - 1)) == 0;
  head.is_good = is_page_size && head.sum == Checksum{BigEndian(bytes, 24), BigEndian(bytes, 28)};
  return head;
}

// Follows the frames of one log.
class WalWalk {
 public:
  explicit WalWalk(const WalHead& head) : head_(head), sum_(head.sum) {}

  void Take(absl::string_view frame) {
    const bool is_of_this_log =
        BigEndian(frame, 8) == head_.salt1 && BigEndian(frame, 12) == head_.salt2;
    if (!is_of_this_log) {
      // Left over from before the log began anew. Nothing of ours lies behind.
      is_intact_ = false;
      return;
    }
    const bool is_commit = BigEndian(frame, 4) != 0;
    // There is no page 0.
    if (is_intact_) is_intact_ = BigEndian(frame, 0) != 0 && Matches(frame);
    if (is_intact_) {
      ++open_frames_;
      if (!is_commit) return;
      report_.frames += open_frames_;
      open_frames_ = 0;
      return;
    }
    ++report_.torn_frames;
    if (has_later_commit_) report_.is_damaged = true;
    if (is_commit) has_later_commit_ = true;
  }

  WalReport Finish() {
    report_.torn_frames += open_frames_;
    return report_;
  }

 private:
  bool Matches(absl::string_view frame) {
    sum_ = AddTo(sum_, frame.substr(0, 8), head_.is_big_endian);
    sum_ = AddTo(sum_, frame.substr(kFrameHeadBytes), head_.is_big_endian);
    return sum_ == Checksum{BigEndian(frame, 16), BigEndian(frame, 20)};
  }

  const WalHead head_;
  Checksum sum_;
  WalReport report_;
  bool is_intact_ = true;
  int64_t open_frames_ = 0;  // good ones without their commit so far
  bool has_later_commit_ = false;
};

// False at the end of the file.
absl::StatusOr<bool> ReadAt(int file, off_t offset, std::string* bytes) {
  size_t done = 0;
  while (done < bytes->size()) {
    const ssize_t count =
        pread(file, bytes->data() + done, bytes->size() - done, offset + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return ErrnoStatus(errno, "read");
    if (count == 0) return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

}  // namespace

absl::StatusOr<WalReport> InspectWal(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open() && errno == ENOENT) return WalReport();
  if (!file.is_open()) return ErrnoStatus(errno, absl::StrCat("open ", path));
  std::string bytes(kHeadBytes, '\0');
  ASSIGN_OR_RETURN(const bool has_head, ReadAt(file.get(), 0, &bytes));
  if (!has_head) return WalReport();
  const WalHead head = ReadHead(bytes);
  // SQLite ignores such a log, and so do we; what was in it is found missing by the mark.
  if (!head.is_good) return WalReport();
  WalWalk walk(head);
  bytes.resize(kFrameHeadBytes + head.page_bytes);
  for (off_t at = kHeadBytes;; at += static_cast<off_t>(bytes.size())) {
    ASSIGN_OR_RETURN(const bool has_frame, ReadAt(file.get(), at, &bytes));
    if (!has_frame) return walk.Finish();
    walk.Take(bytes);
  }
}

}  // namespace pipefill::scheduler
