// Runs a program to its end as a child of this process, and measures the memory of all its
// processes and their CPU time.
//
// Thread-compatible: changes signal handling and affinity of the process while it runs.
#ifndef CLI_PROFILE_PROFILED_PROCESS_H_
#define CLI_PROFILE_PROFILED_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"

namespace pipefill {

struct ProfiledCommand {
  std::vector<std::string> command;                // at least one word; looked up in PATH
  std::map<std::string, std::string> environment;  // over that of this process
  std::vector<int> cores;                          // empty = those of this process
};

struct ProfiledEnd {
  int exit_code = 0;
  int signal = 0;  // 0 = it returned exit_code
  absl::Duration wall;
  absl::Duration cpu;
  // Most that all processes held together, as seen every 20 ms, and not less than the most that one
  // of them ever held.
  int64_t memory_peak_bytes = 0;
};

// An interrupt from the terminal (^C) ends the program, not this process. NotFound or
// PermissionDenied: the program cannot be started. InvalidArgument: no such cores.
absl::StatusOr<ProfiledEnd> RunProfiled(const ProfiledCommand& command, const Clock& clock);

// Resident memory of `root` and all its descendants now; 0 if it is gone.
int64_t FamilyMemoryBytes(pid_t root);

}  // namespace pipefill

#endif  // CLI_PROFILE_PROFILED_PROCESS_H_
