// The durable state <-> the pieces of a snapshot (proto/snapshot.proto).
//
// Pure.
#ifndef SCHEDULER_JOURNAL_SNAPSHOT_H_
#define SCHEDULER_JOURNAL_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/instant.h"
#include "scheduler/core/cluster_state.h"

namespace pipefill::v1 {
class SnapshotHead;
class SnapshotProfiles;
class SnapshotTenants;
}  // namespace pipefill::v1

namespace pipefill::scheduler {

// The format that this binary writes, and the newest that it reads.
inline constexpr int32_t kSnapshotFormat = 2;

struct SnapshotStamp {
  int64_t sequence = 0;  // the journal's records up to this one are in the state
  absl::Time wall;
};

// Makes the pieces one after the other; all but the head of at most some 256 KiB and one tenant,
// profile or job.
class SnapshotEncoder {
 public:
  SnapshotEncoder(DurableState state, const SnapshotStamp& stamp)
      : state_(std::move(state)), stamp_(stamp) {}

  // nullopt after the last one.
  std::optional<std::string> Next();

  const SnapshotStamp& stamp() const { return stamp_; }

 private:
  enum class Stage { kHead, kTenants, kProfiles, kJobs, kEnd, kDone };

  std::string Head();
  std::string Tenants();
  std::string Profiles();
  std::string Jobs();
  std::string End();

  DurableState state_;
  SnapshotStamp stamp_;
  Stage stage_ = Stage::kHead;
  size_t next_tenant_ = 0;
  size_t next_profile_ = 0;
  JobId next_{1};
};

// Puts the pieces together again.
class SnapshotDecoder {
 public:
  // `state` has seen no event, and outlives the decoder. After an error it is of no use.
  SnapshotDecoder(Instant now, ClusterState* state) : now_(now), state_(state) {}

  // DataLoss: no piece, or not the next one; FailedPrecondition: of a newer schedulerd.
  absl::Status Take(absl::string_view piece);
  // DataLoss if pieces are missing.
  absl::Status Finish() const;

  // Once the head has been taken.
  const SnapshotStamp& stamp() const { return stamp_; }

 private:
  absl::Status TakeHead(const v1::SnapshotHead& head);
  void TakeTenants(const v1::SnapshotTenants& tenants);
  void TakeProfiles(const v1::SnapshotProfiles& profiles);

  const Instant now_;
  ClusterState* const state_;
  SnapshotStamp stamp_;
  JobId next_job_id_;
  Fence last_fence_;
  int64_t jobs_ = 0;
  bool has_head_ = false;
  bool has_end_ = false;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_SNAPSHOT_H_
