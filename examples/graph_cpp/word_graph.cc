#include "examples/graph_cpp/word_graph.h"

#include <algorithm>
#include <map>
#include <utility>

namespace pipefill {
namespace {

constexpr size_t kWordLengthMin = 3;

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::vector<std::string> SplitIntoWords(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (IsLetter(c)) {
      word += ToLower(c);
      continue;
    }
    if (word.size() >= kWordLengthMin) words.push_back(word);
    word.clear();
  }
  if (word.size() >= kWordLengthMin) words.push_back(word);
  return words;
}

// Frequent words, most frequent first, equally frequent ones by the alphabet.
std::vector<std::string> ChooseVertices(const std::vector<std::string>& running_words,
                                        int occurrences_min) {
  std::map<std::string, int> occurrences;
  for (const std::string& word : running_words) ++occurrences[word];
  std::vector<std::pair<int, std::string>> order;
  for (const auto& [word, count] : occurrences) {
    if (count >= occurrences_min) order.emplace_back(-count, word);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::string> words;
  for (auto& [count, word] : order) words.push_back(std::move(word));
  return words;
}

// All that stands within reach of a vertex, once for each time it does.
struct Neighbour {
  uint32_t vertex;
  double weight;
};

std::vector<std::vector<Neighbour>> FindNeighbours(const std::vector<uint32_t>& running_vertices,
                                                   const WordGraph& graph, int reach) {
  std::vector<std::vector<Neighbour>> neighbours(graph.words.size());
  for (size_t i = 0; i < running_vertices.size(); ++i) {
    const size_t end = std::min(running_vertices.size(), i + 1 + static_cast<size_t>(reach));
    for (size_t j = i + 1; j < end; ++j) {
      const uint32_t a = running_vertices[i];
      const uint32_t b = running_vertices[j];
      if (a == b) continue;
      const double weight = 1.0 / static_cast<double>(j - i);
      neighbours[a].push_back({.vertex = b, .weight = weight});
      neighbours[b].push_back({.vertex = a, .weight = weight});
    }
  }
  return neighbours;
}

// One entry for each vertex, with the weights added up.
std::vector<Neighbour> AddUp(const std::vector<Neighbour>& neighbours,
                             std::vector<double>& weight_of) {
  std::vector<Neighbour> sums;
  for (const Neighbour& neighbour : neighbours) {
    double& weight = weight_of[neighbour.vertex];
    if (weight == 0) sums.push_back({.vertex = neighbour.vertex, .weight = 0});
    weight += neighbour.weight;
  }
  for (Neighbour& sum : sums) sum.weight = std::exchange(weight_of[sum.vertex], 0);
  std::sort(sums.begin(), sums.end(),
            [](const Neighbour& a, const Neighbour& b) { return a.vertex < b.vertex; });
  return sums;
}

std::vector<uint32_t> MapToVertices(const std::vector<std::string>& running_words,
                                    const std::vector<std::string>& vertex_words) {
  std::map<std::string_view, uint32_t> vertex_of;
  for (size_t v = 0; v < vertex_words.size(); ++v) {
    vertex_of[vertex_words[v]] = static_cast<uint32_t>(v);
  }
  std::vector<uint32_t> vertices;
  for (const std::string& word : running_words) {
    const auto found = vertex_of.find(word);
    if (found != vertex_of.end()) vertices.push_back(found->second);
  }
  return vertices;
}

}  // namespace

WordGraph BuildWordGraph(std::string_view text, const GraphOptions& options) {
  const std::vector<std::string> running_words = SplitIntoWords(text);
  WordGraph graph;
  graph.words = ChooseVertices(running_words, options.occurrences_min);
  const std::vector<std::vector<Neighbour>> neighbours =
      FindNeighbours(MapToVertices(running_words, graph.words), graph, options.reach);
  std::vector<double> weight_of(graph.words.size());
  graph.first_edge.push_back(0);
  for (const std::vector<Neighbour>& of_vertex : neighbours) {
    double strength = 0;
    for (const Neighbour& sum : AddUp(of_vertex, weight_of)) {
      graph.edges.push_back({.source = sum.vertex, .share = sum.weight});
      strength += sum.weight;
    }
    graph.strength.push_back(strength);
    graph.first_edge.push_back(graph.edges.size());
  }
  for (Edge& edge : graph.edges) edge.share /= graph.strength[edge.source];
  return graph;
}

std::vector<VertexRange> CutByEdges(const WordGraph& graph, size_t edges_min) {
  std::vector<VertexRange> ranges;
  const size_t vertices = graph.words.size();
  size_t begin = 0;
  for (size_t v = 0; v < vertices; ++v) {
    const bool is_full = graph.first_edge[v + 1] - graph.first_edge[begin] >= edges_min;
    if (!is_full && v + 1 < vertices) continue;
    ranges.push_back({.begin = begin, .end = v + 1});
    begin = v + 1;
  }
  return ranges;
}

}  // namespace pipefill
