#include "cli/report/trace.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "cli/words.h"

namespace pipefill {

UnitSplit SplitOf(const UnitTrace& unit, const Bubble& bubble) {
  return SplitUnit(unit.start_ns, unit.end_ns, unit.cpu_ns,
                   bubble.is_closed ? bubble.end_ns : bubble.begin_ns);
}

UnitSplit SplitOf(const UnitTrace& unit, const Failure& failure) {
  return SplitUnit(unit.start_ns, unit.end_ns, unit.cpu_ns, failure.end_ns);
}

size_t ControlAt(const std::vector<ControlPoint>& controls, int64_t now_ns) {
  const auto after =
      std::upper_bound(controls.begin(), controls.end(), now_ns,
                       [](int64_t ns, const ControlPoint& point) { return ns < point.now_ns; });
  return after == controls.begin() ? kNone : static_cast<size_t>(after - controls.begin()) - 1;
}

BubbleIndex::BubbleIndex(const RankTrace& rank) {
  by_seq_.reserve(rank.bubbles.size());
  for (size_t i = 0; i < rank.bubbles.size(); ++i) by_seq_.emplace_back(rank.bubbles[i].seq, i);
  std::sort(by_seq_.begin(), by_seq_.end());
}

size_t BubbleIndex::Find(uint32_t seq) const {
  const auto found = std::lower_bound(by_seq_.begin(), by_seq_.end(), std::pair(seq, size_t{0}));
  return found == by_seq_.end() || found->first != seq ? kNone : found->second;
}

std::string BubbleText(const BubbleName& name) {
  return absl::StrCat(Word(name.bubble_class), " ", name.ordinal);
}

BubbleName NameOfSlot(const RankTrace& rank, int32_t slot) {
  const auto found = rank.names.find(slot);
  if (found != rank.names.end()) return found->second;
  return {.bubble_class = BubbleClass::kCustom, .ordinal = slot};
}

}  // namespace pipefill
