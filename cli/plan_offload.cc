#include "cli/plan_offload.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "common/quantity.h"
#include "planner/offload.h"

namespace pipefill {
namespace {

std::string FormatNs(int64_t ns) { return pipefill::FormatDuration(absl::Nanoseconds(ns)); }

std::string RankText(const Calendar& calendar, const OffloadQuestion& question) {
  const OffloadPlan plan =
      PlanOffload(calendar, {.bytes = question.bytes,
                             .out_bytes_per_second = question.bytes_per_second,
                             .in_bytes_per_second = question.bytes_per_second});
  if (!plan.is_hidden) {
    return absl::StrCat("not hidden: out and back take ", FormatNs(plan.out_ns + plan.in_ns), ", ",
                        FormatNs(plan.between_ns), " are between two steps; up to ",
                        FormatBytes(plan.bytes_max), " would be");
  }
  if (plan.bubble_ns == 0) {
    return absl::StrCat("hidden, but perhaps no bubble has it: out and back take ",
                        FormatNs(plan.out_ns + plan.in_ns));
  }
  return absl::StrCat("hidden; at least ", FormatNs(plan.bubble_ns),
                      " of bubbles in each iteration have it");
}

}  // namespace

std::string OffloadText(const std::vector<v1::BubbleStats>& bubbles, int64_t iteration_ns,
                        const OffloadQuestion& question) {
  std::map<int32_t, Calendar> calendars;
  for (const v1::BubbleStats& bubble : bubbles) {
    if (bubble.bubble_class() == v1::BUBBLE_CLASS_FAILURE) continue;
    Calendar& calendar = calendars[bubble.rank()];
    calendar.iteration_ns = iteration_ns;
    calendar.bubbles.push_back({.name = "", .p10_ns = bubble.p10_ns(), .p50_ns = bubble.p50_ns()});
  }
  std::string text = absl::StrCat("keeping ", FormatBytes(question.bytes),
                                  " of each rank on the host between steps, copied at ",
                                  FormatBytes(question.bytes_per_second), "/s:\n");
  for (const auto& [rank, calendar] : calendars) {
    absl::StrAppend(
        &text, "  rank ", rank, "  ",
        iteration_ns > 0 ? RankText(calendar, question) : "its iterations are not known yet", "\n");
  }
  return text;
}

}  // namespace pipefill
