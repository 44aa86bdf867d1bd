// Reads the description of a job from a file: JSON of proto/job_file.proto.
//
// Pure.
#ifndef CLI_JOB_FILE_H_
#define CLI_JOB_FILE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "proto/types.pb.h"

namespace pipefill {

// `origin` names the file in messages. InvalidArgument names file, line and field:
// "job.json:4: memory: not a size: ...". Relative times count from `now`. The command may be
// missing; all else is checked by schedulerd.
absl::StatusOr<v1::JobSpec> ParseJobFile(absl::string_view text, absl::string_view origin,
                                         absl::Time now);

// "2026-12-24T18:00:00Z" (RFC 3339), or from `now` on, "2h30m". InvalidArgument with an example.
absl::StatusOr<absl::Time> ParseDeadline(absl::string_view text, absl::Time now);

}  // namespace pipefill

#endif  // CLI_JOB_FILE_H_
