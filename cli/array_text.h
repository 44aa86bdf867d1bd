// Arrays as users write and read them: "0-99", "0-10:2", "1,5,7-9", "0-99999%50".
//
// Pure.
#ifndef CLI_ARRAY_TEXT_H_
#define CLI_ARRAY_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/types.pb.h"

namespace pipefill {

// Ranges FIRST-LAST or FIRST-LAST:STEP and single indexes, with commas between, and at the end %N
// for at most N tasks at a time. InvalidArgument says which part is none; schedulerd checks limits.
absl::StatusOr<v1::ArraySpec> ParseArray(absl::string_view text);
std::string FormatArray(const v1::ArraySpec& array);

// How many tasks there are.
int64_t CountTasks(const v1::ArraySpec& array);
// Which task, from 0, has that index; nullopt if none has.
std::optional<int64_t> FindPlace(const v1::ArraySpec& array, int32_t index);

// "37/100,000 done, 2 failed, 50 running".
std::string ArrayProgress(const v1::ArrayStatus& status);

// Adds to `spec` that the job depends on these: "12", "12,14". InvalidArgument: not numbers of
// jobs.
absl::Status AddDependencies(absl::string_view jobs, v1::DependencyCondition condition,
                             v1::JobSpec* spec);
// "job 12 (ok), job 14 (any)"; "" if there are none.
std::string FormatDependencies(const v1::JobSpec& spec);

}  // namespace pipefill

#endif  // CLI_ARRAY_TEXT_H_
