// Snapshots for tests: keeps them in memory, and fails on request.
//
// Thread-compatible.
#ifndef SCHEDULER_JOURNAL_MEMORY_SNAPSHOTS_H_
#define SCHEDULER_JOURNAL_MEMORY_SNAPSHOTS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "scheduler/journal/snapshot_store.h"
#include "scheduler/journal/snapshot_thread.h"

namespace pipefill::scheduler {

class MemorySnapshots : public SnapshotStore, public SnapshotWriter {
 public:
  absl::StatusOr<std::vector<int64_t>> List() const override;
  absl::Status Read(int64_t sequence, const FrameReader::PieceVisitor& visit) const override;
  absl::Status Write(FrameWriter snapshot, const std::atomic<bool>& is_stopping) override;
  absl::Status RemoveOlder(size_t keep) override;
  absl::Status SetAside(int64_t sequence) override;

  // SnapshotWriter: writes, and is done, at once; unless held back.
  void Write(FrameWriter snapshot, Done done) override;
  void HoldBack() { is_held_back_ = true; }
  // Ends the one that was held back.
  void Finish() { std::exchange(held_, nullptr)(absl::OkStatus()); }

  // Every Write returns this from now on, and keeps nothing.
  void FailWrites(absl::Status status) { write_status_ = std::move(status); }
  int writes() const { return writes_; }
  // The bytes of one, for reading and for damaging them.
  std::string& bytes(int64_t sequence) { return snapshots_[sequence]; }

 private:
  std::map<int64_t, std::string> snapshots_;
  absl::Status write_status_;
  int writes_ = 0;
  bool is_held_back_ = false;
  Done held_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_MEMORY_SNAPSHOTS_H_
