// One log of one attempt: what a task writes to stdout or stderr, on its way through a pipe into a
// file of bounded size.
//
//   task --write--> pipe --keeper--> file, up to size_max, then one line saying so; the rest is
//                                    read and dropped
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

struct LogPipe {
  FileDescriptor file;
  FileDescriptor reader;  // does not block
  FileDescriptor writer;  // the task's
};

// Makes the file `path` and the pipe.
absl::StatusOr<LogPipe> MakeLogPipe(const std::string& path);

struct LogLimit {
  int64_t size_max_bytes = 0;
  // Written once where the log is cut; outlives the copy.
  const char* cut_note = "";
};
// The text for LogLimit.
std::string LogCutNote(int64_t size_max_bytes);

class LogCopy {
 public:
  // Per turn, so that one stream cannot hold up the other.
  static constexpr int64_t kTurnBytes = int64_t{256} << 10;
  // Once the task is gone: more than any pipe holds.
  static constexpr int64_t kFinishBytes = int64_t{2} << 20;

  LogCopy(int reader, int file, const LogLimit& limit)
      : reader_(reader), file_(file), limit_(limit) {}

  // Copies what is there, at most `bytes`.
  void Copy(int64_t bytes) noexcept;
  // The end of the pipe was seen: nobody can write to it any more.
  bool is_over() const { return is_over_; }
  // What ended the writing; 0 if nothing did.
  int error_number() const { return error_number_; }

 private:
  void Keep(const char* text, size_t size) noexcept;
  void Write(const char* text, size_t size) noexcept;

  const int reader_;
  const int file_;
  const LogLimit limit_;
  int64_t size_bytes_ = 0;
  bool is_cut_ = false;
  bool is_over_ = false;
  int error_number_ = 0;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_ATTEMPT_LOG_H_
