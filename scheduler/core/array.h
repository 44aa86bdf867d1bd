// Job arrays: one job whose command runs once for each of many indexes.
//
//   indexes, by place:  0 1 2 3 4 5 6 | 7 8 9 ...
//                       `- have been admitted: jobs of their own, or ended already
//                                     ^ next
//
// An array costs a few bits for each of its tasks. A task becomes a job only when it is admitted,
// as a device may be free for it soon; when it ends, its result is noted here, and its record may
// leave. The task at place p has the id of the array + 1 + p: the ids are set aside when the array
// is submitted.
//
// Pure.
#ifndef SCHEDULER_CORE_ARRAY_H_
#define SCHEDULER_CORE_ARRAY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/ids.h"
#include "scheduler/core/job_machine.h"

namespace pipefill::scheduler {

// first, first + step, ... up to last.
struct IndexRange {
  int32_t first = 0;
  int32_t last = 0;
  int32_t step = 1;

  int64_t size() const { return (int64_t{last} - first) / step + 1; }

  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

struct ArraySpec {
  std::vector<IndexRange> ranges;
  int32_t throttle = 0;  // 0 = no limit

  // How many tasks there are. REQUIRES, as those below: CheckArray accepts it.
  int64_t size() const;
  // REQUIRES: 0 <= place < size().
  int32_t IndexAt(int64_t place) const;

  friend bool operator==(const ArraySpec&, const ArraySpec&) = default;
};

// What no store holds, whatever its limits.
inline constexpr int64_t kArrayTasksCap = 1'000'000;

// InvalidArgument: no index, a range that is none, or a number out of its range; the text begins
// with the field. ResourceExhausted: more than `tasks_max` tasks. Does not look for indexes that
// are there twice.
absl::Status CheckArray(const ArraySpec& array, int64_t tasks_max);
// InvalidArgument, with the index. REQUIRES: CheckArray accepts it.
absl::Status CheckIndexesDiffer(const ArraySpec& array);

inline JobId TaskIdOf(JobId array, int64_t place) { return JobId(array.value() + 1 + place); }
inline int64_t PlaceOf(JobId array, JobId task) { return task.value() - array.value() - 1; }

enum class TaskResult { kNone, kSucceeded, kFailed, kCancelled };
// REQUIRES: the phase is terminal.
TaskResult ResultOf(JobPhase phase);

// How far an array is.
class ArrayTasks {
 public:
  // REQUIRES: size > 0.
  explicit ArrayTasks(int64_t size);
  // What was kept with next() and results(); nullopt if it cannot be.
  static std::optional<ArrayTasks> FromKept(int64_t size, int64_t next, absl::string_view results);

  int64_t size() const { return size_; }
  // The tasks at the places below have been admitted, or had ended before.
  int64_t next() const { return next_; }
  TaskResult ResultAt(int64_t place) const;
  int64_t succeeded() const { return succeeded_; }
  int64_t failed() const { return failed_; }
  int64_t cancelled() const { return cancelled_; }
  int64_t ended() const { return succeeded_ + failed_ + cancelled_; }
  // Jobs that have not ended, and those of them that wait.
  int64_t in_flight() const { return in_flight_; }
  int64_t waiting() const { return waiting_; }
  // Whether any of them runs, or has come to an end by itself.
  bool has_begun() const { return succeeded_ + failed_ > 0 || in_flight_ > waiting_; }
  // Neither jobs nor ended.
  int64_t later() const { return size_ - ended() - in_flight_; }
  bool is_over() const { return ended() == size_; }
  // The lowest places with that result, at most `limit`.
  std::vector<int64_t> FirstWith(TaskResult result, size_t limit) const;
  // Four places to a byte, see proto/snapshot.proto.
  std::string results() const;

  // The place up to which tasks are to be admitted so that `count` more are in flight, or all.
  int64_t EndOf(int64_t count) const;
  // Those at the places [next, end) without a result are in flight from now on; they wait once
  // AddWaiting says so. REQUIRES: next() < end <= size().
  void Admit(int64_t end);
  // REQUIRES: it has none; `result` is not kNone.
  void SetResult(int64_t place, TaskResult result);
  void AddWaiting(int64_t change) { waiting_ += change; }

  friend bool operator==(const ArrayTasks&, const ArrayTasks&) = default;

 private:
  void Count(TaskResult result);

  int64_t size_ = 0;
  int64_t next_ = 0;
  // Two bits for each place.
  std::vector<uint8_t> results_;
  // What follows from the above, and from the jobs.
  int64_t succeeded_ = 0;
  int64_t failed_ = 0;
  int64_t cancelled_ = 0;
  int64_t in_flight_ = 0;
  int64_t waiting_ = 0;
};

// "3 of 100 tasks failed: 2, 7 and 9", with the first indexes only. REQUIRES: it is over.
std::string DescribeArrayEnd(const ArraySpec& array, const ArrayTasks& tasks);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_ARRAY_H_
