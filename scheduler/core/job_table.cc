#include "scheduler/core/job_table.h"

#include <utility>

#include "common/check.h"

namespace pipefill::scheduler {
namespace {

constexpr int64_t kChunkJobs = 256;

size_t ChunkOf(JobId id) { return static_cast<size_t>((id.value() - 1) / kChunkJobs); }
size_t PlaceOf(JobId id) { return static_cast<size_t>((id.value() - 1) % kChunkJobs); }

}  // namespace

const Job* JobTableView::Find(JobId id) const {
  if (id.value() < 1 || id.value() > size_) return nullptr;
  return (*chunks_[ChunkOf(id)])[PlaceOf(id)].get();
}

void JobTable::Add(Job job) {
  CHECK(job.id.value() == size() + 1);
  const size_t chunk = ChunkOf(job.id);
  if (chunk == view_.chunks_.size()) {
    view_.chunks_.push_back(std::make_shared<JobTableView::Chunk>());
    chunk_editions_.push_back(edition_);
  }
  EditChunk(chunk).push_back(std::make_shared<Job>(std::move(job)));
  job_editions_.push_back(edition_);
  ++view_.size_;
}

Job& JobTable::Edit(JobId id) {
  CHECK(Find(id) != nullptr);
  std::shared_ptr<const Job>& place = EditChunk(ChunkOf(id))[PlaceOf(id)];
  uint64_t& made_in = job_editions_[static_cast<size_t>(id.value() - 1)];
  if (made_in != edition_) {
    place = std::make_shared<Job>(*place);
    made_in = edition_;
  }
  // Made as a Job that is not const, by Add or above, and seen by no snapshot yet.
  return const_cast<Job&>(*place);
}

JobTableView JobTable::Snapshot() {
  ++edition_;
  return view_;
}

JobTableView::Chunk& JobTable::EditChunk(size_t chunk) {
  std::shared_ptr<const JobTableView::Chunk>& place = view_.chunks_[chunk];
  if (chunk_editions_[chunk] != edition_) {
    auto copy = std::make_shared<JobTableView::Chunk>();
    copy->reserve(kChunkJobs);
    *copy = *place;
    place = std::move(copy);
    chunk_editions_[chunk] = edition_;
  }
  return const_cast<JobTableView::Chunk&>(*place);
}

}  // namespace pipefill::scheduler
