#include "agent/learn/iteration_filter.h"

#include <algorithm>

#include "common/check.h"

namespace pipefill {
namespace {

// Lengths needed before one can be called far off.
constexpr size_t kLengthsMin = 8;
// Against the quartiles, so that a run with long iterations now and then has its own measure.
constexpr double kFarLonger = 1.5;
constexpr double kFarShorter = 0.5;

}  // namespace

void IterationFilter::OnBegin(int64_t now_ns) {
  is_open_ = true;
  begin_ns_ = now_ns;
  current_.slots.clear();
  current_.bubbles = 0;
}

void IterationFilter::OnBubble(uint32_t slot) {
  ++current_.bubbles;
  if (current_.slots.size() < kPatternSlotsMax) current_.slots.push_back(slot);
}

IterationKind IterationFilter::OnEnd(int64_t now_ns) {
  CHECK(is_open_);
  is_open_ = false;
  if (++iterations_ == 1) return IterationKind::kFirst;
  if (!IsUsualPattern()) return IterationKind::kPattern;
  return JudgeLength(std::max<int64_t>(0, now_ns - begin_ns_));
}

bool IterationFilter::has_known_pattern() const {
  return std::any_of(patterns_.begin(), patterns_.end(),
                     [](const Pattern& pattern) { return pattern.is_known; });
}

// Also takes note of the pattern.
bool IterationFilter::IsUsualPattern() {
  std::erase_if(patterns_, [this](const Pattern& pattern) {
    return iterations_ - pattern.last_seen > kPatternsKept;
  });
  const bool is_first_pattern = patterns_.empty();
  const bool has_none = patterns_.size() == kPatternsKept && !has_known_pattern();
  const auto same = std::find_if(patterns_.begin(), patterns_.end(), [this](const Pattern& other) {
    return other.bubbles == current_.bubbles && other.slots == current_.slots;
  });
  if (same != patterns_.end()) {
    same->is_known = true;
    same->last_seen = iterations_;
    return true;
  }
  patterns_.push_back(current_);
  patterns_.back().last_seen = iterations_;
  return is_first_pattern || has_none;
}

IterationKind IterationFilter::JudgeLength(int64_t length_ns) {
  const bool can_tell = lengths_.size() >= kLengthsMin;
  const auto shortest_ns =
      static_cast<int64_t>(kFarShorter * static_cast<double>(lengths_.Quantile(0.25)));
  const bool is_far = can_tell && (length_ns > longest_usual_ns() || length_ns < shortest_ns);
  lengths_.Add(length_ns);
  if (!is_far) {
    length_run_ = 0;
    return IterationKind::kUsual;
  }
  if (++length_run_ < kChangeRun) return IterationKind::kLength;
  lengths_.KeepNewest(length_run_);
  length_run_ = 0;
  return IterationKind::kNewLength;
}

int64_t IterationFilter::longest_usual_ns() const {
  return static_cast<int64_t>(kFarLonger * static_cast<double>(lengths_.Quantile(0.75)));
}

bool IterationFilter::IsUnusual(int64_t now_ns) const {
  if (!is_open_ || iterations_ == 0) return false;
  const bool is_long = lengths_.size() >= kLengthsMin && now_ns - begin_ns_ > longest_usual_ns();
  if (is_long) return true;
  if (!has_known_pattern()) return false;
  return std::none_of(patterns_.begin(), patterns_.end(), [this](const Pattern& pattern) {
    return pattern.is_known && StillFollows(pattern);
  });
}

bool IterationFilter::StillFollows(const Pattern& pattern) const {
  return current_.bubbles <= pattern.bubbles &&
         std::equal(current_.slots.begin(), current_.slots.end(), pattern.slots.begin());
}

int64_t IterationFilter::typical_ns() const {
  return lengths_.size() >= kLengthsMin ? lengths_.Quantile(0.5) : 0;
}

}  // namespace pipefill
