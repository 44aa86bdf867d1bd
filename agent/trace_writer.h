// Writes the trace of a node: TraceRecords (proto/local.proto), each behind its length as a varint,
// in at most two files of one folder.
//
//   trace.1.pb   the older half, if any
//   trace.pb     the newer half; appended to
//
// When trace.pb reaches half of size_max it becomes trace.1.pb (the one before goes), and a new
// file begins with the same TraceStart and the RankAttached, BubbleNamed and TaskAttached of all
// sources that are live, so that each file can be read alone. A reader takes trace.1.pb, then
// trace.pb, and finds those records twice. A new start of agentd goes on in the same file with a
// TraceStart of its own; keys are never used twice in what is kept.
//
//   kWriting ---- a write fails: one warning ----> kStopped        (size_max 0: kStopped from the
//   start)
//
// A stopped writer ignores everything: a full disk must not disturb the main job. What is in the
// files ends with a whole record. After a crash of agentd the last record may be cut; it is removed
// at the next start.
//
// Thread-compatible: one loop writes and reads.
#ifndef AGENT_TRACE_WRITER_H_
#define AGENT_TRACE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/file_descriptor.h"
#include "common/instant.h"
#include "proto/local.pb.h"

namespace pipefill {

// Records wait in memory up to this much.
inline constexpr size_t kTraceBufferBytes = 256 * 1024;

struct TraceOptions {
  // Made if absent: `<state_dir>/trace`.
  std::string folder;
  // Of both files together; 0 = no trace.
  int64_t size_max_bytes = int64_t{256} << 20;
  // First record of this start.
  v1::TraceStart start;
};

// A piece of the trace.
struct TraceChunk {
  std::string data;
  // Where the byte behind `data` lies. `data` begins at next_offset - data.size(): further on than
  // asked if what lay between has been dropped meanwhile; then it begins with a whole record, and a
  // record cut off at the end of an earlier chunk is lost.
  int64_t next_offset = 0;
  // Nothing lies beyond next_offset now.
  bool is_at_end = false;
};

class TraceWriter {
 public:
  // PermissionDenied or what else the file system says if the folder cannot be used.
  static absl::StatusOr<std::unique_ptr<TraceWriter>> Open(const TraceOptions& options);
  // Flushes.
  ~TraceWriter();

  // Keys for the next rank or task, from 1, never the same twice in what is kept.
  int32_t NextRankKey() { return next_rank_key_++; }
  int32_t NextTaskKey() { return next_task_key_++; }

  // Buffered. Notes which sources are live from the records that say so.
  void Append(const v1::TraceRecord& record);
  // Call often; writes the buffer out at most once a second, or when it holds kTraceBufferBytes.
  void FlushIfDue(Instant now);
  void Flush();

  // At most `limit` bytes from `offset`, which counts from the oldest byte there was when this
  // writer opened, and stays true while older bytes are dropped. Flushes before. Empty and at the
  // end if `offset` is beyond it or tracing is off. OutOfRange if offset or limit is negative.
  absl::StatusOr<TraceChunk> ReadChunk(int64_t offset, int64_t limit);

  bool is_writing() const { return is_writing_; }

 private:
  struct File {
    FileDescriptor descriptor;
    int64_t size_bytes = 0;  // the buffer not included
  };
  struct LiveRank {
    v1::TraceRecord attached;
    std::map<int32_t, v1::TraceRecord> slot_names;  // by slot
  };

  explicit TraceWriter(const TraceOptions& options) : options_(options) {}

  absl::Status OpenFiles();
  // Opens what an earlier start left, cuts a torn end off, and takes note of the keys.
  absl::Status TakeUpFile(const std::string& path, File& file);
  void NoteKeys(const v1::TraceRecord& record);
  void NoteLive(const v1::TraceRecord& record);
  void AppendToBuffer(const v1::TraceRecord& record);
  bool IsFullFor(const v1::TraceRecord& record) const;
  absl::Status Rotate();
  void AppendStartAndLive();
  absl::Status WriteBuffer();
  // `result` of a write; an error ends the tracing.
  void StopUnless(const absl::Status& result);
  absl::Status ReadFrom(const File& file, int64_t begin, int64_t size, std::string& data) const;

  const TraceOptions options_;
  bool is_writing_ = false;
  File older_;
  File newer_;
  int64_t dropped_bytes_ = 0;  // of files that are gone: the offset of the first byte that is kept
  std::string buffer_;
  Instant flushed_at_;
  int32_t next_rank_key_ = 1;
  int32_t next_task_key_ = 1;
  std::map<int32_t, LiveRank> live_ranks_;
  std::map<int32_t, v1::TraceRecord> live_tasks_;
};

}  // namespace pipefill

#endif  // AGENT_TRACE_WRITER_H_
