#include "examples/graph_cpp/related_words.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <numeric>

namespace pipefill {
namespace {

constexpr double kDamping = 0.85;  // share of rank that follows the edges; the rest starts again

// Beginning of a state.
struct Place {
  uint64_t rounds = 0;
  uint64_t ranges = 0;
  uint64_t round = 0;
  uint64_t range = 0;
  uint64_t iteration = 0;
};

}  // namespace

RelatedWords::RelatedWords(const WordGraph& graph, const RelatedWordsOptions& options)
    : graph_(graph),
      options_(options),
      ranges_(CutByEdges(graph, options.edges_per_unit)),
      rounds_(graph.words.empty() ? 0 : options.rounds) {
  StartRound();
}

uint64_t RelatedWords::units() const {
  return rounds_ * static_cast<uint64_t>(options_.iterations) * ranges_.size();
}

std::optional<std::string> RelatedWords::RunUnit() {
  AdvanceRange(ranges_[range_]);
  if (++range_ < ranges_.size()) return std::nullopt;
  range_ = 0;
  rank_.swap(next_rank_);
  if (++iteration_ < options_.iterations) return std::nullopt;
  std::string line = DescribeWord();
  ++round_;
  StartRound();
  return line;
}

void RelatedWords::AdvanceRange(const VertexRange& range) {
  const size_t source = word();
  for (size_t v = range.begin; v < range.end; ++v) {
    double arriving = 0;
    for (size_t e = graph_.first_edge[v]; e < graph_.first_edge[v + 1]; ++e) {
      arriving += rank_[graph_.edges[e].source] * graph_.edges[e].share;
    }
    next_rank_[v] = kDamping * arriving + (v == source ? 1 - kDamping : 0);
  }
}

// Rank by strength, and not plain rank: otherwise the most frequent words are related to
// everything.
std::string RelatedWords::DescribeWord() const {
  const auto score = [this](size_t v) { return rank_[v] / graph_.strength[v]; };
  std::vector<size_t> order(graph_.words.size());
  std::iota(order.begin(), order.end(), size_t{0});
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(word()));
  const size_t related = std::min(options_.related, order.size());
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(related), order.end(),
      [&score](size_t a, size_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
  std::string line = graph_.words[word()] + ":";
  for (size_t i = 0; i < related; ++i) {
    char number[40];
    std::snprintf(number, sizeof(number), "%a", score(order[i]));
    line += " " + graph_.words[order[i]] + "=" + number;
  }
  return line;
}

std::string RelatedWords::State() const {
  std::string state;
  const auto append = [&state](const void* data, size_t size_bytes) {
    state.append(static_cast<const char*>(data), size_bytes);
  };
  const Place place = {.rounds = rounds_,
                       .ranges = ranges_.size(),
                       .round = round_,
                       .range = range_,
                       .iteration = static_cast<uint64_t>(iteration_)};
  append(&place, sizeof(place));
  append(rank_.data(), rank_.size() * sizeof(double));
  append(next_rank_.data(), next_rank_.size() * sizeof(double));
  return state;
}

bool RelatedWords::Restore(std::string_view state) {
  Place place;
  const size_t ranks_bytes = rank_.size() * sizeof(double);
  if (state.size() != sizeof(place) + 2 * ranks_bytes) return false;
  std::memcpy(&place, state.data(), sizeof(place));
  const bool is_ours = place.rounds == rounds_ && place.ranges == ranges_.size() &&
                       place.round <= rounds_ && place.range < ranges_.size() &&
                       place.iteration < static_cast<uint64_t>(options_.iterations);
  if (!is_ours) return false;
  round_ = place.round;
  range_ = place.range;
  iteration_ = static_cast<int>(place.iteration);
  std::memcpy(rank_.data(), state.data() + sizeof(place), ranks_bytes);
  std::memcpy(next_rank_.data(), state.data() + sizeof(place) + ranks_bytes, ranks_bytes);
  return true;
}

void RelatedWords::StartRound() {
  iteration_ = 0;
  rank_.assign(graph_.words.size(), 0.0);
  next_rank_.assign(graph_.words.size(), 0.0);
  if (!is_done()) rank_[word()] = 1.0;
}

}  // namespace pipefill
