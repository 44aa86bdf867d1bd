// In each round, for one word: which words are close to it in the graph, by PageRank that starts
// again at that word ("personalised"). Most frequent words come first; after the last one the first
// comes again. The work comes in small units, each a few vertices of one iteration.
//
//   round 0: iteration 0: range 0, 1, 2, ...  iteration 1: range 0, ...  -> one line   round 1: ...
//
// Pure. The order of additions is fixed, so the result is the same, bit for bit, wherever and with
// whatever breaks it is computed.
#ifndef EXAMPLES_GRAPH_CPP_RELATED_WORDS_H_
#define EXAMPLES_GRAPH_CPP_RELATED_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/graph_cpp/word_graph.h"

namespace pipefill {

struct RelatedWordsOptions {
  uint64_t rounds = 600;
  int iterations = 20;
  size_t edges_per_unit = 280'000;
  size_t related = 8;  // words named in each line
};

class RelatedWords {
 public:
  // `graph` must outlive this.
  RelatedWords(const WordGraph& graph, const RelatedWordsOptions& options);

  uint64_t units() const;  // from beginning to end
  bool is_done() const { return round_ == rounds_; }

  // Does one unit. Returns a line, without line end, when it was the last one of its round: the
  // word, and each related word with its score as hexadecimal floating point. REQUIRES: !is_done().
  std::optional<std::string> RunUnit();

  // All that the remaining units depend on beside graph and options, for an object made of the
  // same.
  std::string State() const;
  // False, and nothing changes, if `state` is of other ones.
  bool Restore(std::string_view state);

  // Of the current round; one for each vertex, adds up to 1 after each iteration.
  const std::vector<double>& rank() const { return rank_; }

 private:
  void AdvanceRange(const VertexRange& range);
  std::string DescribeWord() const;
  void StartRound();
  size_t word() const { return round_ % graph_.words.size(); }

  const WordGraph& graph_;
  const RelatedWordsOptions options_;
  const std::vector<VertexRange> ranges_;
  std::vector<double> rank_;
  std::vector<double> next_rank_;
  const uint64_t rounds_;  // none for a graph without words
  uint64_t round_ = 0;
  int iteration_ = 0;
  size_t range_ = 0;
};

}  // namespace pipefill

#endif  // EXAMPLES_GRAPH_CPP_RELATED_WORDS_H_
