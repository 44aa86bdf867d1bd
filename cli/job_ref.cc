#include "cli/job_ref.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/array_text.h"
#include "cli/options.h"
#include "common/status.h"

namespace pipefill {

absl::StatusOr<JobRef> ParseJobRef(absl::string_view text) {
  const size_t line = text.find('_');
  JobRef ref;
  ASSIGN_OR_RETURN(ref.job, ParseJobId(text.substr(0, line)));
  if (line == absl::string_view::npos) return ref;
  int32_t index = 0;
  if (!absl::SimpleAtoi(text.substr(line + 1), &index) || index < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("not a task of an array: ", text, "; write JOB_INDEX, as 12_7"));
  }
  ref.index = index;
  return ref;
}

absl::StatusOr<JobId> ResolveJob(SchedulerClient& client, const JobRef& ref) {
  if (!ref.index.has_value()) return ref.job;
  ASSIGN_OR_RETURN(const v1::Job job, client.GetJob(ref.job));
  if (!job.has_array()) {
    return absl::NotFoundError(
        absl::StrCat("job ", job.id(), " is no array and has no task ", *ref.index));
  }
  const std::optional<int64_t> place = FindPlace(job.spec().array(), *ref.index);
  if (place.has_value()) return JobId(job.id() + 1 + *place);
  return absl::NotFoundError(absl::StrCat("array ", job.id(), " has no index ", *ref.index,
                                          ", only ", FormatArray(job.spec().array())));
}

}  // namespace pipefill
