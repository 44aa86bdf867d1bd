#include "cli/report/overrun_promise.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace pipefill {
namespace {

// Of all units of one bubble.
struct BubbleSum {
  int64_t units = 0;
  double overrun_ns = 0;
  double promised_ns = 0;
};

double LambdaAt(const RankTrace& rank, int64_t now_ns) {
  const size_t point = ControlAt(rank.controls, now_ns);
  if (point == kNone || rank.controls[point].overrun_ratio <= 0) return kDefaultOverrunRatio;
  return rank.controls[point].overrun_ratio;
}

// A sum whose error grows with each bubble.
class GrowingSum {
 public:
  void Add(const BubbleSum& bubble) {
    sum_.units += bubble.units;
    ++sum_.bubbles;
    sum_.overrun_ns += bubble.overrun_ns;
    sum_.promised_ns += bubble.promised_ns;
    const double excess_ns = bubble.overrun_ns - bubble.promised_ns;
    // Welford: the mean, and the sum of squares around it.
    const double before_ns = excess_ns - mean_ns_;
    mean_ns_ += before_ns / static_cast<double>(sum_.bubbles);
    squares_ += before_ns * (excess_ns - mean_ns_);
  }

  PromiseSum Finish(size_t rank, const BubbleName& name) const {
    PromiseSum sum = sum_;
    sum.rank = rank;
    sum.name = name;
    const auto n = static_cast<double>(sum.bubbles);
    if (n > 1) sum.error_ns = std::sqrt(n * squares_ / (n - 1));
    return sum;
  }

 private:
  PromiseSum sum_;
  double mean_ns_ = 0;
  double squares_ = 0;
};

std::vector<std::vector<BubbleSum>> SumByBubble(const Trace& trace, const UnitLedger& ledger) {
  std::vector<std::vector<BubbleSum>> sums;
  for (const RankTrace& rank : trace.ranks) sums.emplace_back(rank.bubbles.size());
  for (const TaskTrace& task : trace.tasks) {
    for (const UnitTrace& unit : task.units) {
      const size_t b = ledger.BubbleOf(unit);
      if (b == kNone || !trace.ranks[unit.rank].bubbles[b].is_closed) continue;
      const RankTrace& rank = trace.ranks[unit.rank];
      const double lambda =
          std::max(LambdaAt(rank, unit.start_ns), LambdaAt(rank, rank.bubbles[b].begin_ns));
      BubbleSum& sum = sums[unit.rank][b];
      ++sum.units;
      sum.overrun_ns += static_cast<double>(ledger.SplitOfUnit(unit).overrun_ns);
      sum.promised_ns += lambda * static_cast<double>(std::max(unit.estimate_ns, unit.cpu_ns));
    }
  }
  return sums;
}

}  // namespace

std::vector<PromiseSum> SumPromises(const Trace& trace, const UnitLedger& ledger) {
  std::map<std::pair<size_t, BubbleName>, GrowingSum> by_id;
  GrowingSum all;
  const std::vector<std::vector<BubbleSum>> by_bubble = SumByBubble(trace, ledger);
  for (size_t r = 0; r < by_bubble.size(); ++r) {
    for (size_t b = 0; b < by_bubble[r].size(); ++b) {
      if (by_bubble[r][b].units == 0) continue;
      by_id[{r, NameOfSlot(trace.ranks[r], trace.ranks[r].bubbles[b].slot)}].Add(by_bubble[r][b]);
      all.Add(by_bubble[r][b]);
    }
  }
  std::vector<PromiseSum> sums;
  for (const auto& [id, sum] : by_id) sums.push_back(sum.Finish(id.first, id.second));
  if (!sums.empty()) sums.push_back(all.Finish(kNone, {}));
  return sums;
}

}  // namespace pipefill
