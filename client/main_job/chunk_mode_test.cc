// Bubbles that the recorder makes itself, of the pauses between chunks.
#include <string>
#include <utility>
#include <vector>

#include "client/main_job/edge_recorder.h"
#include "client/testing/edge_recorder_fixture.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

class ChunkModeTest : public EdgeRecorderTest {
 protected:
  void RunIteration(uint64_t iteration, const std::vector<int>& kinds) {
    clock_.now_ns += 100;
    recorder_.IterationBegin(iteration);
    for (const int kind : kinds) {
      clock_.now_ns += 100;
      recorder_.ChunkBegin(kind);
      clock_.now_ns += 100;
      recorder_.ChunkEnd();
    }
    clock_.now_ns += 100;
    recorder_.IterationEnd();
  }

  const std::vector<int> kTwoByTwo = {PF_CHUNK_FORWARD, PF_CHUNK_FORWARD, PF_CHUNK_BACKWARD,
                                      PF_CHUNK_BACKWARD};
};

TEST_F(ChunkModeTest, MakesABubbleOfEveryPause) {
  RunIteration(1, kTwoByTwo);
  EXPECT_EQ(Letters(*signal_), "IBbCcBbCcBbCcBbCcBbi");
  EXPECT_FALSE(is_open());
  EXPECT_EQ(misplaced(), 0u);
}

TEST_F(ChunkModeTest, RecordsTheFirstHeadAfterTheFactWithoutShowingItOpen) {
  recorder_.IterationBegin(1);
  const uint64_t begin_ns = clock_.now_ns;
  clock_.now_ns += 700;
  recorder_.ChunkBegin(PF_CHUNK_FORWARD);

  const std::vector<EdgeEvent> edges = ReadEdges(*signal_);
  ASSERT_EQ(Letters(*signal_), "IBbC");
  EXPECT_EQ(edges[1].time_ns, begin_ns);
  EXPECT_EQ(edges[1].seq, 1u);
  EXPECT_EQ(edges[2].time_ns, begin_ns + 700);
  EXPECT_EQ(edges[2].seq, 2u);
  EXPECT_EQ(signal_->seq.load(), 2u);
  EXPECT_EQ(futex_.wakes, 0);
}

TEST_F(ChunkModeTest, LeavesTheFirstHeadOutWhenAMemoryHintCameBeforeTheFirstChunk) {
  recorder_.IterationBegin(1);
  recorder_.MemoryHint(1);
  recorder_.ChunkBegin(PF_CHUNK_FORWARD);
  EXPECT_EQ(Letters(*signal_), "IMC");
}

TEST_F(ChunkModeTest, OpensTheHeadAtOnceFromTheSecondIterationOn) {
  RunIteration(1, kTwoByTwo);
  recorder_.IterationBegin(2);

  EXPECT_TRUE(is_open());
  const uint32_t slot = ReadSignal(*signal_).slot;
  EXPECT_EQ(signal_->bubble_names[slot].load(), PackBubbleName(BubbleClass::kHead, 0));
}

TEST_F(ChunkModeTest, NamesMiddleAndTailFromTheSecondIterationOn) {
  RunIteration(1, kTwoByTwo);
  const uint64_t first_edges = signal_->events.written.load();
  RunIteration(2, kTwoByTwo);

  std::vector<uint32_t> names;
  for (const EdgeEvent& edge : ReadEdges(*signal_)) {
    if (edge.kind == EdgeKind::kBubbleBegin) names.push_back(signal_->bubble_names[edge.slot]);
  }
  ASSERT_GT(signal_->events.written.load(), first_edges);
  const std::vector<uint32_t> expected = {
      PackBubbleName(BubbleClass::kHead, 0),      PackBubbleName(BubbleClass::kScattered, 1),
      PackBubbleName(BubbleClass::kScattered, 2), PackBubbleName(BubbleClass::kScattered, 3),
      PackBubbleName(BubbleClass::kScattered, 4), PackBubbleName(BubbleClass::kHead, 0),
      PackBubbleName(BubbleClass::kScattered, 1), PackBubbleName(BubbleClass::kMiddle, 2),
      PackBubbleName(BubbleClass::kScattered, 3), PackBubbleName(BubbleClass::kTail, 4)};
  EXPECT_EQ(names, expected);
}

