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
  absl::Status ForEachRecord(const RecordVisitor& visit) override;
  absl::Status Append(const std::vector<std::string>& records) override;

  // Every Append returns this from now on, and keeps nothing.
  void FailAppends(absl::Status status) { append_status_ = std::move(status); }
  // Called in each Append before anything is kept.
  void OnAppend(std::function<void()> callback) { on_append_ = std::move(callback); }

  const std::vector<std::string>& records() const { return records_; }
  int appends() const { return appends_; }

 private:
  std::vector<std::string> records_;
  int appends_ = 0;
  absl::Status append_status_;
  std::function<void()> on_append_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_MEMORY_JOURNAL_H_
