#include "scheduler/core/array.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/check.h"

namespace pipefill::scheduler {
namespace {

constexpr int32_t kIndexMax = 1'000'000'000;
constexpr size_t kRangesMax = 1'000;
// Indexes that are named where many failed.
constexpr size_t kNamedMax = 10;
constexpr int64_t kPlacesPerByte = 4;

absl::Status Bad(absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat("spec.array: ", text));
}

absl::Status CheckRange(const IndexRange& range) {
  if (range.first < 0 || range.last > kIndexMax) {
    return Bad(absl::StrCat(range.first, "-", range.last, " is not within 0..", kIndexMax));
  }
  if (range.first > range.last) {
    return Bad(absl::StrCat(range.first, "-", range.last, " ends before it begins"));
  }
  if (range.step > 0) return absl::OkStatus();
  return Bad(absl::StrCat("step ", range.step, " is not more than 0"));
}

size_t BytesFor(int64_t places) {
  return static_cast<size_t>((places + kPlacesPerByte - 1) / kPlacesPerByte);
}

size_t ByteOf(int64_t place) { return static_cast<size_t>(place / kPlacesPerByte); }
int ShiftOf(int64_t place) { return static_cast<int>(place % kPlacesPerByte) * 2; }

}  // namespace

int64_t ArraySpec::size() const {
  int64_t size = 0;
  for (const IndexRange& range : ranges) size += range.size();
  return size;
}

int32_t ArraySpec::IndexAt(int64_t place) const {
  for (const IndexRange& range : ranges) {
    if (place < range.size()) return static_cast<int32_t>(range.first + place * range.step);
    place -= range.size();
  }
  CHECK(false);
  return 0;
}

absl::Status CheckArray(const ArraySpec& array, int64_t tasks_max) {
  if (array.ranges.empty()) return Bad("names no index; write for example 0-99");
  if (array.ranges.size() > kRangesMax) {
    return Bad(absl::StrCat("has ", array.ranges.size(), " ranges, at most ", kRangesMax));
  }
  if (array.throttle < 0) return Bad(absl::StrCat("throttle ", array.throttle, " is below 0"));
  for (const IndexRange& range : array.ranges) {
    const absl::Status checked = CheckRange(range);
    if (!checked.ok()) return checked;
  }
  // At most 1,000 ranges of 1e9.
  if (array.size() <= tasks_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("spec.array: ", array.size(), " tasks are more than array_tasks_max, ",
                   tasks_max, "; submit several arrays, or raise it in the configuration"));
}

absl::Status CheckIndexesDiffer(const ArraySpec& array) {
  std::vector<int32_t> indexes;
  indexes.reserve(static_cast<size_t>(array.size()));
  for (const IndexRange& range : array.ranges) {
    for (int64_t index = range.first; index <= range.last; index += range.step) {
      indexes.push_back(static_cast<int32_t>(index));
    }
  }
  std::sort(indexes.begin(), indexes.end());
  const auto twice = std::adjacent_find(indexes.begin(), indexes.end());
  if (twice == indexes.end()) return absl::OkStatus();
  return Bad(absl::StrCat("index ", *twice, " is there twice"));
}

TaskResult ResultOf(JobPhase phase) {
  if (phase == JobPhase::kSucceeded) return TaskResult::kSucceeded;
  if (phase == JobPhase::kFailed) return TaskResult::kFailed;
  CHECK(phase == JobPhase::kCancelled);
  return TaskResult::kCancelled;
}

ArrayTasks::ArrayTasks(int64_t size) : size_(size), results_(BytesFor(size)) { CHECK(size > 0); }

std::optional<ArrayTasks> ArrayTasks::FromKept(int64_t size, int64_t next,
                                               absl::string_view results) {
  if (size <= 0 || size > kArrayTasksCap || next < 0 || next > size) return std::nullopt;
  if (results.size() != BytesFor(size)) return std::nullopt;
  ArrayTasks tasks(size);
  tasks.next_ = next;
  std::copy(results.begin(), results.end(), tasks.results_.begin());
  for (int64_t place = 0; place < size; ++place) {
    const TaskResult result = tasks.ResultAt(place);
    tasks.Count(result);
    if (place < next && result == TaskResult::kNone) ++tasks.in_flight_;
  }
  const bool has_rest = size % kPlacesPerByte != 0 && tasks.results_.back() >> ShiftOf(size) != 0;
  return has_rest ? std::nullopt : std::optional(std::move(tasks));
}

TaskResult ArrayTasks::ResultAt(int64_t place) const {
  return static_cast<TaskResult>(results_[ByteOf(place)] >> ShiftOf(place) & 3);
}

std::vector<int64_t> ArrayTasks::FirstWith(TaskResult result, size_t limit) const {
  std::vector<int64_t> places;
  for (int64_t place = 0; place < size_ && places.size() < limit; ++place) {
    if (ResultAt(place) == result) places.push_back(place);
  }
  return places;
}

std::string ArrayTasks::results() const { return {results_.begin(), results_.end()}; }

int64_t ArrayTasks::EndOf(int64_t count) const {
  int64_t end = next_;
  for (; end < size_ && count > 0; ++end) {
    if (ResultAt(end) == TaskResult::kNone) --count;
  }
  return end;
}

void ArrayTasks::Admit(int64_t end) {
  CHECK(next_ < end && end <= size_);
  for (; next_ < end; ++next_) {
    if (ResultAt(next_) == TaskResult::kNone) ++in_flight_;
  }
}

void ArrayTasks::SetResult(int64_t place, TaskResult result) {
  CHECK(ResultAt(place) == TaskResult::kNone && result != TaskResult::kNone);
  results_[ByteOf(place)] =
      static_cast<uint8_t>(results_[ByteOf(place)] | static_cast<int>(result) << ShiftOf(place));
  Count(result);
  if (place < next_) --in_flight_;
}

void ArrayTasks::Count(TaskResult result) {
  succeeded_ += result == TaskResult::kSucceeded ? 1 : 0;
  failed_ += result == TaskResult::kFailed ? 1 : 0;
  cancelled_ += result == TaskResult::kCancelled ? 1 : 0;
}

std::string DescribeArrayEnd(const ArraySpec& array, const ArrayTasks& tasks) {
  if (tasks.succeeded() == tasks.size()) {
    return absl::StrCat("all ", tasks.size(), " tasks succeeded");
  }
  std::string text;
  if (tasks.cancelled() > 0) {
    text = absl::StrCat(tasks.cancelled(), " of ", tasks.size(),
                        tasks.cancelled() == 1 ? " tasks was cancelled" : " tasks were cancelled");
  }
  if (tasks.failed() == 0) return text;
  const std::vector<int64_t> places = tasks.FirstWith(TaskResult::kFailed, kNamedMax);
  const std::string indexes = absl::StrJoin(places, ", ", [&](std::string* out, int64_t place) {
    absl::StrAppend(out, array.IndexAt(place));
  });
  const bool has_more = tasks.failed() > static_cast<int64_t>(places.size());
  return absl::StrCat(tasks.failed(), " of ", tasks.size(),
                      " tasks failed: ", places.size() == 1 ? "index " : "indexes ", indexes,
                      has_more ? ", ..." : "", text.empty() ? "" : "; ", text);
}

}  // namespace pipefill::scheduler
