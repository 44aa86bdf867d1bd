// The bytes of a snapshot: however they are cut, the same pieces come out, or the same error.
#include <algorithm>

#include "common/check.h"
#include "scheduler/journal/snapshot_frame.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/store_parts.h"

namespace pipefill {
namespace {

struct Outcome {
  std::vector<std::string> pieces;
  absl::Status status;
};

Outcome ReadInPortions(absl::string_view bytes, size_t portion) {
  Outcome outcome;
  scheduler::FrameReader reader;
  const auto visit = [&](absl::string_view piece) {
    outcome.pieces.emplace_back(piece);
    return absl::OkStatus();
  };
  for (size_t at = 0; at < bytes.size() && outcome.status.ok(); at += portion) {
    outcome.status = reader.Take(bytes.substr(at, portion), visit);
  }
  CHECK(reader.pieces() == static_cast<int64_t>(outcome.pieces.size()));
  if (outcome.status.ok()) outcome.status = reader.Finish();
  return outcome;
}

}  // namespace

bool TakeInput(absl::string_view input) {
  InputReader reader(input);
  const size_t portion = 1 + size_t{reader.Take<uint8_t>()};
  const absl::string_view bytes = reader.TakeRest();
  const Outcome at_once = ReadInPortions(bytes, std::max<size_t>(bytes.size(), 1));
  const Outcome in_portions = ReadInPortions(bytes, portion);
  CHECK(at_once.pieces == in_portions.pieces);
  CHECK(at_once.status == in_portions.status);
  return at_once.status.ok();
}

std::vector<std::string> Seeds() {
  scheduler::ClusterState state = scheduler::SomeState();
  scheduler::FrameWriter writer(
      scheduler::SnapshotEncoder(state.Durable(), {.sequence = 9, .wall = absl::Time()}));
  InputWriter seed;
  seed.Put<uint8_t>(6);
  while (const auto block = writer.Next()) seed.PutBytes(*block);
  return {seed.Take()};
}

}  // namespace pipefill
