// `pipefill wait JOB`: waits until a job is over; its exit code says how the job ended.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_JOB_WAIT_H_
#define CLI_JOB_WAIT_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/command.h"
#include "cli/options.h"
#include "client/submit/scheduler_client.h"
#include "common/exit_code.h"
#include "common/ids.h"

namespace pipefill {

void AddWaitCommand(CLI::App& parent, CommandSet& commands);

struct WaitLimits {
  // Absent = as long as it takes.
  std::optional<absl::Duration> timeout = std::nullopt;
  // How often a job that is not over is looked at, to tell the user why it waits.
  absl::Duration look_every = absl::Seconds(2);
  // A schedulerd that was there at first may be away for this long, to be restarted.
  absl::Duration away_max = absl::Minutes(5);
};

// Tells on `err` what the job waits for, once per change; prints the end on `out` in `format`.
// Returns ExitCodeOf the job, or kExitTimedOut. Unavailable if schedulerd stays away.
absl::StatusOr<ExitCode> WaitForJob(CommandContext& context, SchedulerClient& client, JobId id,
                                    const WaitLimits& limits, OutputFormat format);

}  // namespace pipefill

#endif  // CLI_JOB_WAIT_H_
