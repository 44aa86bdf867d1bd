#include "agent/checkpoint_report.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

std::string ResumedFrom(const CheckpointView& view) {
  if (!view.has_hooks) return "the beginning: it has no checkpoint hooks";
  if (!view.is_resumed) return "the beginning";
  return absl::StrCat(
      "checkpoint ", view.resumed_number, " of the attempt with fence ", view.resumed_fence, ", ",
      pipefill::FormatDuration(absl::Nanoseconds(view.resumed_useful_ns)), " of work");
}

}  // namespace

void ReportCheckpoints(const CheckpointView& view, int64_t unix_offset_ns,
                       v1::FillProgress* progress) {
  progress->set_resumed_from(ResumedFrom(view));
  progress->set_checkpoints(view.saves_done);
  progress->set_checkpoint_failures(view.saves_failed);
  progress->set_checkpoint_ns(view.save_cost_ns);
  if (view.save_end_ns > 0) progress->set_checkpoint_unix_ns(unix_offset_ns + view.save_end_ns);
}

}  // namespace pipefill
