#include "scheduler/journal/memory_journal.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"

namespace pipefill::scheduler {

absl::Status MemoryJournal::ForEachRecord(int64_t after, const RecordVisitor& visit) {
  if (after + 1 < first_) {
    return absl::DataLossError(absl::StrCat("journal record ", after + 1, " is missing"));
  }
  for (int64_t sequence = after + 1; sequence <= last_sequence(); ++sequence) {
    RETURN_IF_ERROR(visit(sequence, records_[static_cast<size_t>(sequence - first_)]));
  }
  return absl::OkStatus();
}

absl::Status MemoryJournal::Append(const std::vector<std::string>& records) {
  CHECK(!records.empty());
  if (on_append_) on_append_();
  RETURN_IF_ERROR(append_status_);
  ++appends_;
  records_.insert(records_.end(), records.begin(), records.end());
  high_water_ = last_sequence();
  return absl::OkStatus();
}

absl::StatusOr<bool> MemoryJournal::RemoveUpTo(int64_t last, int64_t limit) {
  const int64_t removed = std::min(std::min(last, last_sequence()) - first_ + 1, limit);
  if (removed > 0) {
    records_.erase(records_.begin(), records_.begin() + removed);
    first_ += removed;
  }
  return first_ > std::min(last, last_sequence());
}

void MemoryJournal::SkipTo(int64_t sequence) {
  if (sequence <= last_sequence()) return;
  records_.clear();
  first_ = sequence + 1;
}

}  // namespace pipefill::scheduler
