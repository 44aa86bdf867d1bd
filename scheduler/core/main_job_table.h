// What is set for main jobs, by name.
//
// A main job stays in the table when everything is unset again, so that agents that were away hear
// of that, too. At the limit one of those makes room.
//
// Pure but for being the owner of its state. Thread-compatible: belongs to one loop. A MainJobMap
// that was handed out never changes.
#ifndef SCHEDULER_CORE_MAIN_JOB_TABLE_H_
#define SCHEDULER_CORE_MAIN_JOB_TABLE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "scheduler/core/main_job.h"

namespace pipefill::scheduler {

using MainJobMap = absl::btree_map<std::string, MainJobSettings>;

class MainJobTable {
 public:
  explicit MainJobTable(size_t limit) : limit_(limit) {}

  // With nothing set if nothing ever was.
  MainJobSettings SettingsOf(const std::string& main_job) const;
  // What they would be after the change.
  MainJobSettings Changed(const MainJobChange& change) const;
  bool Contains(const std::string& main_job) const { return settings_->contains(main_job); }
  bool HasRoomFor(const std::string& main_job) const;

  void Set(const MainJobSettings& settings);

  // All, as they are now.
  std::shared_ptr<const MainJobMap> Snapshot() const { return settings_; }

 private:
  const size_t limit_;
  // Replaced at each change: there are few changes, and few main jobs.
  std::shared_ptr<const MainJobMap> settings_ = std::make_shared<const MainJobMap>();
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_MAIN_JOB_TABLE_H_
