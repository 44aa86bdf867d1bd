// Pieces of a snapshot, as if their checksums matched: they are refused, or make a state like any
// other.
#include "common/check.h"
#include "scheduler/journal/snapshot.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/store_parts.h"

namespace pipefill {

bool TakeInput(absl::string_view input) {
  std::vector<std::string> pieces;
  for (absl::string_view piece : InputReader(input).TakePieces()) pieces.emplace_back(piece);
  if (!scheduler::HasModestIds(pieces)) return false;
  scheduler::ClusterState state{scheduler::ClusterLimits{}};
  if (!scheduler::TakePieces(pieces, &state).ok()) return false;
  state.FinishReplay(scheduler::kNow);
  scheduler::CheckSnapshotOf(state);
  return true;
}

std::vector<std::string> Seeds() {
  const auto seed = [](scheduler::ClusterState state) {
    InputWriter pieces;
    for (const std::string& piece : scheduler::PiecesOf(state)) pieces.PutPiece(piece);
    return pieces.Take();
  };
  return {seed(scheduler::SomeState()), seed(scheduler::ClusterState{scheduler::ClusterLimits{}})};
}

}  // namespace pipefill
