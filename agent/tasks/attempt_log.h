// One log of one attempt: what a task writes to stdout or stderr, on its way through a pipe into a
// file of bounded size.
//
//   task --write--> pipe --agent loop--> file, up to size_max, then one line saying so; the rest is
//                                        read and dropped
//
// Why a pipe, and not the file itself as the task's stdout: the bound then is exact, a task that
// prints without end is slowed by its pipe and not by the main job's disk, and no limit is put on
// the other files of the task (as RLIMIT_FSIZE would). The price: a task that prints after agentd
// has died gets SIGPIPE. It has lost its gate by then, and the next agentd ends it anyway.
//
// A file that cannot be written (disk full) stops the log, with one warning; never the task.
//
// Runs on the agent loop.
#ifndef AGENT_TASKS_ATTEMPT_LOG_H_
#define AGENT_TASKS_ATTEMPT_LOG_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/file_descriptor.h"
#include "common/loop.h"

namespace pipefill {

class AttemptLog {
 public:
  // Makes the file `path`. `loop` outlives the log.
  static absl::StatusOr<std::unique_ptr<AttemptLog>> Create(EventLoop& loop,
                                                            const std::string& path,
                                                            int64_t size_max_bytes);
  ~AttemptLog();
  AttemptLog(const AttemptLog&) = delete;
  AttemptLog& operator=(const AttemptLog&) = delete;

  // The task's end of the pipe; open until CloseWriter, to be called when the task has it.
  int writer() const { return writer_.get(); }
  void CloseWriter() { writer_.Close(); }

  // The task is gone: takes what still is in the pipe and closes it. Descendants of the task that
  // escaped with the pipe do not hold it open.
  void Finish();

 private:
  AttemptLog(EventLoop& loop, std::string path, int64_t size_max_bytes);

  absl::Status Open();
  // Reads what is there, at most `limit` bytes. False when the pipe is empty or at its end.
  bool Drain(int64_t limit);
  void Keep(absl::string_view text);
  void Write(absl::string_view text);
  void StopWatching();

  EventLoop& loop_;
  const std::string path_;
  const int64_t size_max_bytes_;
  int64_t size_bytes_ = 0;
  bool is_cut_ = false;
  FileDescriptor file_;
  FileDescriptor reader_;
  FileDescriptor writer_;
  std::optional<EventLoop::WatchId> watch_;
};

}  // namespace pipefill

#endif  // AGENT_TASKS_ATTEMPT_LOG_H_
