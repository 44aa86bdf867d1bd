#include "agent/rank_account.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "client/pages/window_page.h"

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr HoldOut kNoHoldOut = {.block_iterations = 1, .one_in = 0};
constexpr uint32_t kSlot = 4;
constexpr int32_t kTask = 11;

EdgeEvent Edge(EdgeKind kind, int64_t at_ms, uint32_t seq, uint64_t iteration = 1) {
  return {.kind = kind,
          .slot = kSlot,
          .seq = seq,
          .time_ns = static_cast<uint64_t>(at_ms * kMs),
          .iteration = iteration};
}

// A unit in the bubble `seq`, which began at 10 ms if nothing else is said, that took `cpu_ms`, all
// of it running.
UnitRecord UnitIn(uint32_t seq, int64_t start_ms, int64_t cpu_ms, int64_t begin_ms = 10) {
  return {.start_ns = static_cast<uint64_t>(start_ms * kMs),
          .end_ns = static_cast<uint64_t>((start_ms + cpu_ms) * kMs),
          .cpu_ns = static_cast<uint64_t>(cpu_ms * kMs),
          .bubble_begin_ns = static_cast<uint64_t>(begin_ms * kMs),
          .seq = seq,
          .seq_after = seq,
          .slot = kSlot,
          .generation = 1};
}

class RankAccountTest : public testing::Test {
 protected:
  RankAccountTest() { account_.OnAttached(1); }

  EdgeEffect Begin(int64_t at_ms, uint32_t seq, uint64_t iteration = 1, bool is_offered = true) {
    return account_.OnEdge(Edge(EdgeKind::kBubbleBegin, at_ms, seq, iteration), is_offered);
  }
  EdgeEffect End(int64_t at_ms, uint32_t seq) {
    return account_.OnEdge(Edge(EdgeKind::kBubbleEnd, at_ms, seq), true);
  }
  void ExpectTask(int64_t in_bubble_ms, int64_t overrun_ms) {
    EXPECT_EQ(account_.task(kTask).in_bubble_ns, in_bubble_ms * kMs);
    EXPECT_EQ(account_.task(kTask).overrun_ns, overrun_ms * kMs);
  }

  RankAccount account_{kNoHoldOut};
};

TEST_F(RankAccountTest, AddsUpIterationsAndTheirMedian) {
  int64_t begin_ms = 0;
  for (const int64_t length_ms : {10, 30, 11}) {
    account_.OnEdge(Edge(EdgeKind::kIterationBegin, begin_ms, 0), false);
    account_.OnEdge(Edge(EdgeKind::kIterationEnd, begin_ms + length_ms, 0), false);
    begin_ms += 100;
  }
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, begin_ms, 0), false);
  EXPECT_EQ(account_.rank().iterations, 4);
  EXPECT_EQ(account_.rank().iteration_ns, 51 * kMs);
  EXPECT_EQ(account_.rank().iteration_p50_ns, 11 * kMs);
  EXPECT_EQ(account_.rank().unmatched, 0);
}

TEST_F(RankAccountTest, DoesNotCountIterationsWhoseEdgesDoNotMatch) {
  account_.OnEdge(Edge(EdgeKind::kIterationEnd, 5, 0), false);
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 10, 0, 7), false);
  account_.OnEdge(Edge(EdgeKind::kIterationEnd, 20, 0, 8), false);
  EXPECT_EQ(account_.rank().iteration_ns, 0);
  EXPECT_EQ(account_.rank().unmatched, 2);
}

TEST_F(RankAccountTest, TellsTheControllerOfIterationsWithBothEdges) {
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 10, 0, 7), false);
  const EdgeEffect effect = account_.OnEdge(Edge(EdgeKind::kIterationEnd, 30, 0, 7), false);
  ASSERT_TRUE(effect.ended.has_value());
  EXPECT_EQ(effect.ended->number, 7u);
  EXPECT_EQ(effect.ended->begin_ns, 10 * kMs);
  EXPECT_EQ(effect.ended->length_ns, 20 * kMs);
  EXPECT_FALSE(account_.OnEdge(Edge(EdgeKind::kIterationEnd, 40, 0, 8), false).ended.has_value());
}

