// Tells usual iterations of a training run from those whose bubbles say nothing about the next
// ones: the first, evaluations, checkpoints, another number of microbatches.
//
//   first      the first that ends after the rank attached: it compiles, connects, allocates
//   pattern    its bubbles came in an order that none of the last kPatternsKept iterations had
//   length     far longer or far shorter than most of those
//
// What comes again is usual: a pattern from its second time on, lengths of a new size from
// kChangeRun in a row on. If no pattern of the kept ones came twice, the run has none, and patterns
// are not looked at.
//
// Pure. Thread-compatible: one filter belongs to one attached rank.
#ifndef AGENT_LEARN_ITERATION_FILTER_H_
#define AGENT_LEARN_ITERATION_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/learn/recent_values.h"

namespace pipefill {

enum class IterationKind : uint8_t {
  kUsual,
  kFirst,
  kPattern,
  kLength,
  kNewLength,  // usual from now on, and so were the kLength ones directly before
};

class IterationFilter {
 public:
  static constexpr size_t kPatternsKept = 16;
  static constexpr size_t kChangeRun = 4;

  // An iteration that did not end is forgotten. Times grow, in ns.
  void OnBegin(int64_t now_ns);
  // A bubble ended in it.
  void OnBubble(uint32_t slot);
  // REQUIRES: an iteration is open.
  IterationKind OnEnd(int64_t now_ns);
  // The open iteration is to be forgotten.
  void Abandon() { is_open_ = false; }

  bool is_open() const { return is_open_; }
  // Whether the open iteration can already be told to be kPattern or kLength (the long ones).
  bool IsUnusual(int64_t now_ns) const;
  // Median of the kept usual iterations; 0 = too few.
  int64_t typical_ns() const;

 private:
  // Longer patterns are told apart by their first bubbles and their number.
  static constexpr size_t kPatternSlotsMax = 1024;
  struct Pattern {
    std::vector<uint32_t> slots;
    size_t bubbles = 0;
    bool is_known = false;  // came again within kPatternsKept iterations
    uint64_t last_seen = 0;
  };

  bool has_known_pattern() const;
  bool StillFollows(const Pattern& pattern) const;
  bool IsUsualPattern();
  IterationKind JudgeLength(int64_t length_ns);
  int64_t longest_usual_ns() const;

  bool is_open_ = false;
  int64_t begin_ns_ = 0;
  Pattern current_;
  uint64_t iterations_ = 0;  // ended
  // Of the last kPatternsKept iterations, each once.
  std::vector<Pattern> patterns_;
  RecentValues lengths_ = RecentValues(64);
  size_t length_run_ = 0;  // kLength ones in a row
};

}  // namespace pipefill

#endif  // AGENT_LEARN_ITERATION_FILTER_H_
