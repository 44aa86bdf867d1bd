#include "client/pages/task_page.h"

#include <memory>

#include "gtest/gtest.h"

namespace pipefill {
namespace {

// Different in every field, and as large as each can be.
UnitRecord LargeUnit() {
  return {.start_ns = UINT64_MAX,
          .end_ns = UINT64_MAX - 1,
          .cpu_ns = UINT64_MAX - 2,
          .bubble_begin_ns = UINT64_MAX - 3,
          .iteration = UINT64_MAX - 4,
          .latest_start_ns = UINT64_MAX - 5,
          .estimate_ns = UINT64_MAX - 6,
          .seq = UINT32_MAX,
          .seq_after = UINT32_MAX - 1,
          .slot = UINT32_MAX - 2,
          .generation = UINT32_MAX - 3};
}

TEST(UnitRecordTest, SurvivesPackingWithAllFieldsAtTheirLargest) {
  const UnitRecord unit = LargeUnit();
  uint64_t words[kUnitWords];
  PackUnit(unit, words);

  const UnitRecord unpacked = UnpackUnit(words);
  EXPECT_EQ(unpacked.start_ns, unit.start_ns);
  EXPECT_EQ(unpacked.end_ns, unit.end_ns);
  EXPECT_EQ(unpacked.cpu_ns, unit.cpu_ns);
  EXPECT_EQ(unpacked.bubble_begin_ns, unit.bubble_begin_ns);
  EXPECT_EQ(unpacked.iteration, unit.iteration);
  EXPECT_EQ(unpacked.latest_start_ns, unit.latest_start_ns);
  EXPECT_EQ(unpacked.estimate_ns, unit.estimate_ns);
  EXPECT_EQ(unpacked.seq, unit.seq);
  EXPECT_EQ(unpacked.seq_after, unit.seq_after);
  EXPECT_EQ(unpacked.slot, unit.slot);
  EXPECT_EQ(unpacked.generation, unit.generation);
}

TEST(TaskPageTest, TellsHowManyUnitsWereOverwrittenBeforeTheyWereRead) {
  auto page = std::make_unique<TaskPage>();
  for (uint64_t i = 0; i < kUnitRecords + 5; ++i) {
    uint64_t words[kUnitWords];
    PackUnit({.start_ns = i}, words);
    page->units.Push(words);
  }

  uint64_t lost = 0;
  for (uint64_t sequence = 0; sequence < page->units.written.load(); ++sequence) {
    uint64_t words[kUnitWords];
    if (!page->units.Read(sequence, words)) {
      ++lost;
    } else {
      EXPECT_EQ(UnpackUnit(words).start_ns, sequence);
    }
  }
  EXPECT_EQ(lost, 5u);
}

}  // namespace
}  // namespace pipefill
