// The orders of chunks of the usual pipeline schedules, as every rank of a pipeline sees them, and
// the names that its bubbles get.

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "client/main_job/edge_recorder.h"
#include "client/testing/fakes.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

enum class Schedule { kGpipe, kOneForwardOneBackward, kInterleaved };

struct Pipeline {
  Schedule schedule = Schedule::kGpipe;
  uint32_t stages = 2;
  uint32_t microbatches = 4;
  uint32_t model_chunks = 1;  // per rank

  uint32_t forwards() const { return microbatches * model_chunks; }
};

void PrintTo(const Pipeline& pipeline, std::ostream* out) {
  const char* names[] = {"gpipe", "1f1b", "interleaved 1f1b"};
  *out << names[static_cast<int>(pipeline.schedule)] << " p=" << pipeline.stages
       << " m=" << pipeline.microbatches << " v=" << pipeline.model_chunks;
}

// Forwards before the steady state, in which forward and backward take turns.
uint32_t WarmUp(const Pipeline& pipeline, uint32_t rank) {
  const uint32_t after = pipeline.stages - 1 - rank;
  switch (pipeline.schedule) {
    case Schedule::kGpipe:
      return pipeline.forwards();
    case Schedule::kOneForwardOneBackward:
      return std::min(after, pipeline.forwards());
    case Schedule::kInterleaved:
      if (pipeline.microbatches == pipeline.stages) return pipeline.forwards();
      return std::min(2 * after + (pipeline.model_chunks - 1) * pipeline.stages,
                      pipeline.forwards());
  }
  return 0;
}

std::vector<int> ChunksOf(const Pipeline& pipeline, uint32_t rank) {
  const uint32_t warm_up = WarmUp(pipeline, rank);
  std::vector<int> chunks(warm_up, PF_CHUNK_FORWARD);
  for (uint32_t i = warm_up; i < pipeline.forwards(); ++i) {
    chunks.push_back(PF_CHUNK_FORWARD);
    chunks.push_back(PF_CHUNK_BACKWARD);
  }
  chunks.insert(chunks.end(), warm_up, PF_CHUNK_BACKWARD);
  return chunks;
}

// The bubble before the first backward: behind the warm-up and the first forward of the steady
// state.
uint32_t MiddleOf(const Pipeline& pipeline, uint32_t rank) {
  return std::min(WarmUp(pipeline, rank) + 1, pipeline.forwards());
}

// One rank that reports chunks.
class Rank {
 public:
  Rank() : futex_(clock_), recorder_(signal_.get(), window_.get(), clock_, futex_) {}

  // Slots of the bubbles that began in the iteration, in their order.
  std::vector<uint32_t> Run(uint64_t iteration, const std::vector<int>& chunks) {
    const uint64_t first = signal_->events.written.load();
    Step();
    recorder_.IterationBegin(iteration);
    for (const int kind : chunks) {
      Step();
      recorder_.ChunkBegin(kind);
      Step();
      recorder_.ChunkEnd();
    }
    Step();
    recorder_.IterationEnd();
    std::vector<uint32_t> slots;
    for (uint64_t sequence = first; sequence < signal_->events.written.load(); ++sequence) {
      uint64_t words[kEdgeWords];
      if (!signal_->events.Read(sequence, words)) continue;
      const EdgeEvent edge = UnpackEdge(words);
      if (edge.kind == EdgeKind::kBubbleBegin) slots.push_back(edge.slot);
    }
    return slots;
  }
  uint32_t NameOf(uint32_t slot) const { return signal_->bubble_names[slot].load(); }
  uint64_t unnamed() const { return signal_->bubbles_unnamed.load(); }
  uint64_t misplaced() const { return signal_->calls_misplaced.load(); }

