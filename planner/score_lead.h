// The first numbers of a score, kept in what is sorted by it: two entries are then compared without
// a look at other memory, unless these are equal and not all.
//
// Pure.
#ifndef PLANNER_SCORE_LEAD_H_
#define PLANNER_SCORE_LEAD_H_

#include "planner/policy.h"

namespace pipefill {

struct ScoreLead {
  // 0 where the score is shorter.
  double first = 0;
  double second = 0;
  bool is_all = true;
};

inline ScoreLead LeadOf(const Score& score) {
  return {.first = score.empty() ? 0 : score[0],
          .second = score.size() < 2 ? 0 : score[1],
          .is_all = score.size() <= 2};
}

// Less than 0: `a`, which begins with `lead_a`, is the better score; 0: they are equal. REQUIRES:
// they are of one length.
inline int CompareScores(const ScoreLead& lead_a, const Score& a, const ScoreLead& lead_b,
                         const Score& b) {
  if (lead_a.first != lead_b.first) return lead_a.first > lead_b.first ? -1 : 1;
  if (lead_a.second != lead_b.second) return lead_a.second > lead_b.second ? -1 : 1;
  if (lead_a.is_all || a == b) return 0;
  return a > b ? -1 : 1;
}

}  // namespace pipefill

#endif  // PLANNER_SCORE_LEAD_H_
