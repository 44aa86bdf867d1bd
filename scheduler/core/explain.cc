#include "scheduler/core/explain.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/quantity.h"
#include "planner/feasibility.h"
#include "scheduler/core/job_ties.h"

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
  std::string text = absl::StrCat("none of ", Count(reason.numbers.devices, "device"),
                                  " has a main job whose bubbles may be filled");
  if (reason.numbers.devices_measured > 0) {
    absl::StrAppend(&text, " (", Count(reason.numbers.devices_measured, "main rank"),
                    " in mode off or report, or paused: see `pipefill main`)");
  }
  return absl::StrCat(text, "; starts when a training run attaches in mode fill");
}

std::string ExplainResidentLimit(const PendingReason& reason) {
  return absl::StrCat("all ", Count(reason.numbers.devices_filled, "device"),
                      " with a main job are taken: ", reason.numbers.resident, " of ",
                      reason.numbers.resident_limit, " seats; starts when a task ends");
}

std::string ExplainInfeasible(const PendingReason& reason) {
  return absl::StrCat("needs ", FormatBytes(reason.need_bytes),
                      ", more than any connected device with a main job has: largest is ",
                      FormatBytes(reason.numbers.largest_bytes), " (",
                      Describe(reason.numbers.largest_device), ")");
}

std::string ExplainMemory(const PendingReason& reason) {
  return absl::StrCat("needs ", FormatBytes(reason.need_bytes),
                      "; the most that is free on a device with a free seat is ",
                      FormatBytes(reason.numbers.best_free_bytes), " (",
                      Describe(reason.numbers.best_device), ")");
}

std::string ExplainQuota(const PendingReason& reason) {
  return absl::StrCat("its tenant, ", reason.tenant, ", has ", reason.tenant_resident, " of ",
                      Count(reason.tenant_resident_max, "task"), "; starts when one ends");
}

std::string ExplainReserved(const PendingReason& reason, Instant now) {
  const absl::Duration left = std::max(reason.reserved->until - now, absl::ZeroDuration());
  return absl::StrCat("a place is being made for it by eviction (",
                      Describe(reason.reserved->device), "), and kept for ",
                      pipefill::FormatDuration(left));
}

// "its shortest units take up to 8 ms, the longest that may start there take 3 ms".
std::string Shortage(const PendingReason& reason) {
  const UnitNeed& need = reason.need_unit;
  const BubbleRoom& room = reason.misfit.room;
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
                      Shortage(reason), " (", Describe(reason.misfit.device), ")");
}

std::string ExplainHeld(const Job& job) {
  const auto hold = std::find_if(job.wishes.rbegin(), job.wishes.rend(),
                                 [](const Wish& wish) { return wish.kind == Wish::Kind::kHold; });
  std::string text = "held by a user";
  if (hold == job.wishes.rend()) {
    text = job.is_task() ? "held with its array" : "held since it was submitted";
  } else if (!hold->text.empty()) {
    absl::StrAppend(&text, ": ", hold->text);
  }
  const JobId released = hold == job.wishes.rend() && job.is_task() ? job.array_of : job.id;
  return absl::StrCat(text, "; `pipefill release ", released.value(), "` lets it start");
}

}  // namespace

std::optional<PendingReason> ReasonOf(const Job& job, const Plan& plan, Instant now) {
  if (job.id > plan.last_job) return std::nullopt;
  return ExplainWaiting({.id = job.id,
                         .memory_bytes = job.memory_bytes,
                         .not_before = job.not_before,
                         .needs = job.needs,
                         .tenant = job.spec->tenant,
                         .reserved = job.reserved},
                        plan, now);
}

std::string ExplainWaitingJob(const Job& job, const Plan& plan, Instant now) {
  if (job.is_held) return ExplainHeld(job);
  const std::optional<PendingReason> reason = ReasonOf(job, plan, now);
  if (!reason.has_value()) return "accepted; the next planning pass looks at it";
  return ExplainReason(*reason, now);
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
    case PendingCode::kInfeasible:
      return ExplainInfeasible(reason);
    case PendingCode::kQuota:
      return ExplainQuota(reason);
    case PendingCode::kReserved:
      return ExplainReserved(reason, now);
    case PendingCode::kQuarantine:
      return absl::StrCat("all ", Count(reason.numbers.devices_filled, "device"),
                          " with a main job are of nodes that refused launches lately; they are "
                          "tried again by themselves (see `pipefill nodes`)");
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
    case EndCause::kRefused:
      return "refused by its node";
    case EndCause::kMaxRuntime:
      return "stopped at its max_runtime";
  }
  return "";
}

std::string ExplainJobEnd(const Job& job) {
  if (!IsTerminal(job.phase)) return "";
  if (job.is_start_expired) {
    std::string text = absl::StrCat(
        "had not started by ",
        absl::FormatTime(absl::RFC3339_sec, *job.spec->start_before, absl::UTCTimeZone()),
        ", which its start_before asks for");
    if (job.attempts.empty()) return text;
    return absl::StrCat(text, "; its last attempt: ", ExplainEnd(job.attempts.back().end));
  }
  if (job.lost_dependency.has_value()) return ExplainLostDependency(job);
  if (job.is_array()) return DescribeArrayEnd(*job.spec->array, *job.tasks);
  if (job.attempts.empty()) return "cancelled before it started";
  const std::string end = ExplainEnd(job.attempts.back().end);
  switch (job.phase) {
    case JobPhase::kSucceeded:
      return end;
    case JobPhase::kCancelled:
      if (job.attempts.back().end.cause == EndCause::kCancelled) return "cancelled by the user";
      return absl::StrCat("cancelled by the user; its last attempt: ", end);
    default:
      if (job.spec->retries == 0 || job.attempts.back().end.cause == EndCause::kMaxRuntime) {
        return end;
      }
      return absl::StrCat(end, "; its ", Count(job.failures, "attempt"), " all failed");
  }
}

}  // namespace pipefill::scheduler
