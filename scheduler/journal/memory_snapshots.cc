#include "scheduler/journal/memory_snapshots.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "common/status.h"

namespace pipefill::scheduler {

absl::StatusOr<std::vector<int64_t>> MemorySnapshots::List() const {
  std::vector<int64_t> sequences;
  for (const auto& [sequence, bytes] : snapshots_) sequences.insert(sequences.begin(), sequence);
  return sequences;
}

absl::Status MemorySnapshots::Read(int64_t sequence, const FrameReader::PieceVisitor& visit) const {
  FrameReader reader;
  RETURN_IF_ERROR(reader.Take(snapshots_.at(sequence), visit));
  return reader.Finish();
}

absl::Status MemorySnapshots::Write(FrameWriter snapshot, const std::atomic<bool>&) {
  ++writes_;
  RETURN_IF_ERROR(write_status_);
  std::string bytes;
  while (const std::optional<std::string> block = snapshot.Next()) bytes += *block;
  RETURN_IF_ERROR(snapshot.status());
  snapshots_[snapshot.stamp().sequence] = std::move(bytes);
  return absl::OkStatus();
}

absl::Status MemorySnapshots::RemoveOlder(size_t keep) {
  while (snapshots_.size() > keep) snapshots_.erase(snapshots_.begin());
  return absl::OkStatus();
}

absl::Status MemorySnapshots::SetAside(int64_t sequence) {
  snapshots_.erase(sequence);
  return absl::OkStatus();
}

void MemorySnapshots::Write(FrameWriter snapshot, Done done) {
  absl::Status written = Write(std::move(snapshot), std::atomic<bool>(false));
  if (written.ok()) written = RemoveOlder(kSnapshotsKept);
  if (is_held_back_) {
    held_ = std::move(done);
  } else {
    done(written);
  }
}

}  // namespace pipefill::scheduler