TEST_F(RankAccountTest, CountsUnitsAndOverrunsOfABubble) {
  Begin(10, 1);
  account_.OnUnit(kTask, UnitIn(1, 11, 2));
  account_.OnUnit(kTask, UnitIn(1, 13, 3));
  End(14, 2);
  EXPECT_EQ(account_.bubble(kSlot).units, 2);
  EXPECT_EQ(account_.bubble(kSlot).overruns, 1);
  EXPECT_EQ(account_.bubble(kSlot).offered, 1);
  EXPECT_EQ(account_.rank().overrun_ns, 2 * kMs);
  EXPECT_EQ(account_.rank().fillable_ns, 4 * kMs);
}

TEST_F(RankAccountTest, ClosedBubbleGoesToThePredictorAndIntoTheSums) {
  EXPECT_FALSE(Begin(10, 1, 9).closed.has_value());
  const EdgeEffect effect = End(14, 2);
  ASSERT_TRUE(effect.closed.has_value());
  EXPECT_EQ(effect.closed->slot, kSlot);
  EXPECT_EQ(effect.closed->iteration, 9u);
  EXPECT_EQ(effect.closed->begin_ns, 10 * kMs);
  EXPECT_EQ(effect.closed->length_ns, 4 * kMs);
  EXPECT_EQ(account_.rank().bubble_ns, 4 * kMs);
  EXPECT_EQ(account_.bubble(kSlot).count, 1);
  EXPECT_EQ(account_.bubble(kSlot).bubble_ns, 4 * kMs);
  EXPECT_EQ(account_.bubble(kSlot).offered_ns, 4 * kMs);
}

TEST_F(RankAccountTest, OffersCountOnlyWithAWindowAndOutsideHoldOuts) {
  RankAccount account({.block_iterations = 1, .one_in = 1});
  account.OnAttached(1);
  account.OnEdge(Edge(EdgeKind::kBubbleBegin, 10, 1), true);
  account.OnEdge(Edge(EdgeKind::kBubbleEnd, 14, 2), true);
  EXPECT_EQ(account.bubble(kSlot).offered_ns, 0) << "held out";
  EXPECT_EQ(account.rank().fillable_ns, 0) << "held out";
  Begin(10, 1, 1, false);
  End(14, 2);
  EXPECT_EQ(account_.bubble(kSlot).offered_ns, 0) << "no window";
  EXPECT_EQ(account_.bubble(kSlot).bubble_ns, 4 * kMs);
}

TEST_F(RankAccountTest, BubbleWithoutANameCountsForTheRankAlone) {
  EdgeEvent edge = Edge(EdgeKind::kBubbleBegin, 10, 1);
  edge.slot = kNoSlot;
  account_.OnEdge(edge, false);
  const EdgeEffect effect = End(14, 2);
  EXPECT_EQ(effect.closed->slot, kNoSlot);
  EXPECT_EQ(account_.rank().bubble_ns, 4 * kMs);
}

TEST_F(RankAccountTest, EndOfAnotherBubbleClosesNothing) {
  Begin(10, 1);
  EXPECT_FALSE(End(14, 4).closed.has_value());
  EXPECT_FALSE(End(15, 2).closed.has_value()) << "its end comes too late to be its end";
  EXPECT_EQ(account_.rank().bubble_ns, 0);
  EXPECT_EQ(account_.rank().unmatched, 2);
}

TEST_F(RankAccountTest, DroppedEdgesLeaveNoPairBehind) {
  Begin(10, 1);
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 10, 0), false);
  account_.OnEdgesDropped(3);
  account_.OnEdge(Edge(EdgeKind::kIterationEnd, 90, 0), false);
  End(90, 2);
  EXPECT_EQ(account_.rank().edges_dropped, 3);
  EXPECT_EQ(account_.rank().bubble_ns, 0);
  EXPECT_EQ(account_.rank().iteration_ns, 0);
}

TEST_F(RankAccountTest, MemoryHintBelongsToTheOpenBubble) {
  EXPECT_FALSE(account_.OnEdge(Edge(EdgeKind::kMemoryHint, 5, 0), false).hinted_slot.has_value());
  Begin(10, 1);
  EXPECT_EQ(account_.OnEdge(Edge(EdgeKind::kMemoryHint, 11, 1), false).hinted_slot, kSlot);
}

