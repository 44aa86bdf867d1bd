#include "examples/graph_cpp/word_graph.h"

#include "gtest/gtest.h"

namespace pipefill {
namespace {

double ShareOf(const WordGraph& graph, uint32_t source, size_t target) {
  for (size_t e = graph.first_edge[target]; e < graph.first_edge[target + 1]; ++e) {
    if (graph.edges[e].source == source) return graph.edges[e].share;
  }
  return 0;
}

TEST(WordGraphTest, OrdersWordsByFrequencyThenAlphabet) {
  const WordGraph graph = BuildWordGraph("beta Alpha; GAMMA gamma, it alpha-beta gamma",
                                         {.reach = 1, .occurrences_min = 1});

  EXPECT_EQ(graph.words, (std::vector<std::string>{"gamma", "alpha", "beta"}));
}

TEST(WordGraphTest, LeavesOutRareWordsBeforeItMeasuresDistance) {
  const WordGraph graph =
      BuildWordGraph("one rare two one two", {.reach = 1, .occurrences_min = 2});

  // Running words are now: one two one two.
  EXPECT_EQ(graph.words, (std::vector<std::string>{"one", "two"}));
  EXPECT_DOUBLE_EQ(graph.strength[0], 3.0);
  EXPECT_EQ(graph.edges.size(), 2u);
}

TEST(WordGraphTest, WeighsPairsByTheInverseOfTheirDistance) {
  const WordGraph graph = BuildWordGraph("aaa bbb ccc", {.reach = 2, .occurrences_min = 1});

  EXPECT_DOUBLE_EQ(graph.strength[0], 1.5);           // to bbb 1, to ccc 1/2
  EXPECT_DOUBLE_EQ(ShareOf(graph, 0, 1), 1.0 / 1.5);  // from aaa to bbb
  EXPECT_DOUBLE_EQ(ShareOf(graph, 0, 2), 0.5 / 1.5);
  EXPECT_DOUBLE_EQ(ShareOf(graph, 1, 2), 0.5);  // bbb is as close to both others
}

TEST(WordGraphTest, DoesNotJoinWordsBeyondReach) {
  const WordGraph graph = BuildWordGraph("aaa bbb ccc", {.reach = 1, .occurrences_min = 1});

  EXPECT_EQ(ShareOf(graph, 0, 2), 0);
}

TEST(WordGraphTest, SharesOfEachSourceAddUpToOne) {
  const WordGraph graph = BuildWordGraph("the cat and the dog and the bird saw the cat",
                                         {.reach = 3, .occurrences_min = 1});
  std::vector<double> sum(graph.words.size());
  for (const Edge& edge : graph.edges) sum[edge.source] += edge.share;

  for (const double shares : sum) EXPECT_NEAR(shares, 1.0, 1e-12);
}

TEST(WordGraphTest, IsEmptyForTextWithoutWords) {
  const WordGraph graph = BuildWordGraph("1 2 a b ..", {});

  EXPECT_TRUE(graph.words.empty());
  EXPECT_TRUE(CutByEdges(graph, 10).empty());
}

TEST(CutByEdgesTest, CoversEveryVertexOnceInOrder) {
  const WordGraph graph = BuildWordGraph("the cat and the dog and the bird saw the cat run away",
                                         {.reach = 2, .occurrences_min = 1});
  for (size_t edges_min = 1; edges_min <= graph.edges.size() + 1; ++edges_min) {
    size_t next = 0;
    for (const VertexRange& range : CutByEdges(graph, edges_min)) {
      EXPECT_EQ(range.begin, next);
      EXPECT_LT(range.begin, range.end);
      const size_t without_last = graph.first_edge[range.end - 1] - graph.first_edge[range.begin];
      EXPECT_LT(without_last, edges_min);
      next = range.end;
    }
    EXPECT_EQ(next, graph.words.size());
  }
}

}  // namespace
}  // namespace pipefill
