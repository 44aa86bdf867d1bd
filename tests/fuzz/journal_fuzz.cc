// Rows of records, as replay meets them: each can follow those before it or is refused, and the
// state that they make comes back from a snapshot.
#include "common/check.h"
#include "scheduler/journal/record.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/store_parts.h"

namespace pipefill {

bool TakeInput(absl::string_view input) {
  scheduler::ClusterState state{scheduler::ClusterLimits{}};
  int applied = 0;
  for (absl::string_view record : InputReader(input).TakePieces()) {
    const auto decoded = scheduler::DecodeRecord(record);
    if (!decoded.ok() || !state.CheckReplay(decoded->event).ok()) continue;
    state.Apply(decoded->event, {scheduler::kNow, decoded->wall});
    ++applied;
  }
  state.FinishReplay(scheduler::kNow);
  scheduler::CheckSnapshotOf(state);
  return applied > 0;
}

std::vector<std::string> Seeds() {
  InputWriter row;
  for (const std::string& record : scheduler::SomeRecords()) row.PutPiece(record);
  return {row.Take()};
}

}  // namespace pipefill
