// The pieces of a snapshot as bytes: a file in the state folder, a backup, or a stream.
//
//   "pfsnap1\n"   once
//   length, checksum (4 bytes each, little-endian), piece    for each piece
//
// The checksum covers the piece and its number, see checksum.h.
//
// Pure.
#ifndef SCHEDULER_JOURNAL_SNAPSHOT_FRAME_H_
#define SCHEDULER_JOURNAL_SNAPSHOT_FRAME_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "scheduler/journal/snapshot.h"

namespace pipefill::scheduler {

// Makes the bytes of a whole snapshot, block by block.
class FrameWriter {
 public:
  explicit FrameWriter(SnapshotEncoder encoder) : encoder_(std::move(encoder)) {}

  // nullopt after the last block, or at a piece that no reader would take; status() tells.
  std::optional<std::string> Next();
  // OutOfRange: a piece is too large, and the blocks so far are of no use.
  const absl::Status& status() const { return status_; }

  const SnapshotStamp& stamp() const { return encoder_.stamp(); }

 private:
  SnapshotEncoder encoder_;
  absl::Status status_;
  int64_t frames_ = 0;
};

// Cuts bytes that come in any portions into pieces.
class FrameReader {
 public:
  using PieceVisitor = std::function<absl::Status(absl::string_view piece)>;

  // Visits the pieces that are complete with `bytes`; ends with the visitor's first error. DataLoss
  // names the piece.
  absl::Status Take(absl::string_view bytes, const PieceVisitor& visit);
  // DataLoss if it ends in the middle of a piece.
  absl::Status Finish() const;

  int64_t pieces() const { return frames_; }

 private:
  // Sets `used` to the bytes of the first frame of `bytes`, 0 if it is not complete.
  absl::Status TakeFrame(absl::string_view bytes, const PieceVisitor& visit, size_t* used);

  std::string rest_;
  bool has_magic_ = false;
  int64_t frames_ = 0;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_SNAPSHOT_FRAME_H_
