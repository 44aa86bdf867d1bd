#include "scheduler/compactor.h"

#include <algorithm>
#include <utility>

#include "common/log.h"

namespace pipefill::scheduler {

Compactor::Compactor(Dependencies dependencies, const Limits& limits, const StoreSummary& store)
    : dependencies_(std::move(dependencies)), limits_(limits), store_(store) {}

void Compactor::Start() {
  is_removing_ = true;
  RemoveSlice();
}

void Compactor::OnCommitted(ClusterState& state) {
  if (dependencies_.snapshots == nullptr || is_writing_) return;
  const JobCounts counts = state.counts();
  const int64_t jobs = counts.pending + counts.running + counts.ended + counts.arrays;
  if (tail() < std::max(limits_.snapshot_every, jobs / 4)) return;
  if (dependencies_.clock.Now() < not_before_) return;
  is_writing_ = true;
  const SnapshotStamp stamp = {.sequence = dependencies_.journal.last_sequence(),
                               .wall = dependencies_.clock.WallNow()};
  spdlog::info("snapshot_begins record={} jobs={}", stamp.sequence, jobs);
  dependencies_.snapshots->Write(
      FrameWriter(SnapshotEncoder(state.Durable(), stamp)),
      [this, stamp, &loop = dependencies_.loop,
       alive = std::weak_ptr<bool>(is_alive_)](const absl::Status& written) {
        loop.Post([this, stamp, written, alive] {
          if (!alive.expired()) OnWritten(stamp, written);
        });
      });
}

void Compactor::OnWritten(const SnapshotStamp& stamp, const absl::Status& written) {
  is_writing_ = false;
  if (!written.ok()) {
    // The journal goes on as it is, only longer.
    spdlog::warn("snapshot_failed record={} why=\"{}\"; tried again later", stamp.sequence,
                 written.message());
    not_before_ = dependencies_.clock.Now() + limits_.retry_pause;
    return;
  }
  spdlog::info("snapshot_written record={}", stamp.sequence);
  store_.older_snapshot_sequence = store_.snapshot_sequence;
  store_.snapshot_sequence = stamp.sequence;
  store_.snapshot_at = stamp.wall;
  dependencies_.on_written();
  if (std::exchange(is_removing_, true)) return;
  RemoveSlice();
}

void Compactor::RemoveSlice() {
  const absl::StatusOr<bool> removed =
      dependencies_.journal.RemoveUpTo(store_.older_snapshot_sequence, limits_.slice);
  if (!removed.ok() && removed.status().code() != absl::StatusCode::kResourceExhausted) {
    dependencies_.on_fatal(removed.status());
    return;
  }
  if (removed.ok() && *removed) {
    is_removing_ = false;
    return;
  }
  const absl::Duration pause = removed.ok() ? limits_.slice_pause : limits_.retry_pause;
  dependencies_.loop.PostAt(dependencies_.clock.Now() + pause,
                            [this, alive = std::weak_ptr<bool>(is_alive_)] {
                              if (!alive.expired()) RemoveSlice();
                            });
}

}  // namespace pipefill::scheduler
