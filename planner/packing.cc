#include "planner/packing.h"

#include <algorithm>
#include <numeric>

#include "common/check.h"

namespace pipefill {
namespace {

// Branch and bound over the candidates in the order of what they are worth alone. A set is worth at
// most the sum of what its members are worth alone, which bounds what more members can add.
class Search {
 public:
  Search(const std::vector<ResidentCandidate>& candidates, const SeatLimits& limits)
      : candidates_(candidates), limits_(limits) {
    alone_.reserve(candidates.size());
    for (const ResidentCandidate& candidate : candidates) {
      CHECK(candidate.usable_ns.size() == limits.window_ns.size());
      CHECK(candidate.weight >= 0);
      alone_.push_back(ValueOf({&candidate}));
    }
    order_.resize(candidates.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return alone_[a] > alone_[b]; });
  }

  ResidentSet Run() {
    Extend(0, limits_.memory_bytes, 0);
    std::sort(best_.candidates.begin(), best_.candidates.end());
    return best_;
  }

 private:
  using Members = std::vector<const ResidentCandidate*>;

  double ValueOf(Members members) const {
    std::stable_sort(members.begin(), members.end(),
                     [](const auto* a, const auto* b) { return a->weight > b->weight; });
    double value = 0;
    for (size_t window = 0; window < limits_.window_ns.size(); ++window) {
      int64_t left_ns = limits_.window_ns[window];
      for (const ResidentCandidate* member : members) {
        const int64_t share_ns = std::min(member->usable_ns[window], left_ns);
        value += member->weight * static_cast<double>(share_ns);
        left_ns -= share_ns;
      }
    }
    return value;
  }

  // Tries all ways to add candidates from `first` (in `order_`) on to the chosen ones.
  void Extend(size_t first, int64_t memory_left_bytes, double value) {
    if (value > best_.value)
      best_ = {.candidates = chosen_, .value = value, .is_exact = best_.is_exact};
    const size_t seats_left = limits_.seats - std::min(limits_.seats, chosen_.size());
    if (seats_left == 0) return;
    for (size_t i = first; i < order_.size(); ++i) {
      if (value + BestAlone(i, seats_left) <= best_.value) return;  // later ones are worth less
      const ResidentCandidate& candidate = candidates_[order_[i]];
      if (candidate.memory_bytes > memory_left_bytes) continue;
      if (++steps_ > limits_.steps_max) {
        best_.is_exact = false;
        return;
      }
      chosen_.push_back(order_[i]);
      members_.push_back(&candidate);
      Extend(i + 1, memory_left_bytes - candidate.memory_bytes, ValueOf(members_));
      members_.pop_back();
      chosen_.pop_back();
    }
  }

  // At most what `count` candidates from `first` on can add.
  double BestAlone(size_t first, size_t count) const {
    double sum = 0;
    const size_t end = std::min(order_.size(), first + count);
    for (size_t i = first; i < end; ++i) sum += alone_[order_[i]];
    return sum;
  }

  const std::vector<ResidentCandidate>& candidates_;
  const SeatLimits& limits_;
  std::vector<double> alone_;
  std::vector<size_t> order_;
  std::vector<size_t> chosen_;
  Members members_;
  ResidentSet best_;
  int64_t steps_ = 0;
};

}  // namespace

ResidentSet ChooseResidents(const std::vector<ResidentCandidate>& candidates,
                            const SeatLimits& limits) {
  return Search(candidates, limits).Run();
}

}  // namespace pipefill
