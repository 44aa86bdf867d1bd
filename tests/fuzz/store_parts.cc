#include "tests/fuzz/store_parts.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "proto/snapshot.pb.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/snapshot.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

JobSpec FullSpec() {
  JobSpec spec = SpecThatNeeds(kMiB, /*retries=*/1);
  spec.env = {{"A", "b"}};
  spec.workdir = "/data";
  spec.way = FillWay::kProcess;
  spec.priority = 7;
  spec.tenant = "research";
  spec.deadline = TimeAt(900).wall;
  spec.min_runtime = absl::Seconds(2);
  return spec;
}

// A job that waits, one that is cancelled while it runs, one that succeeded, one that is to move,
// one that failed and waits again, one whose history is dropped.
std::vector<Event> SomeEvents() {
  std::vector<Event> events;
  for (int64_t id = 1; id <= 6; ++id) {
    events.emplace_back(JobSubmitted{JobId(id), absl::StrCat("k", id), FullSpec()});
  }
  for (int64_t id = 2; id <= 6; ++id) {
    const AttemptKey key = {JobId(id), AttemptNumber(1), Fence(static_cast<uint64_t>(id) - 1)};
    events.emplace_back(AttemptPlaced{key, {"a", "cpu0"}, "batch8"});
    events.emplace_back(AttemptStarted{key});
    if (id == 3 || id == 6) events.emplace_back(ExitOf(key, 0));
    if (id == 5) events.emplace_back(ExitOf(key, 1));
    if (id == 2) events.emplace_back(EvictionRequested{key, JobId(1)});
  }
  events.emplace_back(MoveRequested{JobId(4), {"b", "cpu1"}});
  events.emplace_back(MainJobUpdated{PausedMainJob("gpt")});
  events.emplace_back(CancelRequested{JobId(2)});
  events.emplace_back(HistoryDropped{{JobId(6)}});
  return events;
}

}  // namespace

std::vector<std::string> SomeRecords() {
  std::vector<std::string> records;
  for (const Event& event : SomeEvents()) records.push_back(EncodeRecord(event, TimeAt(1).wall));
  return records;
}

ClusterState SomeState() {
  ClusterState state{ClusterLimits{}};
  for (const Event& event : SomeEvents()) {
    CHECK(state.CheckReplay(event).ok());
    state.Apply(event, TimeAt(1));
  }
  return state;
}

std::vector<std::string> PiecesOf(ClusterState& state) {
  std::vector<std::string> pieces;
  SnapshotEncoder encoder(state.Durable(), {.sequence = 9, .wall = TimeAt(2).wall});
  while (auto piece = encoder.Next()) pieces.push_back(*std::move(piece));
  return pieces;
}

absl::Status TakePieces(const std::vector<std::string>& pieces, ClusterState* state) {
  SnapshotDecoder decoder(kNow, state);
  for (const std::string& piece : pieces) RETURN_IF_ERROR(decoder.Take(piece));
  return decoder.Finish();
}

bool HasModestIds(const std::vector<std::string>& pieces) {
  constexpr int64_t kIdMax = int64_t{1} << 24;
  for (const std::string& bytes : pieces) {
    v1::SnapshotPiece piece;
    if (!piece.ParseFromString(bytes)) continue;
    if (piece.head().next_job_id() > kIdMax) return false;
    for (const v1::SnapshotJob& job : piece.jobs().jobs()) {
      if (job.id() > kIdMax) return false;
    }
  }
  return true;
}

void CheckSnapshotOf(ClusterState& state) {
  const std::vector<std::string> pieces = PiecesOf(state);
  ClusterState restored{ClusterLimits{}};
  const absl::Status status = TakePieces(pieces, &restored);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  CHECK(status.ok());
  restored.FinishReplay(kNow);
  const std::vector<std::string> again = PiecesOf(restored);
  CHECK(again.size() == pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    CHECK(IsSame<v1::SnapshotPiece>(pieces[i], again[i]));
  }
}

}  // namespace pipefill::scheduler
