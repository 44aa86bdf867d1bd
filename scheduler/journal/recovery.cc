#include "scheduler/journal/recovery.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/snapshot.h"

namespace pipefill::scheduler {
namespace {

absl::Status Replay(absl::string_view record, Instant now, ClusterState* state) {
  ASSIGN_OR_RETURN(const DecodedRecord decoded, DecodeRecord(record));
  const absl::Status status = state->CheckReplay(decoded.event);
  if (!status.ok()) return absl::DataLossError(status.message());
  state->Apply(decoded.event, {.now = now, .wall = decoded.wall});
  return absl::OkStatus();
}

// Nothing that was on disk once may be missing at the end.
absl::Status CheckEnd(const Journal& journal, int64_t reached) {
  if (reached >= journal.high_water()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("journal records ", reached + 1, " to ",
                                          journal.high_water(),
                                          " were on disk and are gone; see `schedulerd check`"));
}

// Begins with the snapshot `sequence`; 0 = with nothing.
absl::StatusOr<Recovered> RecoverFrom(int64_t sequence, Journal& journal,
                                      const SnapshotStore& snapshots, const ClusterLimits& limits,
                                      Instant now) {
  Recovered recovered{.state = ClusterState(limits), .damaged_snapshots = {}, .warnings = {}};
  if (sequence > 0) {
    SnapshotDecoder decoder(now, &recovered.state);
    RETURN_IF_ERROR(
        snapshots.Read(sequence, [&](absl::string_view piece) { return decoder.Take(piece); }));
    RETURN_IF_ERROR(decoder.Finish());
    if (decoder.stamp().sequence != sequence) {
      return absl::DataLossError(
          absl::StrCat("snapshot ", sequence, " is that of record ", decoder.stamp().sequence));
    }
    recovered.snapshot_sequence = sequence;
    recovered.snapshot_at = decoder.stamp().wall;
  }
  int64_t last = sequence;
  RETURN_IF_ERROR(ReplayAfter(journal, sequence, now, &recovered.state, &last));
  recovered.records = last - sequence;
  RETURN_IF_ERROR(CheckEnd(journal, last));
  journal.SkipTo(sequence);
  recovered.state.FinishReplay(now);
  return recovered;
}

}  // namespace

absl::Status ReplayAfter(Journal& journal, int64_t after, Instant now, ClusterState* state,
                         int64_t* last) {
  *last = after;
  return journal.ForEachRecord(after, [&](int64_t sequence, absl::string_view record) {
    const absl::Status status = Replay(record, now, state);
    if (!status.ok()) return WithContext(status, absl::StrCat("journal record ", sequence));
    *last = sequence;
    return absl::OkStatus();
  });
}

absl::Status Recover(Journal& journal, Instant now, ClusterState* state) {
  int64_t last = 0;
  RETURN_IF_ERROR(ReplayAfter(journal, 0, now, state, &last));
  state->FinishReplay(now);
  return absl::OkStatus();
}

absl::StatusOr<Recovered> RecoverStore(Journal& journal, const SnapshotStore& snapshots,
                                       const ClusterLimits& limits, Instant now) {
  ASSIGN_OR_RETURN(std::vector<int64_t> sequences, snapshots.List());
  // Before the first snapshot there is nothing, and the journal begins with record 1.
  sequences.push_back(0);
  const int64_t newest = sequences.front();
  std::vector<int64_t> damaged;
  std::vector<std::string> warnings;
  absl::Status first_error;
  for (size_t i = 0; i < sequences.size(); ++i) {
    absl::StatusOr<Recovered> recovered =
        RecoverFrom(sequences[i], journal, snapshots, limits, now);
    // Without all records up to the newest snapshot an older one gives an older state.
    const bool is_whole =
        recovered.ok() && recovered->snapshot_sequence + recovered->records >= newest;
    if (is_whole) {
      if (i + 1 < sequences.size()) recovered->older_snapshot_sequence = sequences[i + 1];
      recovered->damaged_snapshots = std::move(damaged);
      recovered->warnings = std::move(warnings);
      return recovered;
    }
    if (first_error.ok()) first_error = recovered.status();
    if (first_error.code() != absl::StatusCode::kDataLoss) break;
    damaged.push_back(sequences[i]);
    warnings.push_back(absl::StrCat(first_error.message(), "; its records are used instead"));
  }
  return first_error;
}

absl::Status SetAsideDamaged(const Recovered& recovered, SnapshotStore& snapshots) {
  for (int64_t sequence : recovered.damaged_snapshots) {
    RETURN_IF_ERROR(snapshots.SetAside(sequence));
  }
  return absl::OkStatus();
}

}  // namespace pipefill::scheduler
