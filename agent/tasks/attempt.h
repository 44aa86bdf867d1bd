// The nouns of this folder: what an attempt is, what it is to run, and how it ended.
//
// They mirror pipefill.v1 (agent/convert.h turns one into the other), so that decisions do not
// depend on the wire.
//
// Pure data.
#ifndef AGENT_TASKS_ATTEMPT_H_
#define AGENT_TASKS_ATTEMPT_H_

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/ids.h"

namespace pipefill {

struct AttemptKey {
  JobId job;
  AttemptNumber attempt;
  Fence fence;
  friend auto operator<=>(const AttemptKey&, const AttemptKey&) = default;
};

// For logs.
inline std::string Describe(const AttemptKey& key) {
  return absl::StrCat("job=", key.job.value(), " attempt=", key.attempt.value(),
                      " fence=", key.fence.value());
}

// Names one process for ever: numbers of processes are used again.
struct ProcessId {
  pid_t pid = 0;  // 0 = none
  uint64_t start_ticks = 0;
  friend bool operator==(const ProcessId&, const ProcessId&) = default;
};

// How the attempt is held to bubbles. Values equal those of pipefill.v1.FillWay.
enum class FillWay {
  kSdk = 1,      // by its program
  kProcess = 2,  // by the process gate, which stops all its processes
};

// What to run. All limits have been checked by whoever made it.
struct AttemptSpec {
  AttemptKey key;
  std::string job_name;
  std::string device;
  std::vector<std::string> command;        // at least one; the first is looked up in PATH
  std::map<std::string, std::string> env;  // of the user
  std::string config = {};                 // JSON: what the task is to do; empty = its defaults
  std::string workdir;                     // absolute; empty = the attempt's own folder
  int64_t memory_bytes = 0;                // cap on the resident memory of all its processes
  int32_t policy_rank = 0;  // among tasks of a device: lower goes first, equal ones share alike
  FillWay way = FillWay::kSdk;
  int64_t job_submitted_unix_ns = 0;  // names, with the job's id, its folder of checkpoints
  absl::Duration max_runtime = absl::InfiniteDuration();
};

// Values equal those of pipefill.v1.EndCause.
enum class EndCause {
  kExited = 1,
  kSignalled = 2,
  kOutOfMemory = 3,
  kLaunchFailed = 4,
  kCancelled = 5,
  kLost = 6,
  kRefused = 9,  // the node could not take it; not the job's fault
  kMaxRuntime = 10,
};

struct AttemptEnd {
  EndCause cause = EndCause::kExited;
  int exit_code = 0;      // with kExited; also with kCancelled and kLost if it left by itself
  int signal = 0;         // the signal that ended the process, if one did
  std::string text = {};  // one line for people
};

// How the leader of a task's processes ended.
struct ProcessExit {
  int exit_code = 0;
  int signal = 0;  // 0 = it returned exit_code
  // Why its log ends early; empty = it does not.
  std::string log_error = {};
};

}  // namespace pipefill

#endif  // AGENT_TASKS_ATTEMPT_H_
