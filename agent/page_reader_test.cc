#include "agent/page_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <random>

#include "client/pages/window_page.h"
#include "common/owner_thread.h"

namespace pipefill {
namespace {

constexpr uint64_t kMs = 1'000'000;
const Instant kNow = Instant::FromNs(10'000 * static_cast<int64_t>(kMs));

class SignalReaderTest : public testing::Test {
 protected:
  SignalReaderTest() { page_->bubble_names[4].store(PackBubbleName(BubbleClass::kMiddle, 17)); }

  void Push(const EdgeEvent& edge) {
    uint64_t words[kEdgeWords];
    PackEdge(edge, words);
    page_->events.Push(words);
  }

  static EdgeEvent Begin(uint64_t time_ns, uint32_t seq = 1, uint32_t slot = 4) {
    return {.kind = EdgeKind::kBubbleBegin, .slot = slot, .seq = seq, .time_ns = time_ns};
  }

  // Whether the reader takes this edge, when it is all there is.
  bool IsTaken(const EdgeEvent& edge) {
    SignalReader reader(*page_);
    reader.Drain(kNow);
    Push(edge);
    const Drained<EdgeEvent> drained = reader.Drain(kNow);
    EXPECT_EQ(drained.records.size() + drained.rejected, 1u);
    return !drained.records.empty();
  }

  const std::unique_ptr<SignalPage> page_ = std::make_unique<SignalPage>();
};

TEST_F(SignalReaderTest, ReturnsEachEdgeOnceInOrder) {
  SignalReader reader(*page_);
  Push(Begin(kMs, 1));
  Push({.kind = EdgeKind::kBubbleEnd, .slot = 4, .seq = 2, .time_ns = 2 * kMs, .iteration = 8});
  const Drained<EdgeEvent> first = reader.Drain(kNow);
  ASSERT_EQ(first.records.size(), 2u);
  EXPECT_EQ(first.records[0].kind, EdgeKind::kBubbleBegin);
  EXPECT_EQ(first.records[1].time_ns, 2 * kMs);
  EXPECT_EQ(first.records[1].iteration, 8u);
  EXPECT_EQ(first.records[1].slot, 4u);
  Push(Begin(3 * kMs, 3));
  EXPECT_EQ(reader.Drain(kNow).records.size(), 1u);
  EXPECT_TRUE(reader.Drain(kNow).records.empty());
}

TEST_F(SignalReaderTest, CountsWhatWasOverwrittenBeforeItWasRead) {
  SignalReader reader(*page_);
  for (uint64_t i = 0; i < kEdgeRecords + 5; ++i) Push(Begin(kMs + i));
  const Drained<EdgeEvent> drained = reader.Drain(kNow);
  EXPECT_EQ(drained.dropped, 5u);
  ASSERT_EQ(drained.records.size(), kEdgeRecords);
  EXPECT_EQ(drained.records.front().time_ns, kMs + 5);
}

TEST_F(SignalReaderTest, SkipsUnknownKinds) {
  EXPECT_TRUE(IsTaken({.kind = EdgeKind::kChunkEnd, .time_ns = kMs}));
  EXPECT_FALSE(IsTaken({.kind = static_cast<EdgeKind>(0), .time_ns = kMs}));
  EXPECT_FALSE(IsTaken({.kind = static_cast<EdgeKind>(8), .time_ns = kMs}));
}

TEST_F(SignalReaderTest, SkipsBubblesWithoutANameAndTakesThoseBeyondTheLastName) {
  EXPECT_TRUE(IsTaken(Begin(kMs, 1, 4)));
  EXPECT_FALSE(IsTaken(Begin(kMs, 1, 5)));
  EXPECT_TRUE(IsTaken(Begin(kMs, 1, kNoSlot)));
  EXPECT_FALSE(IsTaken(Begin(kMs, 1, kNoSlot + 1)));
}

TEST_F(SignalReaderTest, SkipsBubbleEdgesOfTheWrongParity) {
  EXPECT_FALSE(IsTaken(Begin(kMs, 2)));
  EXPECT_FALSE(IsTaken({.kind = EdgeKind::kBubbleEnd, .slot = 4, .seq = 3, .time_ns = kMs}));
}

TEST_F(SignalReaderTest, SkipsTimeThatRunsBackwards) {
  SignalReader reader(*page_);
  Push(Begin(5 * kMs, 1));
  Push(Begin(5 * kMs - 1, 3));
  Push(Begin(5 * kMs, 5));
  const Drained<EdgeEvent> drained = reader.Drain(kNow);
  EXPECT_EQ(drained.records.size(), 2u);
  EXPECT_EQ(drained.rejected, 1u);
}

TEST_F(SignalReaderTest, OneTimeInTheFarFutureDoesNotSpoilTheEdgesAfterIt) {
  SignalReader reader(*page_);
  Push(Begin(UINT64_MAX, 1));
  Push(Begin(5 * kMs, 3));
  const Drained<EdgeEvent> drained = reader.Drain(kNow);
  EXPECT_EQ(drained.records.size(), 1u);
  EXPECT_EQ(drained.rejected, 1u);
}

TEST_F(SignalReaderTest, EdgesThatNameNoBubbleCarryNoSlot) {
  SignalReader reader(*page_);
  Push({.kind = EdgeKind::kIterationBegin, .slot = 4, .time_ns = kMs});
  EXPECT_EQ(reader.Drain(kNow).records.at(0).slot, kNoSlot);
}

TEST_F(SignalReaderTest, NamesOnlyWhatMakesSense) {
  page_->bubble_names[5].store(PackBubbleName(static_cast<BubbleClass>(9), 1));
  const SignalReader reader(*page_);
  ASSERT_TRUE(reader.NameOf(4).has_value());
  EXPECT_EQ(reader.NameOf(4)->bubble_class, BubbleClass::kMiddle);
  EXPECT_EQ(reader.NameOf(4)->ordinal, 17u);
  EXPECT_FALSE(reader.NameOf(5).has_value());
  EXPECT_FALSE(reader.NameOf(6).has_value());
  EXPECT_FALSE(reader.NameOf(kNoSlot).has_value());
}

TEST_F(SignalReaderTest, GoesOnAfterAWriterThatLiedAboutItsCount) {
  SignalReader reader(*page_);
  page_->events.written.store(uint64_t{1} << 60);
  EXPECT_TRUE(reader.Drain(kNow).records.empty());
  page_->events.written.store(0);
  EXPECT_EQ(reader.Drain(kNow).rejected, 1u);
  Push(Begin(kMs));
  EXPECT_EQ(reader.Drain(kNow).records.size(), 1u);
}

class TaskReaderTest : public testing::Test {
 protected:
  void Push(const UnitRecord& unit) {
    uint64_t words[kUnitWords];
    PackUnit(unit, words);
    page_->units.Push(words);
  }

  static UnitRecord Sound() {
    return {.start_ns = 20 * kMs,
            .end_ns = 22 * kMs,
            .cpu_ns = 2 * kMs,
            .bubble_begin_ns = 19 * kMs,
            .iteration = 3,
            .latest_start_ns = 5 * kMs,
            .estimate_ns = 2 * kMs,
            .seq = 7,
            .seq_after = 7,
            .slot = 4,
            .generation = 1};
  }

  bool IsTaken(const UnitRecord& unit) {
    TaskReader reader(*page_);
    reader.Drain(kNow);
    Push(unit);
    const Drained<UnitRecord> drained = reader.Drain(kNow);
    EXPECT_EQ(drained.records.size() + drained.rejected, 1u);
    return !drained.records.empty();
  }

  const std::unique_ptr<TaskPage> page_ = std::make_unique<TaskPage>();
};

TEST_F(TaskReaderTest, ReturnsEachUnitOnce) {
  TaskReader reader(*page_);
  Push(Sound());
  const Drained<UnitRecord> drained = reader.Drain(kNow);
  ASSERT_EQ(drained.records.size(), 1u);
  EXPECT_EQ(drained.records[0].cpu_ns, 2 * kMs);
  EXPECT_EQ(drained.records[0].generation, 1u);
  EXPECT_TRUE(reader.Drain(kNow).records.empty());
}

TEST_F(TaskReaderTest, TakesUnitsOfFailureBubbles) {
  UnitRecord unit = Sound();
  unit.slot = kFailureSlot;
  EXPECT_TRUE(IsTaken(unit));
}

TEST_F(TaskReaderTest, SkipsUnitsThatMakeNoSense) {
  ASSERT_TRUE(IsTaken(Sound()));
  UnitRecord unit = Sound();
  unit.slot = kBubbleSlots;
  EXPECT_FALSE(IsTaken(unit)) << "slot";
  unit = Sound();
  unit.end_ns = unit.start_ns - 1;
  EXPECT_FALSE(IsTaken(unit)) << "ends before it starts";
  unit = Sound();
  unit.bubble_begin_ns = unit.start_ns + 1;
  EXPECT_FALSE(IsTaken(unit)) << "starts before its bubble";
  unit = Sound();
  unit.end_ns = UINT64_MAX;
  EXPECT_FALSE(IsTaken(unit)) << "ends in the far future";
  unit = Sound();
  unit.cpu_ns = 5000 * 2 * kMs;
  EXPECT_FALSE(IsTaken(unit)) << "more cores than any node has";
  unit = Sound();
  unit.latest_start_ns = UINT64_MAX;
  EXPECT_FALSE(IsTaken(unit)) << "latest start beyond int64";
  unit = Sound();
  unit.estimate_ns = UINT64_MAX;
  EXPECT_FALSE(IsTaken(unit)) << "estimate beyond int64";
}

TEST_F(TaskReaderTest, TakesOverlappingUnitsButNotEndsThatRunBackwards) {
  TaskReader reader(*page_);
  Push(Sound());
  UnitRecord overlapping = Sound();
  overlapping.start_ns += kMs;
  overlapping.end_ns += kMs;
  Push(overlapping);
  Push(Sound());
  const Drained<UnitRecord> drained = reader.Drain(kNow);
  EXPECT_EQ(drained.records.size(), 2u);
  EXPECT_EQ(drained.rejected, 1u);
}

TEST_F(TaskReaderTest, ViewShowsTheUnitInProgress) {
  page_->state.store(static_cast<uint32_t>(TaskState::kInUnit));
  page_->unit_start_ns.store(7);
  page_->last_slot.store(4);
  page_->units_done.store(12);
  const TaskView view = TaskReader(*page_).View();
  EXPECT_EQ(view.state, TaskState::kInUnit);
  EXPECT_EQ(view.unit_start, Instant::FromNs(7));
  EXPECT_EQ(view.last_slot, 4u);
  EXPECT_EQ(view.units_done, 12);
}

TEST_F(TaskReaderTest, PiecesGoOnCountingWhereThePageWraps) {
  TaskReader reader(*page_);
  for (const uint32_t pieces : {10U, 4'000'000'000U, 5U}) {
    page_->pieces_done.store(pieces);
    reader.Drain(kNow);
  }
  EXPECT_EQ(reader.View().pieces_done, (int64_t{1} << 32) + 5);
}

TEST_F(TaskReaderTest, ViewOfNonsenseIsHarmless) {
  page_->state.store(99);
  page_->unit_start_ns.store(UINT64_MAX);
  page_->last_slot.store(UINT32_MAX);
  page_->bubbles_denied.store(UINT64_MAX);
  const TaskView view = TaskReader(*page_).View();
  EXPECT_EQ(view.state, TaskState::kStarting);
  EXPECT_FALSE(view.unit_start.has_value());
  EXPECT_EQ(view.last_slot, kNoSlot);
  EXPECT_EQ(view.bubbles_denied, 0);
}

// Every word of both pages at random: nothing to expect but that draining ends and what comes out
// is within the bounds of the contract.
TEST(PageReaderTest, RandomPagesNeverBreakTheContract) {
  std::mt19937_64 generator(99);
  const auto signal = std::make_unique<SignalPage>();
  const auto task = std::make_unique<TaskPage>();
  SignalReader signal_reader(*signal);
  TaskReader task_reader(*task);
  for (int round = 0; round < 50; ++round) {
    for (auto& slot : signal->events.slots) {
      for (auto& word : slot.words) word.store(generator() >> (generator() % 64));
    }
    for (auto& slot : task->units.slots) {
      for (auto& word : slot.words) word.store(generator() >> (generator() % 64));
    }
    for (auto& name : signal->bubble_names) name.store(static_cast<uint32_t>(generator()) >> 4);
    const uint64_t written = generator() >> (generator() % 64);
    signal->events.written.store(written);
    task->units.written.store(written);
    // Guards as of a ring that was written completely.
    const uint64_t first = written < kEdgeRecords ? 0 : written - kEdgeRecords;
    for (uint64_t sequence = first; sequence != written; ++sequence) {
      signal->events.slots[sequence % kEdgeRecords].guard.store(2 * sequence + 2);
      task->units.slots[sequence % kUnitRecords].guard.store(2 * sequence + 2);
    }
    for (const EdgeEvent& edge : signal_reader.Drain(kNow).records) {
      ASSERT_LE(edge.slot, kNoSlot);
      ASSERT_LE(edge.time_ns, static_cast<uint64_t>(kNow.ns()) + kRecordAheadMaxNs);
    }
    for (const UnitRecord& unit : task_reader.Drain(kNow).records) {
      ASSERT_TRUE(unit.slot < kBubbleSlots || unit.slot == kFailureSlot);
      ASSERT_LE(unit.start_ns, unit.end_ns);
    }
  }
}

// One writer that never waits and laps the reader: what is read is whole and in order.
TEST(PageReaderTest, ReadsWholeRecordsWhileTheWriterLapsIt) {
  const auto page = std::make_unique<SignalPage>();
  constexpr uint64_t kEdges = 400'000;
  const OwnerThread writer("writer", [&page] {
    for (uint64_t i = 1; i <= kEdges; ++i) {
      uint64_t words[kEdgeWords];
      PackEdge({.kind = EdgeKind::kMemoryHint, .time_ns = i, .iteration = i, .value = i}, words);
      page->events.Push(words);
    }
  });
  SignalReader reader(*page);
  uint64_t seen = 0;
  uint64_t last = 0;
  while (last < kEdges) {
    const Drained<EdgeEvent> drained = reader.Drain(kNow);
    ASSERT_EQ(drained.rejected, 0u);
    for (const EdgeEvent& edge : drained.records) {
      ASSERT_EQ(edge.iteration, edge.time_ns);
      ASSERT_EQ(edge.value, edge.time_ns);
      ASSERT_GT(edge.time_ns, last);
      last = edge.time_ns;
    }
    seen += drained.records.size() + drained.dropped;
  }
  EXPECT_EQ(seen, kEdges);
}

}  // namespace
}  // namespace pipefill