 private:
  void Step() { clock_.now_ns += 1'000; }

  TestSignalPage signal_;
  TestWindowPage window_;
  FakeClock clock_;
  FakeFutex futex_;
  EdgeRecorder recorder_;
};

class SchedulesTest : public testing::TestWithParam<Pipeline> {};

TEST_P(SchedulesTest, EveryGapHasItsClassAndItsNumberOnEveryRank) {
  for (uint32_t rank_number = 0; rank_number < GetParam().stages; ++rank_number) {
    const std::vector<int> chunks = ChunksOf(GetParam(), rank_number);
    const auto count = static_cast<uint32_t>(chunks.size());
    ASSERT_EQ(count, 2 * GetParam().forwards());
    Rank rank;
    rank.Run(1, chunks);
    const std::vector<uint32_t> slots = rank.Run(2, chunks);
    ASSERT_EQ(slots.size(), count + 1);
    for (uint32_t gap = 0; gap <= count; ++gap) {
      BubbleClass expected = BubbleClass::kScattered;
      if (gap == MiddleOf(GetParam(), rank_number)) expected = BubbleClass::kMiddle;
      if (gap == 0) expected = BubbleClass::kHead;
      if (gap == count) expected = BubbleClass::kTail;
      EXPECT_EQ(rank.NameOf(slots[gap]), PackBubbleName(expected, gap)) << "rank " << rank_number;
    }
  }
}

TEST_P(SchedulesTest, SlotsStayTheSameOverIterationsAndAllBubblesHaveOne) {
  for (uint32_t rank_number = 0; rank_number < GetParam().stages; ++rank_number) {
    const std::vector<int> chunks = ChunksOf(GetParam(), rank_number);
    Rank rank;
    rank.Run(1, chunks);
    const std::vector<uint32_t> slots = rank.Run(2, chunks);
    EXPECT_EQ(std::set<uint32_t>(slots.begin(), slots.end()).size(), slots.size());
    for (uint64_t iteration = 3; iteration < 8; ++iteration) {
      ASSERT_EQ(rank.Run(iteration, chunks), slots);
    }
    EXPECT_EQ(rank.unnamed(), 0u);
    EXPECT_EQ(rank.misplaced(), 0u);
  }
}

TEST_P(SchedulesTest, WithAnOptimizerTheTailIsTheNextHeadOnEveryRank) {
  for (uint32_t rank_number = 0; rank_number < GetParam().stages; ++rank_number) {
    std::vector<int> chunks = ChunksOf(GetParam(), rank_number);
    chunks.push_back(PF_CHUNK_OPTIMIZER);
    const auto count = static_cast<uint32_t>(chunks.size());
    Rank rank;
    rank.Run(1, chunks);
    // Head, the gaps, and the tail, which stays open.
    const std::vector<uint32_t> second = rank.Run(2, chunks);
    ASSERT_EQ(second.size(), count + 1);
    // From now on without a head of its own.
    const std::vector<uint32_t> slots = rank.Run(3, chunks);
    ASSERT_EQ(slots, std::vector<uint32_t>(second.begin() + 1, second.end()));
    EXPECT_EQ(rank.NameOf(slots.back()), PackBubbleName(BubbleClass::kTail, count));
    EXPECT_EQ(rank.Run(4, chunks), slots);
  }
}

std::vector<Pipeline> AllPipelines() {
  std::vector<Pipeline> pipelines;
  for (const uint32_t stages : {2u, 4u, 8u}) {
    for (const uint32_t microbatches : {4u, 8u}) {
      pipelines.push_back({Schedule::kGpipe, stages, microbatches, 1});
      pipelines.push_back({Schedule::kOneForwardOneBackward, stages, microbatches, 1});
      // It wants whole rounds of microbatches.
      if (microbatches % stages != 0) continue;
      pipelines.push_back({Schedule::kInterleaved, stages, microbatches, 2});
    }
  }
  return pipelines;
}

INSTANTIATE_TEST_SUITE_P(All, SchedulesTest, testing::ValuesIn(AllPipelines()));

TEST(SchedulesTest, BubblesBeyondTheLastSlotAreCountedAndTheFirstOnesKeepTheirs) {
  const Pipeline large = {Schedule::kInterleaved, 8, 64, 4};
  const std::vector<int> chunks = ChunksOf(large, 0);
  ASSERT_GT(chunks.size(), kBubbleSlots);
  Rank rank;
  const std::vector<uint32_t> first = rank.Run(1, chunks);
  EXPECT_EQ(rank.unnamed(), chunks.size() + 1 - (kBubbleSlots - kSlotsReserved));
  const std::vector<uint32_t> second = rank.Run(2, chunks);
  for (size_t gap = 1; gap < kBubbleSlots - kSlotsReserved; ++gap) {
    if (gap == MiddleOf(large, 0)) continue;
    ASSERT_EQ(second[gap], first[gap]);
  }
  EXPECT_LT(second[MiddleOf(large, 0)], kBubbleSlots);
  EXPECT_LT(second.back(), kBubbleSlots);
}

}  // namespace
}  // namespace pipefill::sdk