TEST_F(RankAccountTest, UnitCountsAsInsideUntilTheEndOfItsBubbleIsKnown) {
  Begin(10, 1);
  account_.OnUnit(kTask, UnitIn(1, 11, 5));
  ExpectTask(5, 0);
  EXPECT_EQ(account_.task(kTask).units, 1);
  EXPECT_EQ(account_.task(kTask).unit_cpu_ns, 5 * kMs);
  End(14, 2);
  ExpectTask(3, 2);
  EXPECT_EQ(account_.bubble(kSlot).filled_ns, 3 * kMs);
  EXPECT_EQ(account_.bubble(kSlot).overrun_ns, 2 * kMs);
  EXPECT_EQ(account_.waiting_units(), 0u);
}

TEST_F(RankAccountTest, UnitMayArriveAfterItsBubbleIsOver) {
  Begin(10, 1);
  End(14, 2);
  Begin(20, 3);
  account_.OnUnit(kTask, UnitIn(1, 11, 5));
  ExpectTask(3, 2);
}

TEST_F(RankAccountTest, UnitMayArriveBeforeTheBeginOfItsBubble) {
  account_.OnUnit(kTask, UnitIn(1, 11, 5));
  ExpectTask(5, 0);
  Begin(10, 1);
  End(14, 2);
  ExpectTask(3, 2);
}

TEST_F(RankAccountTest, UnitOfABubbleWhoseEndWasMissedCountsAsInside) {
  Begin(10, 1);
  account_.OnUnit(kTask, UnitIn(1, 11, 5));
  Begin(30, 5);
  ExpectTask(5, 0);
}

TEST_F(RankAccountTest, UnitOfABubbleThatWasNeverSeenIsOverrun) {
  Begin(10, 5);
  account_.OnUnit(kTask, UnitIn(3, 11, 5));
  ExpectTask(0, 5);
}

TEST_F(RankAccountTest, UnitThatNamesAnotherBeginOfItsBubbleIsOverrun) {
  Begin(10, 1);
  account_.OnUnit(kTask, UnitIn(1, 11, 2, 9));
  ExpectTask(0, 2);
  End(20, 2);
  account_.OnUnit(kTask, UnitIn(1, 13, 3, 12));
  ExpectTask(0, 5);
}

TEST_F(RankAccountTest, WorksAcrossTheWrapOfTheSignalWord) {
  Begin(10, UINT32_MAX);
  account_.OnUnit(kTask, UnitIn(1, 21, 2, 20));
  ExpectTask(2, 0);
  ASSERT_TRUE(End(14, 0).closed.has_value());
  Begin(20, 1);
  End(30, 2);
  ExpectTask(2, 0);
}

TEST_F(RankAccountTest, LeavingRankEndsItsBubble) {
  Begin(10, 1);
  account_.OnUnit(kTask, UnitIn(1, 11, 5));
  account_.OnDetached(Instant::FromNs(14 * kMs));
  ExpectTask(3, 2);
  EXPECT_EQ(account_.rank().bubble_ns, 4 * kMs);
  // The unit that was in progress.
  account_.OnUnit(kTask, UnitIn(1, 12, 4));
  ExpectTask(5, 4);
}

TEST_F(RankAccountTest, BreakEndsWhatIsOpenAndCountsNoIteration) {
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 5, 0), false);
  Begin(10, 1);
  account_.OnUnit(kTask, UnitIn(1, 11, 5));
  account_.OnBreak(Instant::FromNs(14 * kMs));
  ExpectTask(3, 2);
  EXPECT_EQ(account_.rank().bubble_ns, 4 * kMs);
  EXPECT_EQ(account_.rank().iteration_ns, 0);
}

TEST_F(RankAccountTest, EndsAfterABreakAreNotUnmatchedAndMeasuringGoesOn) {
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 5, 0), false);
  Begin(10, 1);
  account_.OnBreak(Instant::FromNs(14 * kMs));
  EXPECT_FALSE(End(50, 8).closed.has_value());
  account_.OnEdge(Edge(EdgeKind::kIterationEnd, 52, 8, 3), false);
  EXPECT_EQ(account_.rank().unmatched, 0);

  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 60, 8, 4), false);
  Begin(61, 9, 4);
  ASSERT_TRUE(End(65, 10).closed.has_value());
  account_.OnEdge(Edge(EdgeKind::kIterationEnd, 70, 10, 4), false);

  EXPECT_EQ(account_.rank().iteration_ns, 10 * kMs);
  EXPECT_EQ(account_.rank().bubble_ns, 8 * kMs);
  EXPECT_EQ(account_.rank().unmatched, 0);
  EXPECT_FALSE(End(80, 12).closed.has_value());
  EXPECT_EQ(account_.rank().unmatched, 1);
}

