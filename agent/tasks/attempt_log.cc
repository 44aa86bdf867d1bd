#include "agent/tasks/attempt_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;

}  // namespace

absl::StatusOr<LogPipe> MakeLogPipe(const std::string& path) {
  LogPipe log;
  log.file = FileDescriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!log.file.is_open()) return ErrnoStatus(errno, "make the log " + path);
  log.times = FileDescriptor(
      open(LogTimesPath(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!log.times.is_open()) return ErrnoStatus(errno, "make the times of the log " + path);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe for " + path);
  log.reader = FileDescriptor(ends[0]);
  log.writer = FileDescriptor(ends[1]);
  if (fcntl(log.reader.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "set up the pipe for " + path);
  }
  return log;
}

std::string LogTimesPath(const std::string& path) { return path + ".times"; }

int64_t FindLogOffset(const std::string& path, int64_t since_unix_ns) {
  const absl::StatusOr<std::string> bytes = ReadFile(LogTimesPath(path));
  if (!bytes.ok()) return 0;
  for (size_t begin = 0; begin + sizeof(LogTime) <= bytes->size(); begin += sizeof(LogTime)) {
    LogTime time;
    memcpy(&time, bytes->data() + begin, sizeof(time));
    // What was written before the next entry is up to a second younger than this one.
    if (time.unix_ns > since_unix_ns - LogCopy::kTimesNs) return std::max<int64_t>(0, time.offset);
  }
  return INT64_MAX;
}

std::string LogCutNote(int64_t size_max_bytes) {
  return absl::StrCat("\n[pipefill: output beyond ", FormatBytes(size_max_bytes),
                      " was dropped; see log_max of agentd]\n");
}

void LogCopy::NoteTime(int64_t now_unix_ns) noexcept {
  if (now_unix_ns - noted_unix_ns_ < kTimesNs || times_count_ >= kTimesMax) return;
  noted_unix_ns_ = now_unix_ns;
  ++times_count_;
  const LogTime time = {.unix_ns = now_unix_ns, .offset = size_bytes_};
  const ssize_t ignored = write(times_, &time, sizeof(time));
  static_cast<void>(ignored);
}

void LogCopy::Copy(int64_t bytes, int64_t now_unix_ns) noexcept {
  char buffer[kReadBytes];
  for (int64_t taken = 0; taken < bytes && !is_over_;) {
    const ssize_t count = read(reader_, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      is_over_ = true;
      return;
    }
    NoteTime(now_unix_ns);
    Keep(buffer, static_cast<size_t>(count));
    taken += count;
  }
}

void LogCopy::Keep(const char* text, size_t size) noexcept {
  if (is_cut_) return;
  const auto room = static_cast<size_t>(limit_.size_max_bytes - size_bytes_);
  Write(text, std::min(size, room));
  if (size <= room || is_cut_) return;
  is_cut_ = true;
  Write(limit_.cut_note, strlen(limit_.cut_note));
}

void LogCopy::Write(const char* text, size_t size) noexcept {
  while (size > 0 && error_number_ == 0) {
    const ssize_t count = write(file_, text, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      error_number_ = count < 0 ? errno : EIO;
      is_cut_ = true;
      return;
    }
    text += count;
    size -= static_cast<size_t>(count);
    size_bytes_ += count;
  }
}

}  // namespace pipefill
