// Where snapshots are kept, beside the journal: files `snapshot-SEQUENCE` in the state folder.
//
// A snapshot is written to `snapshot-SEQUENCE.new`, synced, and renamed; a crash leaves it complete
// or not at all. One that could not be read is set aside as `snapshot-SEQUENCE.bad`, for people.
//
// Thread-safe, except that one thread writes and removes.
#ifndef SCHEDULER_JOURNAL_SNAPSHOT_STORE_H_
#define SCHEDULER_JOURNAL_SNAPSHOT_STORE_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/journal/snapshot_frame.h"

namespace pipefill::scheduler {

class SnapshotStore {
 public:
  virtual ~SnapshotStore() = default;

  // The sequences of the complete ones, newest first.
  virtual absl::StatusOr<std::vector<int64_t>> List() const = 0;
  // Visits the pieces in order; ends with the visitor's first error. DataLoss names the piece.
  virtual absl::Status Read(int64_t sequence, const FrameReader::PieceVisitor& visit) const = 0;
  // Returns once it is on disk. Cancelled as soon as `is_stopping` is true. After an error there is
  // no such snapshot; ResourceExhausted: there is no space for it.
  virtual absl::Status Write(FrameWriter snapshot, const std::atomic<bool>& is_stopping) = 0;
  // Removes those older than the newest `keep`, and what was never completed.
  virtual absl::Status RemoveOlder(size_t keep) = 0;
  // Keeps the bytes of this one, but it is none any more. Returns once that is on disk.
  virtual absl::Status SetAside(int64_t sequence) = 0;
};

class FileSnapshotStore : public SnapshotStore {
 public:
  // `folder` exists.
  explicit FileSnapshotStore(std::string folder) : folder_(std::move(folder)) {}

  absl::StatusOr<std::vector<int64_t>> List() const override;
  absl::Status Read(int64_t sequence, const FrameReader::PieceVisitor& visit) const override;
  absl::Status Write(FrameWriter snapshot, const std::atomic<bool>& is_stopping) override;
  absl::Status RemoveOlder(size_t keep) override;
  absl::Status SetAside(int64_t sequence) override;

  std::string PathOf(int64_t sequence) const;

 private:
  const std::string folder_;
};

// The pieces of the file at `path`, which need not be in a state folder.
absl::Status ReadSnapshotFile(const std::string& path, const FrameReader::PieceVisitor& visit);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_SNAPSHOT_STORE_H_
