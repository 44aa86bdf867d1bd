#include "examples/graph_cpp/related_words.h"

#include <numeric>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace pipefill {
namespace {

constexpr char kText[] =
    "apple pear apple plum pear apple. wheel car wheel brake car wheel. plum pear apple and car";

class RelatedWordsTest : public testing::Test {
 protected:
  std::vector<std::string> RunAll(const RelatedWordsOptions& options) {
    RelatedWords work(graph_, options);
    std::vector<std::string> lines;
    while (!work.is_done()) {
      if (std::optional<std::string> line = work.RunUnit()) lines.push_back(*line);
    }
    return lines;
  }

  const WordGraph graph_ = BuildWordGraph(kText, {.reach = 2, .occurrences_min = 1});
};

TEST_F(RelatedWordsTest, GivesTheSameLinesHoweverTheWorkIsCut) {
  const std::vector<std::string> whole = RunAll({.rounds = 4, .edges_per_unit = 1'000'000});

  ASSERT_EQ(whole.size(), 4u);
  for (size_t edges = 1; edges < 40; ++edges) {
    EXPECT_EQ(RunAll({.rounds = 4, .edges_per_unit = edges}), whole) << edges;
  }
}

TEST_F(RelatedWordsTest, GoesOnFromEveryState) {
  const RelatedWordsOptions options = {.rounds = 3, .iterations = 3, .edges_per_unit = 9};
  const std::vector<std::string> whole = RunAll(options);
  RelatedWords work(graph_, options);
  std::vector<std::string> lines;
  while (!work.is_done()) {
    RelatedWords next(graph_, options);
    ASSERT_TRUE(next.Restore(work.State()));
    std::vector<std::string> all = lines;
    while (!next.is_done()) {
      if (std::optional<std::string> line = next.RunUnit()) all.push_back(*line);
    }
    EXPECT_EQ(all, whole);
    if (std::optional<std::string> line = work.RunUnit()) lines.push_back(*line);
  }
}

TEST_F(RelatedWordsTest, RefusesTheStateOfOtherWork) {
  RelatedWords work(graph_, {.rounds = 3, .edges_per_unit = 9});
  for (const RelatedWordsOptions& options :
       {RelatedWordsOptions{.rounds = 4, .edges_per_unit = 9},
        RelatedWordsOptions{.rounds = 3, .edges_per_unit = 1'000'000}}) {
    EXPECT_FALSE(RelatedWords(graph_, options).Restore(work.State()));
  }
  EXPECT_FALSE(work.Restore("nonsense"));
  EXPECT_FALSE(work.Restore(""));
}

TEST_F(RelatedWordsTest, TakesExactlyTheUnitsItAnnounces) {
  RelatedWords work(graph_, {.rounds = 3, .iterations = 5, .edges_per_unit = 6});
  uint64_t units = 0;
  for (; !work.is_done(); ++units) work.RunUnit();

  EXPECT_EQ(units, work.units());
  EXPECT_GT(units, 15u);  // more than one range an iteration
}

TEST_F(RelatedWordsTest, KeepsRankAProbability) {
  RelatedWords work(graph_, {.rounds = 1, .iterations = 6, .edges_per_unit = 1'000'000});
  for (int iteration = 0; iteration < 5; ++iteration) {
    work.RunUnit();
    EXPECT_NEAR(std::accumulate(work.rank().begin(), work.rank().end(), 0.0), 1.0, 1e-12);
  }
}

TEST_F(RelatedWordsTest, RanksNeighboursBeforeStrangers) {
  const std::vector<std::string> lines = RunAll({.rounds = 1, .related = 2});

  ASSERT_EQ(graph_.words[0], "apple");
  EXPECT_NE(lines[0].find(" pear="), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find(" plum="), std::string::npos) << lines[0];
}

TEST_F(RelatedWordsTest, StartsAgainAfterTheLastWord) {
  const size_t words = graph_.words.size();
  const std::vector<std::string> lines = RunAll({.rounds = words + 1, .iterations = 2});

  ASSERT_EQ(lines.size(), words + 1);
  EXPECT_NE(lines[1], lines[0]);
  EXPECT_EQ(lines[words], lines[0]);
}

TEST(RelatedWordsOfNothingTest, IsDoneAtOnce) {
  const WordGraph graph;
  EXPECT_TRUE(RelatedWords(graph, {}).is_done());
}

}  // namespace
}  // namespace pipefill
