// What `pipefill top` knows: the last answers of schedulerd, and how the counters in them have
// moved lately.
//
// Counters of agents only grow while their rank or task lives. What happened "lately" is the
// difference to an answer at least kWindow old; longer ago, up to kHistory, if no iteration has
// ended since.
//
// Pure. Thread-compatible.
#ifndef CLI_TOP_TOP_MODEL_H_
#define CLI_TOP_TOP_MODEL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "common/instant.h"
#include "proto/scheduler.pb.h"
#include "proto/types.pb.h"

namespace pipefill {

// Everything that schedulerd said at about one time.
struct TopAnswers {
  v1::ListDevicesResponse devices;
  v1::ListBubblesResponse bubbles;
  v1::ListJobsResponse jobs;  // those that are not over
  v1::ListMainJobsResponse main_jobs;

  bool IsPaused(const std::string& main_job) const;
};

// Where the time of a device went lately, in parts of the time of its iterations.
struct DeviceUse {
  double iteration_ns = 0;
  double bubble_ns = 0;
  double filled_ns = 0;
  double overrun_ns = 0;

  void Add(const DeviceUse& other);
};

struct JobUse {
  double units_per_second = 0;
  double filled_share = 0;  // CPU time inside bubbles, of one core's time
};

class TopModel {
 public:
  static constexpr absl::Duration kWindow = absl::Seconds(5);
  static constexpr absl::Duration kHistory = absl::Seconds(60);

  // `now` never goes back.
  void Add(TopAnswers answers, Instant now);

  bool has_answers() const { return !points_.empty(); }
  // REQUIRES: has_answers().
  const TopAnswers& answers() const { return answers_; }

  // nullopt while nothing is known: no two answers yet, no iteration has ended, or it is new.
  std::optional<DeviceUse> UseOf(const v1::Device& device) const;
  // Of the last attempt.
  std::optional<JobUse> UseOf(const v1::Job& job) const;

 private:
  using DeviceKey = std::pair<std::string, std::string>;  // node, name
  using AttemptKey = std::pair<int64_t, int32_t>;         // job, attempt

  struct DeviceCounters {
    int64_t pid = 0;  // of its rank
    int64_t iterations = 0;
    int64_t iteration_ns = 0;
    int64_t bubble_ns = 0;
    int64_t filled_ns = 0;
    int64_t overrun_ns = 0;
  };
  struct JobCounters {
    int64_t units = 0;
    int64_t filled_ns = 0;
  };
  struct Point {
    Instant at;
    std::map<DeviceKey, DeviceCounters> devices;
    std::map<AttemptKey, JobCounters> jobs;
  };

  static Point PointOf(const TopAnswers& answers, Instant now);

  TopAnswers answers_;
  std::deque<Point> points_;  // oldest first
};

}  // namespace pipefill

#endif  // CLI_TOP_TOP_MODEL_H_