TEST_F(RankAccountTest, NextRankStartsFromZeroAndTasksKeepTheirTotals) {
  Begin(10, 1);
  account_.OnUnit(kTask, UnitIn(1, 11, 2));
  End(14, 2);
  account_.OnDetached(Instant::FromNs(15 * kMs));
  account_.OnAttached(2);
  EXPECT_EQ(account_.rank().bubble_ns, 0);
  EXPECT_EQ(account_.bubble(kSlot).filled_ns, 0);
  ExpectTask(2, 0);
  // A late unit of the rank before, with a signal word that the new rank uses too.
  Begin(20, 1);
  End(30, 2);
  account_.OnUnit(kTask, UnitIn(1, 13, 3));
  ExpectTask(3, 2);
  EXPECT_EQ(account_.bubble(kSlot).overrun_ns, 0);
}

TEST_F(RankAccountTest, KeepsTasksApartAndForgetsThem) {
  Begin(10, 1);
  account_.OnUnit(kTask, UnitIn(1, 11, 1));
  account_.OnUnit(kTask + 1, UnitIn(1, 12, 2));
  account_.ForgetTask(kTask);
  End(20, 2);
  ExpectTask(0, 0);
  EXPECT_EQ(account_.task(kTask + 1).in_bubble_ns, 2 * kMs);
  EXPECT_EQ(account_.bubble(kSlot).filled_ns, 3 * kMs);
}

TEST_F(RankAccountTest, RemembersNoMoreClosedBubblesThanItSays) {
  for (uint32_t i = 0; i <= kClosedBubblesKept; ++i) {
    Begin(10 * i + 1, 2 * i + 1);
    End(10 * i + 9, 2 * i + 2);
  }
  account_.OnUnit(kTask, UnitIn(3, 12, 2, 11));
  ExpectTask(2, 0);
  account_.OnUnit(kTask, UnitIn(1, 2, 2, 1));
  ExpectTask(2, 2);
}

TEST_F(RankAccountTest, WaitingUnitsAreBounded) {
  Begin(10, 1);
  for (size_t i = 0; i < kWaitingUnitsMax + 3; ++i) account_.OnUnit(kTask, UnitIn(1, 11, 1));
  EXPECT_EQ(account_.waiting_units(), kWaitingUnitsMax);
  EXPECT_EQ(account_.bubble(kSlot).filled_ns, 3 * kMs);
}

TEST_F(RankAccountTest, AbsurdCpuTimesDoNotOverflow) {
  UnitRecord unit = UnitIn(1, 11, 1);
  unit.cpu_ns = UINT64_MAX;
  Begin(20, 3);
  for (int i = 0; i < 3; ++i) account_.OnUnit(kTask, unit);
  EXPECT_EQ(account_.task(kTask).unit_cpu_ns, INT64_MAX);
  EXPECT_EQ(account_.task(kTask).overrun_ns, INT64_MAX);
  EXPECT_EQ(account_.bubble(kSlot).overrun_ns, INT64_MAX);
}

TEST_F(RankAccountTest, AbsurdUnitsChangeNoOtherTotals) {
  UnitRecord unit = UnitIn(1, 11, 1);
  unit.slot = UINT32_MAX;
  unit.generation = 77;
  unit.start_ns = UINT64_MAX;
  account_.OnUnit(kTask, unit);
  ExpectTask(0, 1);
  for (uint32_t slot = 0; slot < kBubbleSlots; ++slot) {
    EXPECT_EQ(account_.bubble(slot).overrun_ns, 0);
  }
}

// A unit while the main job stood still since `begin_ms`.
UnitRecord UnitInFailure(int64_t begin_ms, int64_t start_ms, int64_t cpu_ms) {
  UnitRecord unit = UnitIn(1, start_ms, cpu_ms, begin_ms);
  unit.slot = kFailureSlot;
  return unit;
}

class FailureTest : public RankAccountTest {
 protected:
  void Stand(int64_t at_ms) { account_.OnFailureBegan(Instant::FromNs(at_ms * kMs)); }
  void Move(int64_t at_ms) { account_.OnFailureEnded(Instant::FromNs(at_ms * kMs)); }
};

TEST_F(FailureTest, IsABubbleOfItsOwnAllOfItOffered) {
  Stand(100);
  Move(400);
  EXPECT_EQ(account_.failures().count, 1);
  EXPECT_EQ(account_.failures().bubble_ns, 300 * kMs);
  EXPECT_EQ(account_.failures().offered_ns, 300 * kMs);
  EXPECT_EQ(account_.rank().bubble_ns, 0);
}

