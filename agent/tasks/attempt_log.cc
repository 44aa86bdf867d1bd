#include "agent/tasks/attempt_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr size_t kReadBytes = size_t{64} << 10;
// Per turn of the loop, so that a task that prints without end cannot hold the loop.
constexpr int64_t kTurnBytes = int64_t{256} << 10;
// After the end: more than any pipe holds.
constexpr int64_t kFinishBytes = int64_t{2} << 20;

}  // namespace

AttemptLog::AttemptLog(EventLoop& loop, std::string path, int64_t size_max_bytes)
    : loop_(loop), path_(std::move(path)), size_max_bytes_(size_max_bytes) {}

absl::StatusOr<std::unique_ptr<AttemptLog>> AttemptLog::Create(EventLoop& loop,
                                                               const std::string& path,
                                                               int64_t size_max_bytes) {
  std::unique_ptr<AttemptLog> log(new AttemptLog(loop, path, size_max_bytes));
  RETURN_IF_ERROR(log->Open());
  return log;
}

AttemptLog::~AttemptLog() { StopWatching(); }

absl::Status AttemptLog::Open() {
  file_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file_.is_open()) return ErrnoStatus(errno, "make the log " + path_);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe for " + path_);
  reader_ = FileDescriptor(ends[0]);
  writer_ = FileDescriptor(ends[1]);
  if (fcntl(reader_.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "set up the pipe for " + path_);
  }
  watch_ = loop_.WatchReadable(reader_.get(), [this] { Drain(kTurnBytes); });
  return absl::OkStatus();
}

void AttemptLog::StopWatching() {
  if (watch_.has_value()) loop_.Unwatch(*watch_);
  watch_ = std::nullopt;
}

bool AttemptLog::Drain(int64_t limit) {
  char buffer[kReadBytes];
  for (int64_t taken = 0; taken < limit;) {
    const ssize_t count = read(reader_.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) {
      StopWatching();
      return false;
    }
    Keep(absl::string_view(buffer, static_cast<size_t>(count)));
    taken += count;
  }
  return true;
}

void AttemptLog::Keep(absl::string_view text) {
  if (is_cut_) return;
  const auto room = static_cast<size_t>(size_max_bytes_ - size_bytes_);
  Write(text.substr(0, room));
  if (text.size() <= room) return;
  is_cut_ = true;
  Write(absl::StrCat("\n[pipefill: output beyond ", FormatBytes(size_max_bytes_),
                     " was dropped; see log_max of agentd]\n"));
}

void AttemptLog::Write(absl::string_view text) {
  while (!text.empty() && file_.is_open()) {
    const ssize_t count = write(file_.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      spdlog::warn("log_stopped path={} error=\"{}\"", path_,
                   ErrnoStatus(errno, "write").message());
      is_cut_ = true;
      file_.Close();
      return;
    }
    text.remove_prefix(static_cast<size_t>(count));
    size_bytes_ += count;
  }
}

void AttemptLog::Finish() {
  writer_.Close();
  if (!reader_.is_open()) return;
  Drain(kFinishBytes);
  StopWatching();
  reader_.Close();
  file_.Close();
}

}  // namespace pipefill
