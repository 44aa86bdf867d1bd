// Where attempts live on the node:
//
//   <state_dir>/attempts/<job>.<attempt>/
//     stdout, stderr   logs, bounded (attempt_log.h); kept when the attempt has ended
//     task.json        while its process runs: what to look for after a crash of agentd
//     work/            the work folder of a job that names none
//
// Retention: the logs of the newest `ended_kept` ended attempts stay. Of older ones the logs go,
// and the folders if they are empty: what a task wrote itself is never deleted.
//
// Thread-compatible: belongs to the agent loop.
#ifndef AGENT_TASKS_ATTEMPT_FOLDERS_H_
#define AGENT_TASKS_ATTEMPT_FOLDERS_H_

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/tasks/attempt.h"

namespace pipefill {

struct AttemptPaths {
  std::string folder;
  std::string stdout_log;
  std::string stderr_log;
  std::string record;
  std::string work;
};

// Names the leader of a task's processes for ever: numbers of processes are used again.
struct ProcessRecord {
  AttemptKey key;
  pid_t pid = 0;
  uint64_t start_ticks = 0;
  std::string boot_id;  // of the kernel
};

enum class LogKind { kStdout, kStderr };

struct LogChunk {
  std::string data;
  int64_t next_offset = 0;
  bool is_at_end = false;  // nothing lies beyond next_offset now
};

class AttemptFolders {
 public:
  using Name = std::pair<JobId, AttemptNumber>;

  // Makes the folder. PermissionDenied if that is impossible.
  static absl::StatusOr<AttemptFolders> Open(const std::string& state_dir, size_t ended_kept = 512);

  // A fresh folder. One of that name left by an earlier cluster is moved aside, to `<name>.<n>`.
  absl::StatusOr<AttemptPaths> Create(const AttemptKey& key) const;

  // Not synced: after a crash of the node there is no process to look for.
  absl::Status WriteRecord(const ProcessRecord& record) const;
  // The process is gone.
  void RemoveRecord(const AttemptKey& key) const;
  // Of attempts that ran when the agentd before this one ended. Unreadable ones are logged, removed
  // and left out.
  std::vector<ProcessRecord> ReadRecords() const;

  // At most `limit` bytes from `offset`. NotFound if the node keeps no such log; OutOfRange if
  // offset or limit is negative.
  absl::StatusOr<LogChunk> ReadLog(const Name& name, LogKind kind, int64_t offset,
                                   int64_t limit) const;

  // Applies the retention. Attempts in `live` are left alone.
  void Prune(const std::set<Name>& live) const;

 private:
  AttemptFolders(std::string root, size_t ended_kept)
      : root_(std::move(root)), ended_kept_(ended_kept) {}

  AttemptPaths PathsOf(const Name& name) const;
  std::vector<Name> List() const;

  std::string root_;
  size_t ended_kept_;
};

// Of the running kernel; "" if it does not tell.
std::string ReadBootId();

}  // namespace pipefill

#endif  // AGENT_TASKS_ATTEMPT_FOLDERS_H_