TEST_F(FailureTest, ItsUnitsAreSplitAtItsEnd) {
  Stand(100);
  account_.OnUnit(kTask, UnitInFailure(100, 110, 20));
  account_.OnUnit(kTask, UnitInFailure(100, 390, 20));
  EXPECT_EQ(account_.waiting_units(), 2u);
  Move(400);
  EXPECT_EQ(account_.waiting_units(), 0u);
  EXPECT_EQ(account_.failures().filled_ns, 30 * kMs);
  EXPECT_EQ(account_.failures().overrun_ns, 10 * kMs);
  ExpectTask(30, 10);
}

TEST_F(FailureTest, UnitsThatArriveAfterItsEndAreSplitAsWell) {
  Stand(100);
  Move(400);
  account_.OnUnit(kTask, UnitInFailure(100, 390, 20));
  ExpectTask(10, 10);
}

TEST_F(FailureTest, UnitsOfNoFailureAreOverrun) {
  Stand(100);
  account_.OnUnit(kTask, UnitInFailure(90, 110, 20));
  ExpectTask(0, 20);
}

TEST_F(FailureTest, OnlyWhatCameBeforeOfAnOpenBubbleCounts) {
  Begin(10, 1);
  Stand(30);
  Move(900);
  const EdgeEffect effect = End(900, 2);
  EXPECT_TRUE(effect.closed.has_value());
  EXPECT_EQ(account_.bubble(kSlot).bubble_ns, 20 * kMs);
  EXPECT_EQ(account_.bubble(kSlot).offered_ns, 20 * kMs);
  EXPECT_EQ(account_.rank().bubble_ns, 20 * kMs);
}

TEST_F(FailureTest, ItsIterationDoesNotCountAndIsNotCalledUnmatched) {
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 0, 0), false);
  Stand(30);
  Move(900);
  account_.OnEdge(Edge(EdgeKind::kIterationEnd, 910, 0), false);
  EXPECT_EQ(account_.rank().iteration_ns, 0);
  EXPECT_EQ(account_.rank().unmatched, 0);
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 920, 0), false);
  account_.OnEdge(Edge(EdgeKind::kIterationEnd, 930, 0), false);
  EXPECT_EQ(account_.rank().iteration_ns, 10 * kMs);
}

TEST_F(RankAccountTest, BubbleOverTheEndOfAnIterationBelongsToTheOneInWhichItBegan) {
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 0, 0, 1), false);
  Begin(10, 1, 1);
  account_.OnEdge(Edge(EdgeKind::kIterationEnd, 20, 1, 1), false);
  account_.OnEdge(Edge(EdgeKind::kIterationBegin, 22, 1, 2), false);
  account_.OnUnit(kTask, UnitIn(1, 15, 10));
  const EdgeEffect effect = End(30, 2);
  ASSERT_TRUE(effect.closed.has_value());
  EXPECT_EQ(effect.closed->iteration, 1u);
  EXPECT_EQ(effect.closed->length_ns, 20 * kMs);
  EXPECT_EQ(account_.rank().iteration_ns, 20 * kMs);
  EXPECT_EQ(account_.rank().unmatched, 0);
  ExpectTask(10, 0);
}

TEST_F(RankAccountTest, OfferOfABubbleOverTheEndOfAnIterationGoesByTheHoldOutOfEach) {
  const HoldOut hold_out = {.block_iterations = 1, .one_in = 2};
  uint64_t held_out = 0;
  while (!IsHeldOut(hold_out, held_out) || IsHeldOut(hold_out, held_out + 1)) ++held_out;
  RankAccount account(hold_out);
  account.OnAttached(1);
  account.OnEdge(Edge(EdgeKind::kBubbleBegin, 10, 1, held_out), true);
  account.OnEdge(Edge(EdgeKind::kIterationEnd, 14, 1, held_out), false);
  account.OnEdge(Edge(EdgeKind::kIterationBegin, 15, 1, held_out + 1), false);
  account.OnEdge(Edge(EdgeKind::kBubbleEnd, 30, 2, held_out + 1), true);
  EXPECT_EQ(account.bubble(kSlot).bubble_ns, 20 * kMs);
  EXPECT_EQ(account.bubble(kSlot).offered_ns, 15 * kMs);
}

}  // namespace
}  // namespace pipefill
