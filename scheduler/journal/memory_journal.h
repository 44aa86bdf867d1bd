// A journal for tests: keeps the records in memory and fails on request.
//
// Thread-compatible.
#ifndef SCHEDULER_JOURNAL_MEMORY_JOURNAL_H_
#define SCHEDULER_JOURNAL_MEMORY_JOURNAL_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/journal/journal.h"

namespace pipefill::scheduler {

class MemoryJournal : public Journal {
 public:
  absl::Status ForEachRecord(int64_t after, const RecordVisitor& visit) override;
  absl::Status Append(const std::vector<std::string>& records) override;
  absl::StatusOr<bool> RemoveUpTo(int64_t last, int64_t limit) override;
  int64_t first_sequence() const override { return first_; }
  int64_t last_sequence() const override {
    return first_ + static_cast<int64_t>(records_.size()) - 1;
  }
  int64_t high_water() const override { return high_water_; }
  void SkipTo(int64_t sequence) override;

  // Every Append returns this from now on, and keeps nothing. OK: they work again.
  void FailAppends(absl::Status status) { append_status_ = std::move(status); }
  // Called in each Append before anything is kept.
  void OnAppend(std::function<void()> callback) { on_append_ = std::move(callback); }

  // As if the newest `count` had vanished.
  void LoseNewest(size_t count) { records_.resize(records_.size() - count); }
  // And the mark that tells that there were more.
  void LoseMark() { high_water_ = last_sequence(); }

  // Those that are not removed.
  const std::vector<std::string>& records() const { return records_; }
  int appends() const { return appends_; }

 private:
  std::vector<std::string> records_;
  int64_t first_ = 1;
  int64_t high_water_ = 0;
  int appends_ = 0;
  absl::Status append_status_;
  std::function<void()> on_append_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_MEMORY_JOURNAL_H_
