#include "client/main_job/chunk_order.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

int KindOf(char letter) {
  switch (letter) {
    case 'F':
      return PF_CHUNK_FORWARD;
    case 'B':
      return PF_CHUNK_BACKWARD;
    case 'O':
      return PF_CHUNK_OPTIMIZER;
    default:
      return PF_CHUNK_OTHER;
  }
}

char LetterOf(uint32_t name) {
  switch (static_cast<BubbleClass>(name >> 24)) {
    case BubbleClass::kHead:
      return 'h';
    case BubbleClass::kMiddle:
      return 'm';
    case BubbleClass::kScattered:
      return 's';
    case BubbleClass::kTail:
      return 't';
    default:
      return '?';
  }
}

// Runs an iteration and returns the classes of its bubbles, checking their ordinals.
std::string RunIteration(ChunkOrder& order, const std::string& chunks, bool is_complete = true) {
  order.StartIteration();
  std::string classes(1, LetterOf(order.bubble_name()));
  uint32_t ordinal = 0;
  for (const char chunk : chunks) {
    order.AddChunk(KindOf(chunk));
    EXPECT_EQ(order.bubble_name() & 0xffffff, ++ordinal);
    classes += LetterOf(order.bubble_name());
  }
  if (is_complete) order.EndIteration();
  return classes;
}

TEST(ChunkOrderTest, KnowsOnlyTheHeadInTheFirstIteration) {
  ChunkOrder order;
  EXPECT_EQ(RunIteration(order, "FFBB"), "hssss");
}

TEST(ChunkOrderTest, NamesTheBubblesOfGPipeFromTheIterationBefore) {
  ChunkOrder order;
  RunIteration(order, "FFFBBB");
  EXPECT_EQ(RunIteration(order, "FFFBBB"), "hssmsst");
}

TEST(ChunkOrderTest, FindsTheMiddleBehindTheWarmUpOf1F1B) {
  ChunkOrder order;
  RunIteration(order, "FFBFBFBB");
  EXPECT_EQ(RunIteration(order, "FFBFBFBB"),
            "hsmsssss"
            "t");
}

TEST(ChunkOrderTest, HasNoMiddleWithoutAForwardOrWithoutABackwardChunk) {
  ChunkOrder forward_only;
  RunIteration(forward_only, "FFF");
  EXPECT_EQ(RunIteration(forward_only, "FFF"), "hsst");
  ChunkOrder backward_first;
  RunIteration(backward_first, "BFB");
  EXPECT_EQ(RunIteration(backward_first, "BFB"), "hsst");
}

TEST(ChunkOrderTest, CountsOptimizerAndOtherChunks) {
  ChunkOrder order;
  RunIteration(order, "FBxO");
  EXPECT_EQ(RunIteration(order, "FBxO"), "hmsst");
}

bool JoinsNextHead(ChunkOrder& order, const std::string& chunks) {
  order.StartIteration();
  for (const char chunk : chunks) order.AddChunk(KindOf(chunk));
  const bool joins = order.joins_next_head();
  order.EndIteration();
  return joins;
}

TEST(ChunkOrderTest, TailJoinsTheNextHeadWhenTheLearnedOrderWithItsOptimizerIsDone) {
  ChunkOrder order;
  EXPECT_FALSE(JoinsNextHead(order, "FFBBO"));
  EXPECT_TRUE(JoinsNextHead(order, "FFBBO"));
}

TEST(ChunkOrderTest, TailJoinsNothingWhenTheOptimizerIsNotReportedOrTheOrderIsAnother) {
  ChunkOrder no_optimizer;
  JoinsNextHead(no_optimizer, "FFBB");
  EXPECT_FALSE(JoinsNextHead(no_optimizer, "FFBB"));
  ChunkOrder evaluation;
  JoinsNextHead(evaluation, "FFBBO");
  EXPECT_FALSE(JoinsNextHead(evaluation, "FF"));
  EXPECT_FALSE(JoinsNextHead(evaluation, "FFBB"));
}

TEST(ChunkOrderTest, KeepsNamesThroughOneDifferentIteration) {
  ChunkOrder order;
  RunIteration(order, "FFBB");
  RunIteration(order, "FF");
  EXPECT_EQ(RunIteration(order, "FFBB"), "hsmst");
}

TEST(ChunkOrderTest, TakesOverAnOrderSeenTwiceInARow) {
  ChunkOrder order;
  RunIteration(order, "FFBB");
  RunIteration(order, "FFFBBB");
  EXPECT_EQ(RunIteration(order, "FFFBBB"), "hsmstss");
  EXPECT_EQ(RunIteration(order, "FFFBBB"), "hssmsst");
}

TEST(ChunkOrderTest, LearnsNothingFromAnIterationThatDidNotEnd) {
  ChunkOrder order;
  RunIteration(order, "F", false);
  EXPECT_EQ(RunIteration(order, "FFBB"), "hssss");
  EXPECT_EQ(RunIteration(order, "FFBB"), "hsmst");
}

}  // namespace
}  // namespace pipefill::sdk
