// The number of the newest record that was ever on disk: file `journal.mark` in the state folder.
//
// SQLite drops the damaged end of its log without a word; with the mark, records that are gone are
// found missing. The mark is written after each commit and never synced: a crash of the process
// leaves it right, a power cut leaves it right or too low. Too low finds less, and refuses nothing.
//
// Thread-compatible.
#ifndef SCHEDULER_JOURNAL_HIGH_WATER_MARK_H_
#define SCHEDULER_JOURNAL_HIGH_WATER_MARK_H_

#include <cstdint>
#include <string>

#include "common/file_descriptor.h"

namespace pipefill::scheduler {

class HighWaterMark {
 public:
  // It is only a check: a file that cannot be used, or is damaged, counts as 0, and `problem` says
  // why. An absent one counts as 0.
  explicit HighWaterMark(const std::string& folder);

  int64_t value() const { return value_; }
  const std::string& problem() const { return problem_; }

  // Makes the file if it is absent.
  void Set(int64_t value);

 private:
  const std::string path_;
  FileDescriptor file_;
  int64_t value_ = 0;
  std::string problem_;
  bool is_usable_ = true;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_HIGH_WATER_MARK_H_
