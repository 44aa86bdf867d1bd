#include "scheduler/journal/memory_journal.h"

#include "common/check.h"
#include "common/status.h"

namespace pipefill::scheduler {

absl::Status MemoryJournal::ForEachRecord(const RecordVisitor& visit) {
  for (size_t i = 0; i < records_.size(); ++i) {
    RETURN_IF_ERROR(visit(static_cast<int64_t>(i) + 1, records_[i]));
  }
  return absl::OkStatus();
}

absl::Status MemoryJournal::Append(const std::vector<std::string>& records) {
  CHECK(!records.empty());
  if (on_append_) on_append_();
  RETURN_IF_ERROR(append_status_);
  ++appends_;
  records_.insert(records_.end(), records.begin(), records.end());
  return absl::OkStatus();
}

}  // namespace pipefill::scheduler
