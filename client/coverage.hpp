// Exact coverage of a data set by a fill job that may be killed and moved, in C++: every sample
// once, in order. The same as pipefill.DataCursor and pipefill.OutputFile of the Python package.
//
//   pipefill::FillTask task;
//   pipefill::OutputFile output("result.bin");
//   pipefill::DataCursor cursor(samples.size(), {&output});
//   if (task.SetCheckpoint(cursor.hooks()) == PF_BAD_ARGUMENT) return 1;  // before the first unit
//   while (const pipefill::SampleRange range = cursor.Next(task, 1, 64)) {
//     for (uint64_t i = range.begin; i < range.end; ++i) output.Write(Compute(samples[i]));
//   }
//   if (cursor.is_done() && output.Close()) ...                  // all is there, and on disk
//
// Position and lengths of the outputs are saved together. What an attempt wrote after its last
// checkpoint is not in the output of the next, which does those samples again; a stopped attempt
// that wakes up late writes into a file that nobody reads.
//
// Header only; nothing throws but for memory.
//
// Thread-compatible.
#ifndef CLIENT_COVERAGE_HPP_
#define CLIENT_COVERAGE_HPP_

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/pipefill.hpp"

namespace pipefill {
inline namespace sdk_v1 {

// A file that only grows. It is there, empty or with what an earlier attempt has saved, from the
// first Write or the loading of a checkpoint on.
class OutputFile {
 public:
  explicit OutputFile(std::string path) : path_(std::move(path)) {}
  ~OutputFile() {
    if (file_ != nullptr) std::fclose(file_);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // False if it could not, as on a full disk; then Close and every save fail too.
  bool Write(std::string_view content) {
    if (file_ == nullptr && !Begin(0)) return false;
    is_good_ = is_good_ && std::fwrite(content.data(), 1, content.size(), file_) == content.size();
    if (is_good_) size_bytes_ += content.size();
    return is_good_;
  }
  // Everything is on disk.
  bool Close() {
    const bool is_synced = (file_ != nullptr || Begin(0)) && Sync();
    const bool is_closed = file_ != nullptr && std::fclose(std::exchange(file_, nullptr)) == 0;
    return is_synced && is_closed;
  }

  // --- For DataCursor ---

  uint64_t size_bytes() const { return size_bytes_; }
  bool Sync() {
    if (file_ == nullptr) return true;
    is_good_ = is_good_ && std::fflush(file_) == 0 && fsync(fileno(file_)) == 0;
    return is_good_;
  }
  // A new file with the first `kept_bytes` of the old one, in its place.
  bool Begin(uint64_t kept_bytes) {
    const std::string unfinished = path_ + ".unfinished";
    file_ = std::fopen(unfinished.c_str(), "wb");
    is_good_ = file_ != nullptr && Keep(kept_bytes) && Sync() &&
               std::rename(unfinished.c_str(), path_.c_str()) == 0;
    return is_good_;
  }

 private:
  bool Keep(uint64_t kept_bytes) {
    size_bytes_ = kept_bytes;
    if (kept_bytes == 0) return true;
    FILE* old = std::fopen(path_.c_str(), "rb");
    if (old == nullptr) return false;
    std::string piece(size_t{1} << 16, '\0');
    while (kept_bytes > 0) {
      const size_t wanted = static_cast<size_t>(std::min<uint64_t>(piece.size(), kept_bytes));
      const size_t got = std::fread(piece.data(), 1, wanted, old);
      if (got == 0 || std::fwrite(piece.data(), 1, got, file_) != got) break;
      kept_bytes -= got;
    }
    std::fclose(old);
    return kept_bytes == 0;
  }

  const std::string path_;
  FILE* file_ = nullptr;
  uint64_t size_bytes_ = 0;
  bool is_good_ = true;
};

// [begin, end) of samples; empty = there is nothing to do (any more, or for now).
struct SampleRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  explicit operator bool() const { return begin < end; }
};

// How far a job is in its data, and how long its outputs were then.
class DataCursor {
 public:
  // The outputs outlive the cursor, which outlives the task.
  explicit DataCursor(uint64_t total, std::vector<OutputFile*> outputs = {})
      : total_(total), outputs_(std::move(outputs)), lengths_(outputs_.size(), 0) {}
  DataCursor(const DataCursor&) = delete;
  DataCursor& operator=(const DataCursor&) = delete;

  CheckpointHooks hooks() {
    return {.save = [this] { return State(); },
            .load = [this](std::string_view state) { return Restore(state); },
            .sync = [this] { return Sync(); }};
  }

  // The range before it is done; starts the unit of the next one, of n_min to n_max samples, as
  // many as fit. Empty when all is done, or the task should leave.
  SampleRange Next(FillTask& task, uint32_t n_min, uint32_t n_max, uint32_t label = 0) {
    position_ = range_end_;
    for (size_t i = 0; i < outputs_.size(); ++i) lengths_[i] = outputs_[i]->size_bytes();
    if (is_done()) {
      task.EndUnit();
      return {};
    }
    const auto left = static_cast<uint32_t>(std::min<uint64_t>(total_ - position_, UINT32_MAX));
    range_end_ = position_ + task.NextElastic(std::min(n_min, left), std::min(n_max, left), label);
    return {.begin = position_, .end = range_end_};
  }

  // Samples [0, position) are done.
  uint64_t position() const { return position_; }
  bool is_done() const { return position_ >= total_; }

 private:
  std::string State() const {
    std::vector<uint64_t> numbers = {total_, position_};
    numbers.insert(numbers.end(), lengths_.begin(), lengths_.end());
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(uint64_t)};
  }
  bool Restore(std::string_view state) {
    std::vector<uint64_t> numbers(2 + outputs_.size());
    if (state.size() != numbers.size() * sizeof(uint64_t)) return false;
    std::memcpy(numbers.data(), state.data(), state.size());
    if (numbers[0] != total_ || numbers[1] > total_) return false;
    position_ = range_end_ = numbers[1];
    lengths_.assign(numbers.begin() + 2, numbers.end());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (!outputs_[i]->Begin(lengths_[i])) return false;
    }
    return true;
  }
  bool Sync() {
    bool is_good = true;
    for (OutputFile* output : outputs_) is_good = output->Sync() && is_good;
    return is_good;
  }

  const uint64_t total_;
  const std::vector<OutputFile*> outputs_;
  std::vector<uint64_t> lengths_;  // when all up to position_ was written
  uint64_t position_ = 0;
  uint64_t range_end_ = 0;
};

}  // namespace sdk_v1
}  // namespace pipefill

#endif  // CLIENT_COVERAGE_HPP_
