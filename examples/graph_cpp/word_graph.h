// Words of a text as a graph: two words are joined if they stand close to each other, the more
// often the stronger.
//
// Pure.
#ifndef EXAMPLES_GRAPH_CPP_WORD_GRAPH_H_
#define EXAMPLES_GRAPH_CPP_WORD_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pipefill {

struct Edge {
  uint32_t source;
  // Share of the source's strength that flows along this edge; those of one source add up to 1.
  double share;
};

struct WordGraph {
  std::vector<std::string> words;  // one for each vertex, most frequent first
  std::vector<double> strength;    // of each vertex: weights of its edges, added up
  // Edges that end in vertex v: [first_edge[v], first_edge[v + 1]). One entry more than vertices.
  std::vector<size_t> first_edge;
  std::vector<Edge> edges;
};

struct GraphOptions {
  int reach = 120;          // words that are at most so far apart are joined
  int occurrences_min = 2;  // rarer words are left out
};

// Words are runs of at least three ASCII letters; case does not matter.
WordGraph BuildWordGraph(std::string_view text, const GraphOptions& options);

// Vertices [begin, end).
struct VertexRange {
  size_t begin;
  size_t end;
};

// Cuts all vertices into ranges in order. Each has at least `edges_min` edges but the last; none
// has a vertex that it could do without.
std::vector<VertexRange> CutByEdges(const WordGraph& graph, size_t edges_min);

}  // namespace pipefill

#endif  // EXAMPLES_GRAPH_CPP_WORD_GRAPH_H_
