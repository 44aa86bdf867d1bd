// The real connection of a command to schedulerd.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_CONNECTION_H_
#define CLI_CONNECTION_H_

#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/submit/scheduler_client.h"

namespace pipefill {

inline constexpr absl::Duration kCallTimeout = absl::Seconds(10);
// For calls that are repeated anyway, while a person waits.
inline constexpr absl::Duration kWatchTimeout = absl::Milliseconds(900);

// A client of the schedulerd at `address` whose calls take at most `timeout`. With `notes`, which
// outlives it, it says there when a call has to be tried again, for a person who would otherwise
// wonder.
absl::StatusOr<std::unique_ptr<SchedulerClient>> Connect(const std::string& address,
                                                         std::ostream* notes,
                                                         absl::Duration timeout = kCallTimeout);

// In [0, 1), for jitter.
double RandomShare();

// Returns after `span`.
void PauseOnLoop(absl::Duration span);

}  // namespace pipefill

#endif  // CLI_CONNECTION_H_
