#include "scheduler/core/explain.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/quantity.h"

namespace pipefill::scheduler {
namespace {

std::string Describe(const DeviceKey& device) {
  return absl::StrCat("node ", device.node, ", ", device.name);
}

// "1 device", "2 devices".
std::string Count(int64_t count, absl::string_view noun) {
  return absl::StrCat(count, " ", noun, count == 1 ? "" : "s");
}

std::string ExplainBackOff(const PendingReason& reason, Instant now) {
  const absl::Duration left = std::max(*reason.not_before - now, absl::ZeroDuration());
  return absl::StrCat("the last attempt failed; the next one may start in ",
                      pipefill::FormatDuration(left));
}

std::string ExplainNoMainJob(const PendingReason& reason) {
  std::string text = absl::StrCat("none of ", Count(reason.devices, "device"),
                                  " has a main job whose bubbles may be filled");
  if (reason.devices_measured > 0) {
    absl::StrAppend(&text, " (", Count(reason.devices_measured, "main rank"),
                    " in mode off or report, or paused: see `pipefill main`)");
  }
  return absl::StrCat(text, "; starts when a training run attaches in mode fill");
}

std::string ExplainResidentLimit(const PendingReason& reason) {
  return absl::StrCat("all ", Count(reason.devices_filled, "device"),
                      " with a main job are taken: ", reason.resident, " of ",
                      reason.resident_limit, " seats; starts when a task ends");
}

std::string ExplainMemory(const PendingReason& reason) {
  if (reason.need_bytes > reason.largest_bytes) {
    return absl::StrCat("needs ", FormatBytes(reason.need_bytes),
                        ", more than any connected device with a main job has: largest is ",
                        FormatBytes(reason.largest_bytes), " (", Describe(reason.largest_device),
                        ")");
  }
  return absl::StrCat("needs ", FormatBytes(reason.need_bytes),
                      "; the most that is free on a device with a free seat is ",
                      FormatBytes(reason.best_free_bytes), " (", Describe(reason.best_device), ")");
}

// "its shortest units take up to 8 ms, the longest that may start there take 3 ms".
std::string Shortage(const PendingReason& reason) {
  const UnitNeed& need = reason.need_unit;
  const BubbleRoom& room = reason.best_room;
  if (need.unit_ns > room.longest_unit_ns) {
    return absl::StrCat("its shortest units take up to ",
                        pipefill::FormatDuration(absl::Nanoseconds(need.unit_ns)),
                        ", the longest that may start there take ",
                        pipefill::FormatDuration(absl::Nanoseconds(room.longest_unit_ns)));
  }
  const int64_t cap_bytes = reason.need_bytes;
  const bool is_resident = need.resident_bytes > std::min(room.least_bytes, cap_bytes);
  const int64_t need_bytes = is_resident ? need.resident_bytes : need.peak_bytes;
  const int64_t room_bytes = is_resident ? room.least_bytes : room.most_bytes;
  return absl::StrCat("the smallest one needs ", FormatBytes(need_bytes), ", and ",
                      room_bytes < cap_bytes
                          ? absl::StrCat(FormatBytes(room_bytes), " is free in them")
                          : absl::StrCat("the job's cap is ", FormatBytes(cap_bytes)));
}

std::string ExplainNoBubbleFits(const PendingReason& reason) {
  return absl::StrCat("no configuration of its profile fits the bubbles of any device: ",
                      Shortage(reason), " (", Describe(reason.best_device), ")");
}

}  // namespace

std::string ExplainWaitingJob(const Plan& plan, JobId job, Instant now) {
  const std::optional<size_t> place = plan.PlaceInLine(job);
  if (!place.has_value()) return "accepted; the next planning pass looks at it";
  return absl::StrCat(ExplainReason(plan.reasons[plan.waiting[*place].reason], now), "; ",
                      *place + 1, " of ", plan.waiting.size(), " in line");
}

std::string ExplainReason(const PendingReason& reason, Instant now) {
  switch (reason.code) {
    case PendingCode::kBackOff:
      return ExplainBackOff(reason, now);
    case PendingCode::kNoAgent:
      return "no agent is connected; start agentd with this schedulerd's address";
    case PendingCode::kNoMainJob:
      return ExplainNoMainJob(reason);
    case PendingCode::kResidentLimit:
      return ExplainResidentLimit(reason);
    case PendingCode::kMemory:
      return ExplainMemory(reason);
    case PendingCode::kNoBubbleFits:
      return ExplainNoBubbleFits(reason);
  }
  return "";
}

std::string ExplainEnd(const AttemptEnd& end) {
  if (!end.text.empty()) return end.text;
  switch (end.cause) {
    case EndCause::kUnknown:
      return "ended for a reason that this schedulerd does not know";
    case EndCause::kExited:
      return absl::StrCat("exit code ", end.exit_code);
    case EndCause::kSignalled:
      return absl::StrCat("ended by signal ", end.signal);
    case EndCause::kOutOfMemory:
      return "out of memory";
    case EndCause::kLaunchFailed:
      return "could not be started";
    case EndCause::kCancelled:
      return "stopped on request";
    case EndCause::kLost:
      return "lost with its agent";
  }
  return "";
}

std::string ExplainJobEnd(const Job& job) {
  if (!IsTerminal(job.phase)) return "";
  if (job.attempts.empty()) return "cancelled before it started";
  const std::string end = ExplainEnd(job.attempts.back().end);
  switch (job.phase) {
    case JobPhase::kSucceeded:
      return end;
    case JobPhase::kCancelled:
      if (job.attempts.back().end.cause == EndCause::kCancelled) return "cancelled by the user";
      return absl::StrCat("cancelled by the user; its last attempt: ", end);
    default:
      if (job.spec->retries == 0) return end;
      return absl::StrCat(end, "; its ", Count(job.failures, "attempt"), " all failed");
  }
}

}  // namespace pipefill::scheduler
