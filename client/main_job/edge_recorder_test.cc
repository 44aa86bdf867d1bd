#include "client/main_job/edge_recorder.h"

#include <utility>
#include <vector>

#include "client/testing/edge_recorder_fixture.h"
#include "gtest/gtest.h"
#include "rapidcheck.h"
#include "rapidcheck/gtest.h"

namespace pipefill::sdk {
namespace {

TEST_F(EdgeRecorderTest, ShowsABubbleAsOpenWithAllThatAGateNeeds) {
  recorder_.IterationBegin(17);
  clock_.now_ns += 500;
  recorder_.BubbleBegin(PF_BUBBLE_MIDDLE, 3);

  const SignalView view = ReadSignal(*signal_);
  EXPECT_TRUE(view.is_open());
  EXPECT_EQ(view.slot, 0u);
  EXPECT_EQ(view.begin_ns, clock_.now_ns);
  EXPECT_EQ(view.iteration, 17u);
  EXPECT_EQ(signal_->bubble_names[0].load(), PackBubbleName(BubbleClass::kMiddle, 3));
}

TEST_F(EdgeRecorderTest, RecordsEveryEdgeWithItsTimeSlotAndSeq) {
  recorder_.IterationBegin(17);
  clock_.now_ns = 200'000'000'000;
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  recorder_.MemoryHint(4096);
  clock_.now_ns = 300'000'000'000;
  recorder_.BubbleEnd();
  recorder_.IterationEnd();

  const std::vector<EdgeEvent> edges = ReadEdges(*signal_);
  ASSERT_EQ(Letters(*signal_), "IBMbi");
  EXPECT_EQ(edges[0].iteration, 17u);
  EXPECT_EQ(edges[0].slot, kNoSlot);
  EXPECT_EQ(edges[1].seq, 1u);
  EXPECT_EQ(edges[1].slot, 0u);
  EXPECT_EQ(edges[1].time_ns, 200'000'000'000u);
  EXPECT_EQ(edges[2].value, 4096u);
  EXPECT_EQ(edges[2].slot, 0u);
  EXPECT_EQ(edges[3].seq, 2u);
  EXPECT_EQ(edges[3].time_ns, 300'000'000'000u);
  EXPECT_EQ(edges[4].slot, kNoSlot);
  EXPECT_EQ(misplaced(), 0u);
}

TEST_F(EdgeRecorderTest, WakesGatesOnceAtTheBeginOfAnOfferedBubbleAndNeverAtItsEnd) {
  recorder_.IterationBegin(1);
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  EXPECT_EQ(futex_.wakes, 1);
  recorder_.BubbleEnd();
  recorder_.IterationEnd();
  EXPECT_EQ(futex_.wakes, 1);
}

TEST_F(EdgeRecorderTest, WakesNobodyWhenNothingCouldStart) {
  recorder_.IterationBegin(1);
  window_->gates.store(0);
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  window_->gates.store(1);
  window_->entries[0].offered.store(0);
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  window_->entries[0].offered.store(1);
  window_->parked.store(1);
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  window_->parked.store(0);
  clock_.now_ns += kHeartbeatStaleNs + 1;
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);

  EXPECT_EQ(futex_.wakes, 0);
}

TEST_F(EdgeRecorderTest, WakesNobodyInAHeldOutIteration) {
  window_->hold_out_one_in.store(1);
  recorder_.IterationBegin(1);
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  EXPECT_EQ(futex_.wakes, 0);
}

TEST_F(EdgeRecorderTest, ClosesAnOpenBubbleWithTheIteration) {
  recorder_.IterationBegin(1);
  recorder_.BubbleBegin(PF_BUBBLE_TAIL, 0);
  recorder_.IterationEnd();

  EXPECT_FALSE(is_open());
  EXPECT_EQ(Letters(*signal_), "IBbi");
}

TEST_F(EdgeRecorderTest, IgnoresAndCountsEndsWithoutBegin) {
  recorder_.BubbleEnd();
  recorder_.ChunkEnd();
  recorder_.IterationEnd();
  recorder_.MemoryHint(1);

  EXPECT_EQ(Letters(*signal_), "");
  EXPECT_EQ(misplaced(), 4u);
}

TEST_F(EdgeRecorderTest, IgnoresAndCountsBubblesOutsideAnIteration) {
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  EXPECT_FALSE(is_open());
  EXPECT_EQ(misplaced(), 1u);
}

TEST_F(EdgeRecorderTest, IgnoresUnknownClassesAndOrdinalsThatDoNotFit) {
  recorder_.IterationBegin(1);
  recorder_.BubbleBegin(0, 0);
  recorder_.BubbleBegin(5, 0);  // failure: not for ranks to say
  recorder_.BubbleBegin(-1, 0);
  recorder_.BubbleBegin(PF_BUBBLE_CUSTOM, 1u << 24);

  EXPECT_FALSE(is_open());
  EXPECT_EQ(misplaced(), 4u);
}

TEST_F(EdgeRecorderTest, ClosesTheFirstOfTwoBubblesBegunInARow) {
  recorder_.IterationBegin(1);
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 1);

  EXPECT_TRUE(is_open());
  EXPECT_EQ(ReadSignal(*signal_).slot, 1u);
  EXPECT_EQ(Letters(*signal_), "IBbB");
  EXPECT_EQ(misplaced(), 1u);
}

TEST_F(EdgeRecorderTest, ClosesAnIterationThatIsStillOpenWhenTheNextBegins) {
  recorder_.IterationBegin(1);
  recorder_.BubbleBegin(PF_BUBBLE_HEAD, 0);
  recorder_.IterationBegin(2);

  EXPECT_FALSE(is_open());
  EXPECT_EQ(Letters(*signal_), "IBbiI");
  EXPECT_EQ(ReadEdges(*signal_)[3].iteration, 1u);
  EXPECT_EQ(misplaced(), 1u);
}

TEST_F(EdgeRecorderTest, OpensABubbleWithoutSlotOnceAllSlotsAreTaken) {
  recorder_.IterationBegin(1);
  for (uint32_t i = 0; i < kBubbleSlots; ++i) {
    recorder_.BubbleBegin(PF_BUBBLE_CUSTOM, i);
    recorder_.BubbleEnd();
  }
  recorder_.BubbleBegin(PF_BUBBLE_CUSTOM, kBubbleSlots);

  EXPECT_TRUE(is_open());
  EXPECT_EQ(ReadSignal(*signal_).slot, kNoSlot);
  EXPECT_EQ(signal_->bubbles_unnamed.load(), 1u);
}

// Any call of a program that knows no rules.
void Call(EdgeRecorder& recorder, int call) {
  switch (call) {
    case 0:
      return recorder.IterationBegin(7);
    case 1:
      return recorder.IterationEnd();
    case 2:
      return recorder.BubbleBegin(PF_BUBBLE_HEAD, 0);
    case 3:
      return recorder.BubbleEnd();
    case 4:
      return recorder.ChunkBegin(PF_CHUNK_FORWARD);
    case 5:
      return recorder.ChunkBegin(PF_CHUNK_BACKWARD);
    case 6:
      return recorder.ChunkEnd();
    case 7:
      return recorder.ChunkBegin(PF_CHUNK_OPTIMIZER);
    default:
      return recorder.MemoryHint(1);
  }
}

// Reads edges one by one, as agentd does, and tells whether they make sense.
struct EdgeChecker {
  bool Accept(const EdgeEvent& edge) {
    const bool is_ordered = edge.time_ns >= time_ns;
    time_ns = edge.time_ns;
    if (edge.kind == EdgeKind::kBubbleBegin || edge.kind == EdgeKind::kBubbleEnd) ++seq;
    return is_ordered && edge.seq == seq && Nests(edge.kind);
  }

