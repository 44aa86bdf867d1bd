// The known jobs, by id, so that a snapshot of them costs little however many there are.
//
// A tree of three levels; a snapshot shares its nodes with the table. A node or a job that a
// snapshot may see is copied before its first change. Ids only grow; a job that is dropped leaves a
// hole, and a node without jobs is let go.
//
// Thread-compatible: a JobTable belongs to one loop. A JobTableView never changes and may be read
// by any thread.
#ifndef SCHEDULER_CORE_JOB_TABLE_H_
#define SCHEDULER_CORE_JOB_TABLE_H_

#include <array>
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

  // How many are known.
  int64_t size() const { return size_; }
  // The largest id that was given; that job need not be known any more.
  JobId last_id() const { return last_id_; }
  // nullptr if there is no such job (any more). Lives as long as any view that has it.
  const Job* Find(JobId id) const;
  // The next known job, `id` itself included; nullptr if there is none.
  const Job* FindAtOrBelow(JobId id) const;
  const Job* FindAtOrAbove(JobId id) const;
  // The ids, in order, whose jobs were changed, added or dropped between `before` and this, of the
  // same table. Takes time for what has changed, not for all.
  std::vector<JobId> ChangedSince(const JobTableView& before) const;

 private:
  friend class JobTable;

  static constexpr size_t kFanOut = 64;

  // `edition`: that of the table in which the node, or the job, was made.
  struct Place {
    std::shared_ptr<const Job> job;
    uint64_t edition = 0;
  };
  struct Chunk {
    std::array<Place, kFanOut> places;
    size_t used = 0;
    uint64_t edition = 0;
  };
  struct Segment {
    std::array<std::shared_ptr<const Chunk>, kFanOut> chunks;
    size_t used = 0;
    uint64_t edition = 0;
  };

  const Chunk* ChunkOf(JobId id) const;
  // `first`: the first id of both chunks. Either may be nullptr.
  static void AddChanges(const Chunk* before, const Chunk* after, JobId first,
                         std::vector<JobId>* changed);

  // Null where nothing is known.
  std::vector<std::shared_ptr<const Segment>> segments_;
  int64_t size_ = 0;
  JobId last_id_;
};

class JobTable {
 public:
  int64_t size() const { return view_.size(); }
  JobId last_id() const { return view_.last_id(); }
  // Valid until the next change.
  const Job* Find(JobId id) const { return view_.Find(id); }
  const JobTableView& view() const { return view_; }

  // REQUIRES: job.id is larger than last_id(), or was passed over by SkipTo.
  void Add(Job job);
  // The ids up to `id` count as given. REQUIRES: not less than last_id().
  void SkipTo(JobId id);
  // The job, for changing; valid until it is dropped, or the next Snapshot. REQUIRES: it exists.
  Job& Edit(JobId id);
  // REQUIRES: it exists.
  void Drop(JobId id);

  // All jobs as they are now.
  JobTableView Snapshot();

 private:
  // The nodes above the job, made if absent, not shared with any snapshot.
  JobTableView::Segment& EditSegment(JobId id);
  JobTableView::Chunk& EditChunk(JobTableView::Segment& segment, JobId id);

  JobTableView view_;
  // Grows with each snapshot. What was made in an older edition may be shared, and is copied first.
  uint64_t edition_ = 1;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_TABLE_H_
