// Exit codes of all our programs; `pipefill help exit-codes` prints this table.
//
// Pure.
#ifndef COMMON_EXIT_CODE_H_
#define COMMON_EXIT_CODE_H_

#include "absl/status/status.h"

namespace pipefill {

enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,        // anything not named below
  kExitUsage = 2,          // bad flags, bad configuration, bad job file
  kExitNotFound = 3,       // no such job, file, device
  kExitDenied = 4,         // permission denied
  kExitConflict = 5,       // already in use, key re-used, wrong version, wrong state
  kExitUnavailable = 6,    // the other side is away, or the result is unknown
  kExitRefused = 7,        // a limit or policy says no; can never run
  kExitJobFailed = 10,     // `wait`: the job failed
  kExitJobCancelled = 11,  // `wait`: the job was cancelled
  kExitJobLimit = 12,      // `wait`: deadline or limit
  kExitJobLost = 13,       // `wait`: lost and not retried
  kExitTimedOut = 124,     // `wait`: not over yet
};

// InvalidArgument, OutOfRange -> 2; NotFound -> 3; PermissionDenied, Unauthenticated -> 4;
// AlreadyExists, FailedPrecondition, Aborted -> 5; Unavailable, DeadlineExceeded -> 6;
// ResourceExhausted -> 7; all other errors -> 1.
ExitCode ExitCodeFor(const absl::Status& status);

}  // namespace pipefill

#endif  // COMMON_EXIT_CODE_H_