  bool Nests(EdgeKind kind) {
    switch (kind) {
      case EdgeKind::kIterationBegin:
        return !std::exchange(in_iteration, true);
      case EdgeKind::kIterationEnd:  // a bubble may go on
        return std::exchange(in_iteration, false) && !in_chunk;
      case EdgeKind::kBubbleBegin:
        return in_iteration && !in_chunk && !std::exchange(in_bubble, true);
      case EdgeKind::kBubbleEnd:
        return std::exchange(in_bubble, false);
      case EdgeKind::kChunkBegin:
        return in_iteration && !in_bubble && !std::exchange(in_chunk, true);
      case EdgeKind::kChunkEnd:
        return std::exchange(in_chunk, false);
      case EdgeKind::kMemoryHint:
        return in_iteration;
    }
    return false;
  }

  bool in_iteration = false;
  bool in_bubble = false;
  bool in_chunk = false;
  uint32_t seq = 0;
  uint64_t time_ns = 0;
};

RC_GTEST_PROP(EdgeRecorderPropertyTest, KeepsEdgesInPairsAndThePageInStepWithTheRing, ()) {
  TestSignalPage signal;
  TestWindowPage window;
  FakeClock clock;
  FakeFutex futex(clock);
  EdgeRecorder recorder(signal.get(), window.get(), clock, futex);
  const auto calls = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 9));
  for (const int call : calls) {
    clock.now_ns += 10;
    Call(recorder, call);
  }

  EdgeChecker checker;
  for (const EdgeEvent& edge : ReadEdges(*signal)) RC_ASSERT(checker.Accept(edge));
  RC_ASSERT(signal->seq.load() == checker.seq);
  RC_ASSERT((checker.seq % 2 == 1) == checker.in_bubble);
}

}  // namespace
}  // namespace pipefill::sdk
