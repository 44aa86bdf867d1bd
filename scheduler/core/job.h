// The nouns of schedulerd: a job, its attempts, what is known of both.
//
// Times of the wall clock are for people; decisions use Instants.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_H_
#define SCHEDULER_CORE_JOB_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "common/instant.h"
#include "planner/profile.h"
#include "planner/snapshot.h"
#include "scheduler/core/array.h"
#include "scheduler/core/boxed.h"
#include "scheduler/core/dependency.h"
#include "scheduler/core/job_machine.h"
#include "scheduler/core/progress.h"

namespace pipefill::scheduler {

// How the job is held to bubbles.
enum class FillWay {
  kUnspecified,  // of a spec from before there were ways: like kSdk
  kSdk,          // by the program itself, unit by unit
  kProcess,      // by stopping all its processes
};

// What the user asked for, with all defaults filled in.
struct JobSpec {
  std::string name;
  std::vector<std::string> command;
  std::map<std::string, std::string> env;
  std::string workdir;  // empty = the attempt's own folder
  int64_t memory_bytes = 0;
  int32_t devices = 1;
  int32_t retries = 0;
  FillProfile profile;  // CheckProfile accepts it; empty = nothing is known
  FillWay way = FillWay::kSdk;
  int32_t priority = 0;  // higher ones go first
  std::string tenant = "default";
  std::optional<absl::Time> deadline = std::nullopt;
  absl::Duration min_runtime = absl::ZeroDuration();  // an attempt is not evicted before
  bool is_evictable = true;
  bool may_be_infeasible = false;                 // waits, even if no device is large enough
  std::optional<ArraySpec> array = std::nullopt;  // one task for each index
  std::vector<Dependency> dependencies = {};      // it starts when all of them hold
  // Agents stop attempts that have run for so long; the job has failed then.
  std::optional<absl::Duration> max_runtime = std::nullopt;
  std::map<std::string, std::string> labels = {};  // CheckLabels accepts them
  // By the wall clock: if no attempt has started by then, the job has failed. Of an array, each
  // task by itself.
  std::optional<absl::Time> start_before = std::nullopt;
  bool is_held = false;  // when it is submitted

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

// Names an attempt. The fence alone is unique; job and attempt number are for people and look-ups.
struct AttemptKey {
  JobId job;
  AttemptNumber attempt;
  Fence fence;

  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

struct AttemptEnd {
  EndCause cause = EndCause::kUnknown;
  int32_t exit_code = 0;  // with kExited
  int32_t signal = 0;     // with kSignalled
  std::string text;       // one line for people

  friend bool operator==(const AttemptEnd&, const AttemptEnd&) = default;
};

// What a job goes by that may have been submitted without a profile; see ProfileBook.
struct JobProfile {
  std::shared_ptr<const FillProfile> profile = std::make_shared<const FillProfile>();
  std::string source = {};         // "learned by job 12"; empty = the job's own, or none
  bool is_of_this_content = true;  // or of a job that only has the same name
  bool is_learned = false;         // from units in bubbles, not measured alone

  friend bool operator==(const JobProfile& a, const JobProfile& b) {
    return *a.profile == *b.profile && a.source == b.source &&
           a.is_of_this_content == b.is_of_this_content && a.is_learned == b.is_learned;
  }
};

enum class AttemptState { kStarting, kRunning, kEnded };

struct Attempt {
  AttemptNumber number;
  Fence fence;
  DeviceKey device;
  std::string configuration;  // of the job's profile; empty = none was chosen
  AttemptState state = AttemptState::kStarting;
  AttemptEnd end;  // with kEnded
  absl::Time placed_at;
  std::optional<absl::Time> started_at;
  std::optional<absl::Time> ended_at;
  FillProgress progress;
  Instant progress_at = {};  // when `progress` was reported
  Boxed<Pace> pace = {};     // once it has settled
  // It is being stopped, or was, to make room for that job.
  std::optional<JobId> evicted_for = std::nullopt;
  // It is being stopped, or was, since a user wants the job to wait again.
  bool is_requeued = false;

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

// What a user wanted of a job, of which nothing else tells when, or why.
struct Wish {
  enum class Kind { kHold, kRelease, kRequeue, kMove, kCancel };

  Kind kind = Kind::kHold;
  absl::Time at;
  AttemptNumber attempt;  // that was live; 0 = none
  std::string text;       // the user's reason, or the device to move to; may be empty

  friend bool operator==(const Wish&, const Wish&) = default;
};
// Of one job; the oldest ones are forgotten.
inline constexpr size_t kWishesMax = 32;

struct Job {
  JobId id;
  std::string key;  // given by the client; may be empty
  // Never changes. Shared with the published views, and by an array with its tasks.
  std::shared_ptr<const JobSpec> spec;
  JobPhase phase = JobPhase::kPending;
  bool is_cancel_requested = false;
  // It is not placed: a user holds it. Also while it runs, for when it waits again.
  bool is_held = false;
  // It has failed, for it had not started in time.
  bool is_start_expired = false;
  // Attempts that failed by themselves, without the one that was followed by a larger ask.
  int32_t failures = 0;
  // Cap of the next attempt, or of the one that is live or was last. More than the spec's after an
  // attempt that ran out of it, once.
  int64_t memory_bytes = 0;
  // While kPending after a failure. Not durable: a restart of schedulerd begins the wait anew.
  std::optional<Instant> not_before;
  // Where a user wants it: its live attempt is being stopped for that, or it waits to be placed.
  // Until the next attempt is placed, wherever that is.
  std::optional<DeviceKey> move_to;
  // While kPending: the place that is being made for it. Not durable in time: as not_before.
  std::optional<Reservation> reserved;
  // Launches that nodes refused, since one was accepted.
  int32_t refusals = 0;
  int32_t array_index = 0;  // with array_of
  JobId array_of;           // the array that it is a task of; 0 = none
  // Of an array; it has no attempts itself.
  Boxed<ArrayTasks> tasks = {};
  // Why it was cancelled, if it was for that.
  Boxed<LostDependency> lost_dependency = {};
  absl::Time submitted_at;
  std::optional<absl::Time> ended_at;
  std::vector<Attempt> attempts;  // oldest first
  std::vector<Wish> wishes;       // oldest first
  // Of the next attempt, or of the one that is live or was last. Follows from durable events.
  JobProfile profile;
  // What the planner goes by; nullptr = nothing is known.
  std::shared_ptr<const std::vector<UnitNeed>> needs;

  // REQUIRES: HasLiveAttempt(phase).
  const Attempt& live_attempt() const { return attempts.back(); }
  AttemptKey live_key() const { return {id, live_attempt().number, live_attempt().fence}; }
  bool has_larger_ask() const { return memory_bytes > spec->memory_bytes; }
  // Whether any of its attempts has.
  bool has_started() const;
  // Whether its live attempt is being stopped. REQUIRES: HasLiveAttempt(phase).
  bool is_leaving() const {
    return is_cancel_requested || move_to.has_value() || live_attempt().evicted_for.has_value() ||
           live_attempt().is_requeued;
  }
  bool is_array() const { return tasks.has_value(); }
  bool is_task() const { return array_of != JobId(); }

  // Compares specs by identity, not by content.
  friend bool operator==(const Job&, const Job&) = default;
};

inline bool Job::has_started() const {
  return std::any_of(attempts.begin(), attempts.end(),
                     [](const Attempt& attempt) { return attempt.started_at.has_value(); });
}

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_H_
