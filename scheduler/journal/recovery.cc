#include "scheduler/journal/recovery.h"

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/journal/record.h"

namespace pipefill::scheduler {
namespace {

absl::Status Replay(absl::string_view record, Instant now, ClusterState* state) {
  ASSIGN_OR_RETURN(const DecodedRecord decoded, DecodeRecord(record));
  const absl::Status status = state->CheckReplay(decoded.event);
  if (!status.ok()) return absl::DataLossError(status.message());
  state->Apply(decoded.event, {.now = now, .wall = decoded.wall});
  return absl::OkStatus();
}

}  // namespace

absl::Status Recover(Journal& journal, Instant now, ClusterState* state) {
  RETURN_IF_ERROR(journal.ForEachRecord([&](int64_t sequence, absl::string_view record) {
    const absl::Status status = Replay(record, now, state);
    return status.ok() ? status : WithContext(status, absl::StrCat("journal record ", sequence));
  }));
  state->FinishReplay(now);
  return absl::OkStatus();
}

}  // namespace pipefill::scheduler
