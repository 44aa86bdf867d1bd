// A sorted list whose entries have a value each, in which the next entry of at least some value is
// found without a look at those before it.
//
// Entries lie in chunks of at most kChunkMax; a chunk knows the largest value in it. With n entries
// an insertion, a removal and a search cost about n / kChunkMax + kChunkMax steps over memory that
// lies together: for 100,000 entries that is less than what a tree costs in cache misses.
//
// Thread-compatible. Positions hold until the next Insert or Erase.
#ifndef PLANNER_SORTED_CHUNKS_H_
#define PLANNER_SORTED_CHUNKS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "common/check.h"

namespace pipefill {

// `Entry` is movable and has `int64_t value`; `Before(a, b)` is a strict order in which no two
// entries are equal.
template <typename Entry, typename Before>
class SortedChunks {
 public:
  struct Position {
    size_t chunk = 0;
    size_t place = 0;
  };

  explicit SortedChunks(Before before = Before()) : before_(std::move(before)) {}

  size_t size() const { return size_; }
  // The first entry. REQUIRES: size() > 0.
  const Entry& front() const { return chunks_.front().entries.front(); }

  void Insert(Entry entry) {
    ++size_;
    if (chunks_.empty()) chunks_.emplace_back();
    const size_t index = std::min(ChunkOf(entry), chunks_.size() - 1);
    Chunk& chunk = chunks_[index];
    auto at = std::lower_bound(chunk.entries.begin(), chunk.entries.end(), entry, before_);
    maxima_.resize(chunks_.size(), kNoValue);
    maxima_[index] = std::max(maxima_[index], entry.value);
    chunk.entries.insert(at, std::move(entry));
    if (chunk.entries.size() > kChunkMax) Split(index);
  }

  // REQUIRES: it is in the list.
  void Erase(const Entry& entry) {
    const size_t index = ChunkOf(entry);
    CHECK(index < chunks_.size());
    std::vector<Entry>& entries = chunks_[index].entries;
    auto at = std::lower_bound(entries.begin(), entries.end(), entry, before_);
    CHECK(at != entries.end() && !before_(entry, *at));
    entries.erase(at);
    --size_;
    if (!entries.empty()) {
      maxima_[index] = MaximumOf(entries);
      return;
    }
    chunks_.erase(chunks_.begin() + static_cast<ptrdiff_t>(index));
    maxima_.erase(maxima_.begin() + static_cast<ptrdiff_t>(index));
  }

  // The first entry at `from` or behind it with at least `value`; nullptr if there is none. Moves
  // `from` to it, or to the end.
  const Entry* Find(int64_t value, Position* from) const {
    for (; from->chunk < chunks_.size(); ++from->chunk, from->place = 0) {
      if (maxima_[from->chunk] < value) continue;
      const std::vector<Entry>& entries = chunks_[from->chunk].entries;
      for (; from->place < entries.size(); ++from->place) {
        if (entries[from->place].value >= value) return &entries[from->place];
      }
    }
    return nullptr;
  }

  // The number of entries for which `is_before` holds. REQUIRES: they are the first ones.
  template <typename IsBefore>
  size_t CountBefore(const IsBefore& is_before) const {
    size_t count = 0;
    for (const Chunk& chunk : chunks_) {
      if (is_before(chunk.entries.back())) {
        count += chunk.entries.size();
        continue;
      }
      auto at = std::partition_point(chunk.entries.begin(), chunk.entries.end(), is_before);
      return count + static_cast<size_t>(at - chunk.entries.begin());
    }
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

  struct Chunk {
    std::vector<Entry> entries;
  };

  // The first chunk whose last entry is not before `entry`; chunks_.size() if there is none.
  size_t ChunkOf(const Entry& entry) const {
    auto at = std::partition_point(chunks_.begin(), chunks_.end(), [&](const Chunk& chunk) {
      return !chunk.entries.empty() && before_(chunk.entries.back(), entry);
    });
    return static_cast<size_t>(at - chunks_.begin());
  }

  static int64_t MaximumOf(const std::vector<Entry>& entries) {
    int64_t maximum = kNoValue;
    for (const Entry& entry : entries) maximum = std::max(maximum, entry.value);
    return maximum;
  }

  void Split(size_t index) {
    Chunk second;
    std::vector<Entry>& entries = chunks_[index].entries;
    const auto middle = entries.begin() + static_cast<ptrdiff_t>(entries.size() / 2);
    second.entries.reserve(kChunkMax + 1);
    second.entries.assign(std::make_move_iterator(middle), std::make_move_iterator(entries.end()));
    entries.erase(middle, entries.end());
    maxima_[index] = MaximumOf(entries);
    const auto behind = static_cast<ptrdiff_t>(index + 1);
    maxima_.insert(maxima_.begin() + behind, MaximumOf(second.entries));
    chunks_.insert(chunks_.begin() + behind, std::move(second));
  }

  Before before_;
  std::vector<Chunk> chunks_;
  std::vector<int64_t> maxima_;  // of the values, per chunk
  size_t size_ = 0;
};

}  // namespace pipefill

#endif  // PLANNER_SORTED_CHUNKS_H_