TEST_F(ChunkModeTest, RecordsTheOutermostOfNestedChunks) {
  recorder_.IterationBegin(1);
  recorder_.ChunkBegin(PF_CHUNK_FORWARD);
  recorder_.ChunkBegin(PF_CHUNK_OTHER);
  recorder_.ChunkEnd();
  EXPECT_FALSE(is_open());
  recorder_.ChunkEnd();

  EXPECT_TRUE(is_open());
  EXPECT_EQ(Letters(*signal_), "IBbCcB");
  EXPECT_EQ(misplaced(), 1u);
}

TEST_F(ChunkModeTest, TakesAnUnknownKindForComputing) {
  recorder_.IterationBegin(1);
  recorder_.ChunkBegin(99);

  EXPECT_EQ(ReadEdges(*signal_).back().value, static_cast<uint64_t>(PF_CHUNK_OTHER));
  EXPECT_EQ(misplaced(), 1u);
}

TEST_F(ChunkModeTest, EndsAnOpenChunkWithTheIterationAndOpensNoBubble) {
  recorder_.IterationBegin(1);
  recorder_.ChunkBegin(PF_CHUNK_FORWARD);
  recorder_.IterationEnd();
  recorder_.ChunkEnd();

  EXPECT_EQ(Letters(*signal_), "IBbCci");
  EXPECT_EQ(misplaced(), 1u);
}

TEST_F(ChunkModeTest, RefusesBubblesFromARankThatReportsChunksAndTheOtherWayRound) {
  RunIteration(1, kTwoByTwo);
  recorder_.IterationBegin(2);
  recorder_.BubbleEnd();
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  EXPECT_EQ(misplaced(), 2u);
  EXPECT_TRUE(is_open());

  TestSignalPage other;
  EdgeRecorder bubbles(other.get(), window_.get(), clock_, futex_);
  bubbles.IterationBegin(1);
  bubbles.BubbleBegin(PF_BUBBLE_HEAD, 0);
  bubbles.ChunkBegin(PF_CHUNK_FORWARD);
  EXPECT_EQ(other->calls_misplaced.load(), 1u);
}

class JointBubbleTest : public ChunkModeTest {
 protected:
  // With the joint tail open, in between two iterations.
  void SetUp() override {
    RunIteration(1, kWithOptimizer);
    RunIteration(2, kWithOptimizer);
    ASSERT_TRUE(is_open());
    edges_before_ = Letters(*signal_).size();
  }
  std::string NewLetters() const { return Letters(*signal_).substr(edges_before_); }
  uint32_t NameOfOpen() const { return signal_->bubble_names[ReadSignal(*signal_).slot].load(); }

  const std::vector<int> kWithOptimizer = {PF_CHUNK_FORWARD, PF_CHUNK_BACKWARD, PF_CHUNK_OPTIMIZER};
  size_t edges_before_ = 0;
};

TEST_F(JointBubbleTest, TailStaysOpenUntilTheFirstChunkOfTheNextIteration) {
  EXPECT_EQ(NameOfOpen(), PackBubbleName(BubbleClass::kTail, 3));
  const SignalView tail = ReadSignal(*signal_);
  recorder_.IterationBegin(3);
  EXPECT_EQ(ReadSignal(*signal_).seq, tail.seq);
  EXPECT_EQ(ReadSignal(*signal_).begin_ns, tail.begin_ns);
  EXPECT_EQ(ReadSignal(*signal_).slot, tail.slot);
  recorder_.ChunkBegin(PF_CHUNK_FORWARD);
  EXPECT_FALSE(is_open());
  EXPECT_EQ(NewLetters(), "IbC");
  EXPECT_EQ(misplaced(), 0u);
}

