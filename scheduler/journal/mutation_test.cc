// Bytes of records and snapshots with random changes, as if their checksums matched: whatever they
// say, they are refused or applied, and nothing crashes.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/journal/memory_journal.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/snapshot.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

constexpr int kRounds = 4'000;

// One job of each kind: it waits, runs, has ended, is to move, and has failed once.
std::vector<Event> SomeEvents() {
  std::vector<Event> events;
  for (int64_t id = 1; id <= 5; ++id) {
    JobSpec spec = SpecThatNeeds(kMiB, /*retries=*/1);
    spec.env = {{"A", "b"}};
    spec.labels = {{"team", "vision"}};
    spec.start_before = TimeAt(9).wall;
    events.emplace_back(JobSubmitted{JobId(id), absl::StrCat("k", id), spec});
  }
  for (int64_t id = 2; id <= 5; ++id) {
    const AttemptKey key = {JobId(id), AttemptNumber(1), Fence(static_cast<uint64_t>(id) - 1)};
    events.emplace_back(AttemptPlaced{key, {"a", "cpu0"}});
    events.emplace_back(AttemptStarted{key});
    if (id == 3) events.emplace_back(ExitOf(key, 0));
    if (id == 5) events.emplace_back(ExitOf(key, 1));
  }
  events.emplace_back(MoveRequested{JobId(4), {"b", "cpu1"}});
  events.emplace_back(MainJobUpdated{PausedMainJob("gpt")});
  events.emplace_back(CancelRequested{JobId(2)});
  events.emplace_back(RequeueRequested{JobId(4), "too loud"});
  events.emplace_back(JobHeld{JobId(1), "too early"});
  events.emplace_back(JobReleased{JobId(1), ""});
  events.emplace_back(StartExpired{JobId(1)});
  events.emplace_back(HistoryDropped{{JobId(3)}});
  return events;
}

std::vector<std::string> SomeRecords() {
  std::vector<std::string> records;
  for (const Event& event : SomeEvents()) records.push_back(EncodeRecord(event, TimeAt(1).wall));
  return records;
}

std::string Mutated(std::string bytes, std::mt19937_64& random) {
  for (uint64_t changes = 1 + random() % 4; changes > 0 && !bytes.empty(); --changes) {
    const size_t at = random() % bytes.size();
    switch (random() % 4) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes.erase(at, 1 + random() % 4);
        break;
      default:
        bytes.insert(at, 1, static_cast<char>(random()));
    }
  }
  return bytes;
}

TEST(MutationTest, RecordsAreRefusedOrApplied) {
  const std::vector<std::string> records = SomeRecords();
  int refused = 0;
  for (int seed = 0; seed < kRounds; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    MemoryJournal journal;
    std::vector<std::string> changed = records;
    std::string& one = changed[random() % changed.size()];
    one = Mutated(one, random);
    ASSERT_TRUE(journal.Append(changed).ok());
    ClusterState state{ClusterLimits{}};
    if (!Recover(journal, AtSecond(1), &state).ok()) ++refused;
  }
  EXPECT_GT(refused, kRounds / 10);
}

TEST(MutationTest, PiecesOfSnapshotsAreRefusedOrApplied) {
  ClusterState written{ClusterLimits{}};
  for (const Event& event : SomeEvents()) written.Apply(event, TimeAt(1));
  std::vector<std::string> pieces;
  SnapshotEncoder encoder(written.Durable(), {.sequence = 9, .wall = TimeAt(2).wall});
  while (const auto piece = encoder.Next()) pieces.push_back(*piece);
  int refused = 0;
  for (int seed = 0; seed < kRounds; ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const size_t changed = random() % pieces.size();
    ClusterState state{ClusterLimits{}};
    SnapshotDecoder decoder(AtSecond(1), &state);
    absl::Status status;
    for (size_t i = 0; i < pieces.size() && status.ok(); ++i) {
      status = decoder.Take(i == changed ? Mutated(pieces[i], random) : pieces[i]);
    }
    if (!status.ok() || !decoder.Finish().ok()) {
      ++refused;
      continue;
    }
    // What was taken is a state like any other.
    state.FinishReplay(AtSecond(1));
    SnapshotEncoder again(state.Durable(), {});
    while (again.Next().has_value()) continue;
  }
  EXPECT_GT(refused, kRounds / 10);
}

}  // namespace
}  // namespace pipefill::scheduler
