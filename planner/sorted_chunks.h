// A sorted list whose entries have a value each, in which the next entry of at least some value is
// found without a look at those before it.
//
// Entries lie in chunks of at most kChunkMax; beside the chunks lie the largest value in each and
// the last entry of each. With n entries an insertion, a removal and a search cost about
// n / kChunkMax + kChunkMax steps over memory that lies together: for 100,000 entries that is less
// than what a tree costs in cache misses.
//
// Thread-compatible. Positions hold until the next Insert or Erase.
#ifndef PLANNER_SORTED_CHUNKS_H_
#define PLANNER_SORTED_CHUNKS_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/check.h"

namespace pipefill {

// `Entry` can be copied and has `int64_t value`; `Before(a, b)` is a strict order in which no two
// entries are equal, and looks at no memory but the entries' own where it can.
template <typename Entry, typename Before>
class SortedChunks {
 public:
  struct Position {
    size_t chunk = 0;
    size_t place = 0;

    friend auto operator<=>(const Position&, const Position&) = default;
  };

  explicit SortedChunks(Before before = Before()) : before_(std::move(before)) {}

  size_t size() const { return size_; }
  // The first entry. REQUIRES: size() > 0.
  const Entry& front() const { return chunks_.front().front(); }

  void Insert(const Entry& entry) {
    if (chunks_.empty()) {
      chunks_.emplace_back();
      maxima_.push_back(kNoValue);
      lasts_.push_back(entry);
    }
    ++size_;
    const size_t index = std::min(ChunkOf(entry), chunks_.size() - 1);
    Chunk& chunk = chunks_[index];
    chunk.insert(std::lower_bound(chunk.begin(), chunk.end(), entry, before_), entry);
    maxima_[index] = std::max(maxima_[index], entry.value);
    lasts_[index] = chunk.back();
    if (chunk.size() > kChunkMax) Split(index);
  }

  // REQUIRES: it is in the list, with that value.
  void Erase(const Entry& entry) {
    const size_t index = ChunkOf(entry);
    CHECK(index < chunks_.size());
    Chunk& chunk = chunks_[index];
    auto at = std::lower_bound(chunk.begin(), chunk.end(), entry, before_);
    CHECK(at != chunk.end() && !before_(entry, *at));
    chunk.erase(at);
    --size_;
    if (chunk.empty()) {
      const auto place = static_cast<ptrdiff_t>(index);
      chunks_.erase(chunks_.begin() + place);
      maxima_.erase(maxima_.begin() + place);
      lasts_.erase(lasts_.begin() + place);
      return;
    }
    lasts_[index] = chunk.back();
    if (entry.value >= maxima_[index]) maxima_[index] = MaximumOf(chunk);
  }

  // The first entry at `from` or behind it with at least `value`; nullptr if there is none. Moves
  // `from` to it, or to the end.
  const Entry* Find(int64_t value, Position* from) const {
    for (; from->chunk < chunks_.size(); ++from->chunk, from->place = 0) {
      if (maxima_[from->chunk] < value) continue;
      const Chunk& chunk = chunks_[from->chunk];
      for (; from->place < chunk.size(); ++from->place) {
        if (chunk[from->place].value >= value) return &chunk[from->place];
      }
    }
    return nullptr;
  }

  // Where the first entry is for which `is_before` does not hold. REQUIRES: it holds for those
  // before it, and for none behind it.
  template <typename IsBefore>
  Position EndOf(const IsBefore& is_before) const {
    const auto last = std::partition_point(lasts_.begin(), lasts_.end(), is_before);
    Position end = {.chunk = static_cast<size_t>(last - lasts_.begin())};
    if (end.chunk == chunks_.size()) return end;
    const Chunk& chunk = chunks_[end.chunk];
    const auto at = std::partition_point(chunk.begin(), chunk.end(), is_before);
    end.place = static_cast<size_t>(at - chunk.begin());
    return end;
  }

  // The number of entries before the position.
  size_t CountBefore(const Position& end) const {
    size_t count = end.place;
    for (size_t i = 0; i < end.chunk; ++i) count += chunks_[i].size();
    return count;
  }

  // INT64_MIN if the list is empty.
  int64_t MaxValue() const {
    int64_t maximum = kNoValue;
    for (int64_t value : maxima_) maximum = std::max(maximum, value);
    return maximum;
  }

 private:
  static constexpr size_t kChunkMax = 256;
  static constexpr int64_t kNoValue = INT64_MIN;

  using Chunk = std::vector<Entry>;  // not empty, but for the one of an empty list

  // The first chunk whose last entry is not before `entry`; chunks_.size() if there is none.
  size_t ChunkOf(const Entry& entry) const {
    auto at = std::lower_bound(lasts_.begin(), lasts_.end(), entry, before_);
    return static_cast<size_t>(at - lasts_.begin());
  }

  static int64_t MaximumOf(const Chunk& chunk) {
    int64_t maximum = kNoValue;
    for (const Entry& entry : chunk) maximum = std::max(maximum, entry.value);
    return maximum;
  }

  void Split(size_t index) {
    Chunk& first = chunks_[index];
    const auto middle = first.begin() + static_cast<ptrdiff_t>(first.size() / 2);
    Chunk second;
    second.reserve(kChunkMax + 1);
    second.assign(middle, first.end());
    first.erase(middle, first.end());
    maxima_[index] = MaximumOf(first);
    const auto behind = static_cast<ptrdiff_t>(index + 1);
    maxima_.insert(maxima_.begin() + behind, MaximumOf(second));
    lasts_.insert(lasts_.begin() + behind, second.back());
    lasts_[index] = first.back();
    chunks_.insert(chunks_.begin() + behind, std::move(second));
  }

  Before before_;
  std::vector<Chunk> chunks_;
  // Per chunk.
  std::vector<int64_t> maxima_;
  std::vector<Entry> lasts_;
  size_t size_ = 0;
};

}  // namespace pipefill

#endif  // PLANNER_SORTED_CHUNKS_H_
