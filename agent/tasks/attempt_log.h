// One log of one attempt: what a task writes to stdout or stderr, on its way through a pipe into a
// file of bounded size.
//
//   task --write--> pipe --keeper--> file, up to size_max, then one line saying so; the rest is
//                              \     read and dropped
//                               times: when which byte was written, about one entry a second
//
// Why a pipe, and not the file itself as the task's stdout: the bound then is exact, a task that
// prints without end is slowed by its pipe and not by the main job's disk, and no limit is put on
// the other files of the task (as RLIMIT_FSIZE would).
//
// A file that cannot be written (disk full) stops the log, with one warning at the task's end;
// never the task.
//
// LogPipe is agentd's; LogCopy is async-signal-safe, for the task's keeper. Thread-compatible.
#ifndef AGENT_TASKS_ATTEMPT_LOG_H_
#define AGENT_TASKS_ATTEMPT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/file_descriptor.h"

namespace pipefill {

// One entry of the times: what lies at `offset` and behind was written at that time or later.
struct LogTime {
  int64_t unix_ns = 0;
  int64_t offset = 0;
};

struct LogPipe {
  FileDescriptor file;
  FileDescriptor times;
  FileDescriptor reader;  // does not block
  FileDescriptor writer;  // the task's
};

// The file of the times of the log `path`.
std::string LogTimesPath(const std::string& path);
// Makes the file `path`, that of its times, and the pipe.
absl::StatusOr<LogPipe> MakeLogPipe(const std::string& path);

struct LogLimit {
  int64_t size_max_bytes = 0;
  // Written once where the log is cut; outlives the copy.
  const char* cut_note = "";
};
// Where to begin to read what was written at `since_unix_ns` or later, and up to a second before:
// INT64_MAX if nothing was. 0 if the times cannot be read.
int64_t FindLogOffset(const std::string& path, int64_t since_unix_ns);
// The text for LogLimit.
std::string LogCutNote(int64_t size_max_bytes);

class LogCopy {
 public:
  // Per turn, so that one stream cannot hold up the other.
  static constexpr int64_t kTurnBytes = int64_t{256} << 10;
  // Once the task is gone: more than any pipe holds.
  static constexpr int64_t kFinishBytes = int64_t{2} << 20;
  // Between two entries of the times, and how many there are at most: a week of a second each.
  static constexpr int64_t kTimesNs = 1'000'000'000;
  static constexpr int64_t kTimesMax = 7 * 24 * 3600;

  // Ends of a log's pipe, its file, and that of its times.
  struct Descriptors {
    int reader = -1;
    int file = -1;
    int times = -1;
  };

  LogCopy(const Descriptors& descriptors, const LogLimit& limit)
      : reader_(descriptors.reader),
        file_(descriptors.file),
        times_(descriptors.times),
        limit_(limit) {}

  // Copies what is there, at most `bytes`.
  void Copy(int64_t bytes, int64_t now_unix_ns) noexcept;
  // The end of the pipe was seen: nobody can write to it any more.
  bool is_over() const { return is_over_; }
  // What ended the writing; 0 if nothing did.
  int error_number() const { return error_number_; }

 private:
  void Keep(const char* text, size_t size) noexcept;
  void Write(const char* text, size_t size) noexcept;
  void NoteTime(int64_t now_unix_ns) noexcept;

  const int reader_;
  const int file_;
  const int times_;
  const LogLimit limit_;
  int64_t size_bytes_ = 0;
  int64_t noted_unix_ns_ = 0;
  int64_t times_count_ = 0;
  bool is_cut_ = false;
  bool is_over_ = false;
  int error_number_ = 0;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_ATTEMPT_LOG_H_