TEST_F(JointBubbleTest, ItsIterationMovesOnSoThatGatesKeepTheNextHoldOut) {
  EXPECT_EQ(ReadSignal(*signal_).iteration, 2u);
  recorder_.IterationBegin(3);
  EXPECT_EQ(ReadSignal(*signal_).iteration, 3u);
  const std::vector<EdgeEvent> edges = ReadEdges(*signal_);
  EXPECT_EQ(edges.back().kind, EdgeKind::kIterationBegin);
  EXPECT_EQ(edges[edges.size() - 2].iteration, 2u);
}

TEST_F(JointBubbleTest, HasTheSameNameInEveryIteration) {
  const uint32_t name = NameOfOpen();
  for (uint64_t iteration = 3; iteration < 10; ++iteration) {
    RunIteration(iteration, kWithOptimizer);
    ASSERT_TRUE(is_open());
    ASSERT_EQ(NameOfOpen(), name);
  }
  EXPECT_EQ(misplaced(), 0u);
}

TEST_F(JointBubbleTest, EndsInTheOldPageWhenTheRecorderMovesToAnother) {
  const uint32_t tail_name = NameOfOpen();
  TestSignalPage next;
  recorder_.MoveTo(next.get(), window_.get());
  EXPECT_FALSE(is_open());
  RunIteration(3, kWithOptimizer);
  // A head of its own, for the tail that it goes with is in the other page; then all is as before.
  EXPECT_EQ(Letters(*next), "IBbCcBbCcBbCcBi");
  const SignalView view = ReadSignal(*next);
  EXPECT_TRUE(view.is_open());
  EXPECT_EQ(next->bubble_names[view.slot].load(), tail_name);
  EXPECT_EQ(misplaced(), 0u);
}

TEST_F(JointBubbleTest, ClosesWithAnIterationOfAnotherOrder) {
  RunIteration(3, {PF_CHUNK_FORWARD});
  EXPECT_FALSE(is_open());
}

TEST_F(JointBubbleTest, WakesGatesInTheNextIterationOnlyIfTheyWereHeldOutBefore) {
  OfferBubble(window_.get(), ReadSignal(*signal_).slot, 1'000'000, 1'000'000);
  futex_.wakes = 0;
  recorder_.IterationBegin(3);
  EXPECT_EQ(futex_.wakes, 0);
  recorder_.ChunkBegin(PF_CHUNK_FORWARD);
  recorder_.ChunkEnd();
  recorder_.ChunkBegin(PF_CHUNK_BACKWARD);
  recorder_.ChunkEnd();
  recorder_.ChunkBegin(PF_CHUNK_OPTIMIZER);
  recorder_.ChunkEnd();
  recorder_.IterationEnd();
  window_->hold_out_one_in.store(2);
  const HoldOut hold_out = {.one_in = 2};
  uint64_t held_out = 4;
  while (!IsHeldOut(hold_out, held_out) || IsHeldOut(hold_out, held_out + 1)) ++held_out;
  RunIteration(held_out, kWithOptimizer);
  futex_.wakes = 0;
  recorder_.IterationBegin(held_out + 1);
  EXPECT_EQ(futex_.wakes, 1);
}

TEST_F(JointBubbleTest, ClosesWhenTheDeviceIsUsedBetweenIterations) {
  recorder_.ChunkBegin(PF_CHUNK_OTHER);
  EXPECT_FALSE(is_open());
  EXPECT_EQ(misplaced(), 1u);
  recorder_.ChunkEnd();
  recorder_.IterationBegin(3);
  EXPECT_TRUE(is_open());
  EXPECT_EQ(NameOfOpen(), PackBubbleName(BubbleClass::kHead, 0));
  EXPECT_EQ(NewLetters(), "bIB");
}

TEST_F(JointBubbleTest, ClosesWhenTheRankDetaches) {
  recorder_.Detach();
  EXPECT_FALSE(is_open());
  EXPECT_EQ(NewLetters(), "b");
}

}  // namespace
}  // namespace pipefill::sdk
