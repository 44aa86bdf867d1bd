// Puts the edges of one main-job rank together into iterations, bubbles and chunks.
//
//            ITERATION_BEGIN                 ITERATION_END of the same number
//   outside ----------------> in iteration ------------------------------------> whole
//                                 |  dropped edges, another begin, a bubble that does not close
//                                 |  (it may close after the iteration), the end of the trace
//                                 +-------------------------------------------> not whole
//
//          BUBBLE_BEGIN, odd seq          BUBBLE_END with seq + 1, or the rank left
//   busy ------------------------> open -------------------------------------------> closed
//                                    |  dropped edges, another begin or end
//                                    +---------------------------------------------> not closed
//
//          FailureBegan              any edge, FailureEnded, or the rank left
//   moving --------------> standing -------------------------------------------> moving
//
// Edges are input: one that makes no sense is counted as malformed and leaves nothing whole behind.
//
// Pure. Thread-compatible: one per rank.
#ifndef CLI_REPORT_EDGE_SEQUENCE_H_
#define CLI_REPORT_EDGE_SEQUENCE_H_

#include <cstdint>

#include "cli/report/trace.h"
#include "client/pages/signal_page.h"

namespace pipefill {

class EdgeSequence {
 public:
  // What happens goes into `rank`, which is passed to each call: it may move in between.
  // REQUIRES: edge.time_ns < kTimeMaxNs.
  void OnEdge(const EdgeEvent& edge, RankTrace* rank, ReadCounts* counts);
  // `begin_ns` of a failure grows from one to the next; one that does not is ignored.
  void OnFailureBegan(int64_t begin_ns, uint32_t seq, RankTrace* rank);
  void OnFailureEnded(int64_t end_ns, RankTrace* rank);
  // Edges are missing here.
  void OnGap(RankTrace* rank);
  // The rank left, or the trace ends, at `now_ns`: an open bubble ends there.
  void Finish(int64_t now_ns, RankTrace* rank);

 private:
  void BeginIteration(const EdgeEvent& edge, RankTrace* rank);
  void EndIteration(const EdgeEvent& edge, RankTrace* rank, ReadCounts* counts);
  void BeginBubble(const EdgeEvent& edge, RankTrace* rank, ReadCounts* counts);
  void EndBubble(const EdgeEvent& edge, RankTrace* rank, ReadCounts* counts);
  void LoseBubble(RankTrace* rank);
  void EndFailure(int64_t end_ns, RankTrace* rank);
  void LoseIteration(RankTrace* rank);

  int64_t last_ns_ = 0;
  bool is_iteration_open_ = false;
  bool is_iteration_sound_ = true;
  bool is_bubble_open_ = false;
  // Of the open bubble: index into RankTrace::iterations, or kNone if it began outside.
  size_t bubble_iteration_ = kNone;
  bool is_failure_open_ = false;
  bool is_chunk_open_ = false;
};

}  // namespace pipefill

#endif  // CLI_REPORT_EDGE_SEQUENCE_H_
