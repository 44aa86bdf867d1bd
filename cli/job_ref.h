// Jobs as users name them: "12", or "12_7" for the task with index 7 of array 12.
//
// Thread-compatible: runs on the thread of its command.
#ifndef CLI_JOB_REF_H_
#define CLI_JOB_REF_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/submit/scheduler_client.h"
#include "common/ids.h"

namespace pipefill {

struct JobRef {
  JobId job;
  std::optional<int32_t> index = std::nullopt;
};

// InvalidArgument, with where to look.
absl::StatusOr<JobRef> ParseJobRef(absl::string_view text);
// The job, or the task; asks only where an index is named. NotFound: no such array or index.
absl::StatusOr<JobId> ResolveJob(SchedulerClient& client, const JobRef& ref);

}  // namespace pipefill

#endif  // CLI_JOB_REF_H_
