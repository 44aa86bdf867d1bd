#include "cli/report/edge_sequence.h"

#include <algorithm>

namespace pipefill {
namespace {

ChunkKind KindFrom(uint64_t value) {
  return value >= 1 && value <= 3 ? static_cast<ChunkKind>(value) : ChunkKind::kOther;
}

}  // namespace

void EdgeSequence::OnEdge(const EdgeEvent& edge, RankTrace* rank, ReadCounts* counts) {
  const auto time_ns = static_cast<int64_t>(edge.time_ns);
  if (time_ns < last_ns_) {
    ++counts->malformed;
    return;
  }
  if (last_ns_ == 0) rank->first_edge_ns = time_ns;
  last_ns_ = rank->last_edge_ns = time_ns;
  EndFailure(time_ns, rank);
  switch (edge.kind) {
    case EdgeKind::kIterationBegin:
      return BeginIteration(edge, rank);
    case EdgeKind::kIterationEnd:
      return EndIteration(edge, rank, counts);
    case EdgeKind::kBubbleBegin:
      return BeginBubble(edge, rank, counts);
    case EdgeKind::kBubbleEnd:
      return EndBubble(edge, rank, counts);
    case EdgeKind::kChunkBegin:
      rank->chunks.push_back(
          {.begin_ns = time_ns, .end_ns = time_ns, .kind = KindFrom(edge.value)});
      is_chunk_open_ = true;
      return;
    case EdgeKind::kChunkEnd:
      if (is_chunk_open_) rank->chunks.back().end_ns = time_ns;
      is_chunk_open_ = false;
      return;
    case EdgeKind::kMemoryHint:
      return;
  }
  ++counts->unknown;
}

void EdgeSequence::OnFailureBegan(int64_t begin_ns, uint32_t seq, RankTrace* rank) {
  EndFailure(begin_ns, rank);
  if (!rank->failures.empty() && begin_ns <= rank->failures.back().begin_ns) return;
  rank->failures.push_back({.begin_ns = begin_ns, .end_ns = begin_ns, .seq = seq});
  is_failure_open_ = true;
}

void EdgeSequence::OnFailureEnded(int64_t end_ns, RankTrace* rank) { EndFailure(end_ns, rank); }

void EdgeSequence::EndFailure(int64_t end_ns, RankTrace* rank) {
  if (!is_failure_open_) return;
  Failure& failure = rank->failures.back();
  failure.end_ns = std::max(failure.begin_ns, end_ns);
  is_failure_open_ = false;
}

void EdgeSequence::OnGap(RankTrace* rank) {
  if (is_bubble_open_) LoseBubble(rank);
  LoseIteration(rank);
  is_chunk_open_ = false;
}

void EdgeSequence::Finish(int64_t now_ns, RankTrace* rank) {
  last_ns_ = std::max(last_ns_, now_ns);
  EndFailure(last_ns_, rank);
  if (is_bubble_open_) {
    rank->bubbles.back().end_ns = last_ns_;
    rank->bubbles.back().is_closed = true;
    is_bubble_open_ = false;
  }
  OnGap(rank);
}

void EdgeSequence::BeginIteration(const EdgeEvent& edge, RankTrace* rank) {
  LoseIteration(rank);
  rank->iterations.push_back({.number = edge.iteration,
                              .begin_ns = last_ns_,
                              .end_ns = last_ns_,
                              .bubbles_begin = rank->bubbles.size(),
                              .bubbles_end = rank->bubbles.size()});
  is_iteration_open_ = true;
  is_iteration_sound_ = true;
}

void EdgeSequence::EndIteration(const EdgeEvent& edge, RankTrace* rank, ReadCounts* counts) {
  if (!is_iteration_open_ || rank->iterations.back().number != edge.iteration) {
    ++counts->malformed;
    LoseIteration(rank);
    return;
  }
  const bool is_whole = is_iteration_sound_;  // and LoseBubble takes it back
  LoseIteration(rank);
  rank->iterations.back().is_whole = is_whole;
}

void EdgeSequence::BeginBubble(const EdgeEvent& edge, RankTrace* rank, ReadCounts* counts) {
  if ((edge.seq & 1) == 0) {
    ++counts->malformed;
    return;
  }
  if (is_bubble_open_) LoseBubble(rank);
  const bool is_inside = is_iteration_open_ && rank->iterations.back().number == edge.iteration;
  rank->bubbles.push_back({.begin_ns = last_ns_,
                           .end_ns = last_ns_,
                           .iteration = edge.iteration,
                           .seq = edge.seq,
                           .slot = static_cast<int32_t>(edge.slot),
                           .is_in_iteration = is_inside});
  is_bubble_open_ = true;
  bubble_iteration_ = is_inside ? rank->iterations.size() - 1 : kNone;
}

void EdgeSequence::EndBubble(const EdgeEvent& edge, RankTrace* rank, ReadCounts* counts) {
  if (!is_bubble_open_ || edge.seq != rank->bubbles.back().seq + 1) {
    ++counts->malformed;
    if (is_bubble_open_) LoseBubble(rank);
    return;
  }
  rank->bubbles.back().end_ns = last_ns_;
  rank->bubbles.back().is_closed = true;
  is_bubble_open_ = false;
}

void EdgeSequence::LoseBubble(RankTrace* rank) {
  rank->bubbles.back().end_ns = last_ns_;
  is_bubble_open_ = false;
  is_iteration_sound_ = false;
  if (bubble_iteration_ != kNone) rank->iterations[bubble_iteration_].is_whole = false;
}

// A bubble that is open stays so: it may go on into the next iteration.
void EdgeSequence::LoseIteration(RankTrace* rank) {
  if (!is_iteration_open_) return;
  rank->iterations.back().end_ns = last_ns_;
  rank->iterations.back().bubbles_end = rank->bubbles.size();
  is_iteration_open_ = false;
}

}  // namespace pipefill
