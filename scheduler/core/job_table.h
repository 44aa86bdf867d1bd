// All jobs, by id, so that a snapshot of them costs little however many there are.
//
// Jobs lie in chunks; a snapshot shares the chunks with the table. A chunk or a job that a snapshot
// may see is copied before its first change. Ids are dense and start at 1, so the id is the place.
//
// Thread-compatible: a JobTable belongs to one loop. A JobTableView never changes and may be read
// by any thread.
#ifndef SCHEDULER_CORE_JOB_TABLE_H_
#define SCHEDULER_CORE_JOB_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/ids.h"
#include "scheduler/core/job.h"

namespace pipefill::scheduler {

class JobTableView {
 public:
  JobTableView() = default;

  // Jobs have the ids 1 .. size().
  int64_t size() const { return size_; }
  // nullptr if there is no such job. Lives as long as any view that has it.
  const Job* Find(JobId id) const;

 private:
  friend class JobTable;
  using Chunk = std::vector<std::shared_ptr<const Job>>;

  std::vector<std::shared_ptr<const Chunk>> chunks_;
  int64_t size_ = 0;
};

class JobTable {
 public:
  int64_t size() const { return view_.size(); }
  // Valid until the next change.
  const Job* Find(JobId id) const { return view_.Find(id); }

  // REQUIRES: job.id is size() + 1.
  void Add(Job job);
  // The job, for changing; valid until the next call of any other function. REQUIRES: it exists.
  Job& Edit(JobId id);

  // All jobs as they are now.
  JobTableView Snapshot();

 private:
  // The chunk of the job, not shared with any snapshot.
  JobTableView::Chunk& EditChunk(size_t chunk);

  JobTableView view_;
  // Grows with each snapshot. What was made in an older edition may be shared, and is copied first.
  uint64_t edition_ = 1;
  std::vector<uint64_t> chunk_editions_;
  std::vector<uint64_t> job_editions_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_TABLE_H_
