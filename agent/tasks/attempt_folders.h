// Where attempts live on the node:
//
//   <state_dir>/attempts/<job>.<attempt>/
//     stdout, stderr   logs, bounded (attempt_log.h), each with its times; kept when the attempt
//                      has ended
//     task.json        the attempt's record, until schedulerd has acknowledged its end: what the
//                      next agentd must know to go on with it
//     progress         what it has done so far, for the next agentd too
//     exit             how it ended, by its keeper (exit_record.h)
//     work/            the work folder of a job that names none
//
// Retention: the logs of the newest `ended_kept` ended attempts stay. Of older ones the logs go,
// and the folders if they are empty: what a task wrote itself is never deleted.
//
// Thread-compatible: belongs to the agent loop.
#ifndef AGENT_TASKS_ATTEMPT_FOLDERS_H_
#define AGENT_TASKS_ATTEMPT_FOLDERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "agent/tasks/attempt.h"

namespace pipefill {

struct AttemptPaths {
  std::string folder;
  std::string stdout_log;
  std::string stderr_log;
  std::string record;
  std::string progress;
  std::string exit;
  std::string work;
};

// A stop that was decided: as what the end is to be reported.
struct StopNote {
  EndCause cause = EndCause::kCancelled;
  std::string text = {};
};

// All that an agentd must know of an attempt which another one has started. Not the user's command
// and environment: the task has them, and they may hold secrets.
struct AttemptRecord {
  AttemptKey key;
  std::string job_name;
  std::string device;
  int64_t memory_bytes = 0;
  int32_t policy_rank = 0;
  FillWay way = FillWay::kSdk;
  std::string boot_id;         // of the kernel; processes are those of this boot
  ProcessId keeper;            // none before it was made
  ProcessId leader;            // none before it was made
  int64_t launched_ns = 0;     // on the monotonic clock of this boot
  int64_t max_runtime_ns = 0;  // 0 = none
  std::optional<StopNote> stop;
  std::optional<AttemptEnd> end;  // reported, not acknowledged yet
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

  // Not synced: after a crash of the node there is no process to look for. An end is: SyncRecord.
  absl::Status WriteRecord(const AttemptRecord& record) const;
  // Record, progress and the folder itself are on disk once it returns. May block. Thread-safe.
  absl::Status SyncRecord(const AttemptKey& key) const;
  // With all that belongs to it; the logs stay. Nothing if the folder is another attempt's by now.
  void RemoveRecord(const AttemptKey& key) const;
  // Of attempts that the agentd before this one had not done with. Unreadable ones are logged,
  // removed and left out.
  std::vector<AttemptRecord> ReadRecords() const;

  // Bytes without meaning here. Cheap enough for every second: one small write in place.
  void WriteProgress(const AttemptKey& key, absl::string_view bytes) const;
  // "" if there is none.
  std::string ReadProgress(const AttemptKey& key) const;
  // How the keeper says that the task has ended; nullopt if it did not say.
  std::optional<ProcessExit> ReadExit(const AttemptKey& key) const;
  std::string FolderOf(const AttemptKey& key) const;

  // Where what was written at `since_unix_ns` or later begins; the end if nothing was.
  int64_t FindOffset(const Name& name, LogKind kind, int64_t since_unix_ns) const;
  // At most `limit` bytes from `offset`. NotFound if the node keeps no such log; OutOfRange if
  // offset or limit is negative.
  absl::StatusOr<LogChunk> ReadLog(const Name& name, LogKind kind, int64_t offset,
                                   int64_t limit) const;

  // Applies the retention. Attempts in `live` are left alone.
  void Prune(const std::set<Name>& live) const;
  // For one more attempt: where the disk is full, the oldest attempts that have ended make way.
  // Not those whose end schedulerd does not know yet. `has_room` is for tests.
  void MakeRoom(const std::set<Name>& live) const;
  void MakeRoom(const std::set<Name>& live, const std::function<bool()>& has_room) const;

 private:
  AttemptFolders(std::string root, size_t ended_kept)
      : root_(std::move(root)), ended_kept_(ended_kept) {}

  AttemptPaths PathsOf(const Name& name) const;
  std::vector<Name> List() const;
  // Oldest first.
  std::vector<Name> ListEnded(const std::set<Name>& live) const;
  void Remove(const Name& name) const;

  std::string root_;
  size_t ended_kept_;
};

// Of the running kernel; "" if it does not tell.
std::string ReadBootId();

}  // namespace pipefill

#endif  // AGENT_TASKS_ATTEMPT_FOLDERS_H_
