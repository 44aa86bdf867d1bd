#include "scheduler/core/job_table.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace pipefill::scheduler {
namespace {

constexpr size_t kFanOut = 64;

// REQUIRES: id > 0.
size_t IndexOf(JobId id) { return static_cast<size_t>(id.value() - 1); }
size_t SegmentIndexOf(JobId id) { return IndexOf(id) / (kFanOut * kFanOut); }
size_t ChunkIndexOf(JobId id) { return IndexOf(id) / kFanOut % kFanOut; }
size_t PlaceIndexOf(JobId id) { return IndexOf(id) % kFanOut; }

// The first id of what `id` lies in: a chunk or a segment of `ids` ids.
JobId FirstOf(JobId id, size_t ids) {
  const auto width = static_cast<int64_t>(ids);
  return JobId((id.value() - 1) / width * width + 1);
}

// `node`, for changing: as it is if it was made in this edition, else a copy in its place.
template <typename Node>
Node& EditNode(std::shared_ptr<const Node>& node, uint64_t edition) {
  if (node == nullptr || node->edition != edition) {
    auto copy = node == nullptr ? std::make_shared<Node>() : std::make_shared<Node>(*node);
    copy->edition = edition;
    node = std::move(copy);
  }
  // Made as a Node that is not const, above, and seen by no snapshot yet.
  return const_cast<Node&>(*node);
}

}  // namespace

const JobTableView::Chunk* JobTableView::ChunkOf(JobId id) const {
  static_assert(JobTableView::kFanOut == scheduler::kFanOut);
  if (id.value() < 1 || id > last_id_) return nullptr;
  const size_t index = SegmentIndexOf(id);
  if (index >= segments_.size() || segments_[index] == nullptr) return nullptr;
  return segments_[index]->chunks[ChunkIndexOf(id)].get();
}

const Job* JobTableView::Find(JobId id) const {
  const Chunk* chunk = ChunkOf(id);
  return chunk == nullptr ? nullptr : chunk->places[PlaceIndexOf(id)].job.get();
}

const Job* JobTableView::FindAtOrBelow(JobId id) const {
  if (id > last_id_) id = last_id_;
  while (id.value() >= 1) {
    const size_t segment = SegmentIndexOf(id);
    if (segment >= segments_.size() || segments_[segment] == nullptr) {
      id = JobId(FirstOf(id, kFanOut * kFanOut).value() - 1);
    } else if (ChunkOf(id) == nullptr) {
      id = JobId(FirstOf(id, kFanOut).value() - 1);
    } else if (const Job* job = Find(id); job != nullptr) {
      return job;
    } else {
      id = JobId(id.value() - 1);
    }
  }
  return nullptr;
}

const Job* JobTableView::FindAtOrAbove(JobId id) const {
  if (id.value() < 1) id = JobId(1);
  while (id <= last_id_) {
    const size_t segment = SegmentIndexOf(id);
    if (segment >= segments_.size()) return nullptr;
    if (segments_[segment] == nullptr) {
      id = JobId(FirstOf(id, kFanOut * kFanOut).value() + int64_t{kFanOut * kFanOut});
    } else if (ChunkOf(id) == nullptr) {
      id = JobId(FirstOf(id, kFanOut).value() + int64_t{kFanOut});
    } else if (const Job* job = Find(id); job != nullptr) {
      return job;
    } else {
      id = JobId(id.value() + 1);
    }
  }
  return nullptr;
}

void JobTableView::AddChanges(const Chunk* before, const Chunk* after, JobId first,
                              std::vector<JobId>* changed) {
  for (size_t i = 0; i < kFanOut; ++i) {
    const Job* old_job = before == nullptr ? nullptr : before->places[i].job.get();
    const Job* new_job = after == nullptr ? nullptr : after->places[i].job.get();
    if (old_job != new_job) changed->push_back(JobId(first.value() + static_cast<int64_t>(i)));
  }
}

std::vector<JobId> JobTableView::ChangedSince(const JobTableView& before) const {
  std::vector<JobId> changed;
  JobId first(1);
  for (size_t i = 0; i < std::max(segments_.size(), before.segments_.size()); ++i) {
    const Segment* old_segment = i < before.segments_.size() ? before.segments_[i].get() : nullptr;
    const Segment* new_segment = i < segments_.size() ? segments_[i].get() : nullptr;
    for (size_t k = 0; k < kFanOut; ++k, first = JobId(first.value() + int64_t{kFanOut})) {
      if (old_segment == new_segment) continue;
      const Chunk* old_chunk = old_segment == nullptr ? nullptr : old_segment->chunks[k].get();
      const Chunk* new_chunk = new_segment == nullptr ? nullptr : new_segment->chunks[k].get();
      if (old_chunk != new_chunk) AddChanges(old_chunk, new_chunk, first, &changed);
    }
  }
  return changed;
}

void JobTable::Add(Job job) {
  CHECK(Find(job.id) == nullptr);
  view_.last_id_ = std::max(view_.last_id_, job.id);
  JobTableView::Segment& segment = EditSegment(job.id);
  JobTableView::Chunk& chunk = EditChunk(segment, job.id);
  JobTableView::Place& place = chunk.places[PlaceIndexOf(job.id)];
  place = {std::make_shared<Job>(std::move(job)), edition_};
  ++chunk.used;
  ++view_.size_;
}

void JobTable::SkipTo(JobId id) {
  CHECK(id >= last_id());
  view_.last_id_ = id;
}

Job& JobTable::Edit(JobId id) {
  CHECK(Find(id) != nullptr);
  JobTableView::Place& place = EditChunk(EditSegment(id), id).places[PlaceIndexOf(id)];
  if (place.edition != edition_) place = {std::make_shared<Job>(*place.job), edition_};
  // Made as a Job that is not const, by Add or above, and seen by no snapshot yet.
  return const_cast<Job&>(*place.job);
}

void JobTable::Drop(JobId id) {
  CHECK(Find(id) != nullptr);
  JobTableView::Segment& segment = EditSegment(id);
  JobTableView::Chunk& chunk = EditChunk(segment, id);
  chunk.places[PlaceIndexOf(id)] = {};
  --view_.size_;
  if (--chunk.used > 0) return;
  segment.chunks[ChunkIndexOf(id)] = nullptr;
  if (--segment.used == 0) view_.segments_[SegmentIndexOf(id)] = nullptr;
}

JobTableView JobTable::Snapshot() {
  ++edition_;
  return view_;
}

JobTableView::Segment& JobTable::EditSegment(JobId id) {
  const size_t index = SegmentIndexOf(id);
  if (index >= view_.segments_.size()) view_.segments_.resize(index + 1);
  return EditNode(view_.segments_[index], edition_);
}

JobTableView::Chunk& JobTable::EditChunk(JobTableView::Segment& segment, JobId id) {
  std::shared_ptr<const JobTableView::Chunk>& chunk = segment.chunks[ChunkIndexOf(id)];
  if (chunk == nullptr) ++segment.used;
  return EditNode(chunk, edition_);
}

}  // namespace pipefill::scheduler
