#include "scheduler/service/validate.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/plan_stages.h"
#include "common/quantity.h"
#include "common/status.h"
#include "common/variable_name.h"
#include "scheduler/convert/convert.h"
#include "scheduler/core/labels.h"

namespace pipefill::scheduler {
namespace {

constexpr size_t kKeyMax = 128;
constexpr size_t kNameMax = 128;
constexpr size_t kMainJobMax = 127;
constexpr int kCommandMax = 1024;
constexpr int32_t kRetriesMax = 100;
constexpr int64_t kPriorityMax = 1000;
constexpr size_t kTenantMax = 64;
constexpr int64_t kMaxRuntimeLeastNs = 1'000'000'000;
constexpr int32_t kPageDefault = 100;
constexpr size_t kControlMax = 10'000;  // jobs of one transaction
constexpr size_t kReasonMax = 256;
constexpr int32_t kContentDefault = 256 << 10;
constexpr int32_t kContentMax = 1 << 20;

absl::Status Bad(absl::string_view field, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", text));
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; }

bool HasNul(const std::string& text) { return text.find('\0') != std::string::npos; }

absl::Status CheckName(const std::string& name) {
  if (name.size() > kNameMax) return Bad("spec.name", "is longer than 128 characters");
  if (std::all_of(name.begin(), name.end(), IsNameCharacter)) return absl::OkStatus();
  return Bad("spec.name",
             absl::StrCat("\"", name, "\" may hold letters, digits, '.', '_' and '-' only"));
}

absl::Status CheckCommand(const v1::JobSpec& spec) {
  if (spec.command().empty() || spec.command(0).empty()) {
    return Bad("spec.command", "is missing; name the program to run");
  }
  if (spec.command_size() > kCommandMax) return Bad("spec.command", "has more than 1024 entries");
  for (const std::string& argument : spec.command()) {
    if (HasNul(argument)) return Bad("spec.command", "holds a NUL byte");
  }
  return absl::OkStatus();
}

absl::Status CheckEnvironment(const v1::JobSpec& spec) {
  for (const auto& [name, value] : spec.env()) {
    if (!IsVariableName(name)) {
      return Bad("spec.env",
                 absl::StrCat("\"", name, "\" is no variable name ([A-Za-z_][A-Za-z0-9_]*)"));
    }
    if (HasNul(value)) return Bad("spec.env", absl::StrCat(name, " holds a NUL byte"));
  }
  return absl::OkStatus();
}

absl::Status CheckWorkdir(const std::string& workdir) {
  if (workdir.empty()) return absl::OkStatus();
  if (workdir[0] != '/') {
    return Bad("spec.workdir", absl::StrCat("\"", workdir, "\" is not an absolute path"));
  }
  return HasNul(workdir) ? Bad("spec.workdir", "holds a NUL byte") : absl::OkStatus();
}

absl::Status CheckNumbers(const v1::JobSpec& spec) {
  if (spec.memory_bytes() < 0) return Bad("spec.memory_bytes", "is negative");
  if (spec.devices() < 0) return Bad("spec.devices", "is negative");
  if (spec.devices() > 1) {
    return Bad("spec.devices",
               absl::StrCat(spec.devices(),
                            " devices asked, but this version runs a job on one device: gangs, "
                            "several devices at the same time, are not there yet; leave it out or "
                            "set 1"));
  }
  if (spec.retries() < 0 || spec.retries() > kRetriesMax) {
    return Bad("spec.retries", absl::StrCat(spec.retries(), " is not in 0..", kRetriesMax));
  }
  return absl::OkStatus();
}

absl::Status CheckPlanning(const v1::JobSpec& spec) {
  if (std::abs(int64_t{spec.priority()}) > kPriorityMax) {
    return Bad("spec.priority",
               absl::StrCat(spec.priority(), " is not in -", kPriorityMax, "..", kPriorityMax));
  }
  const std::string& tenant = spec.tenant();
  if (tenant.size() > kTenantMax || !std::all_of(tenant.begin(), tenant.end(), IsNameCharacter)) {
    return Bad("spec.tenant",
               absl::StrCat("\"", tenant, "\" is not 1..64 characters of [A-Za-z0-9._-]"));
  }
  if (spec.deadline_unix_ns() < 0) return Bad("spec.deadline_unix_ns", "is before 1970");
  if (spec.min_runtime_ns() < 0) return Bad("spec.min_runtime_ns", "is negative");
  if (spec.max_runtime_ns() != 0 && spec.max_runtime_ns() < kMaxRuntimeLeastNs) {
    return Bad("spec.max_runtime_ns",
               "is less than 1 s; leave it out to let attempts run for ever");
  }
  if (spec.start_before_unix_ns() < 0) return Bad("spec.start_before_unix_ns", "is before 1970");
  return WithContext(CheckLabels({spec.labels().begin(), spec.labels().end()}), "spec.labels");
}

absl::StatusOr<Selector> ReadSelector(const std::string& text) {
  absl::StatusOr<Selector> selector = Selector::Parse(text);
  if (!selector.ok()) return WithContext(selector.status(), "selector");
  return selector;
}

// Each phase once, however often `states` names it; they may be values that a newer client knows.
absl::StatusOr<std::vector<JobPhase>> ReadPhases(
    const google::protobuf::RepeatedField<int>& states) {
  for (const int state : states) {
    const bool is_known = state != v1::JOB_STATE_UNSPECIFIED && v1::JobState_IsValid(state);
    if (is_known) continue;
    return Bad("states", absl::StrCat(state,
                                      " is none: PENDING, RUNNING, SUCCEEDED, FAILED or "
                                      "CANCELLED"));
  }
  std::vector<JobPhase> phases;
  std::copy_if(kAllJobPhases.begin(), kAllJobPhases.end(), std::back_inserter(phases),
               [&](JobPhase phase) {
                 return std::find(states.begin(), states.end(), StateOf(phase)) != states.end();
               });
  return phases;
}

// Whether what is named exists is for the loop to say.
absl::Status CheckConditions(const v1::JobSpec& spec) {
  for (const v1::Dependency& dependency : spec.dependencies()) {
    if (dependency.job_id() <= 0) return Bad("spec.dependencies", "job_id is missing");
    const bool is_known = v1::DependencyCondition_IsValid(dependency.condition()) &&
                          dependency.condition() != v1::DEPENDENCY_CONDITION_UNSPECIFIED;
    if (!is_known) return Bad("spec.dependencies", "the condition is not OK, ANY or NOT_OK");
  }
  return absl::OkStatus();
}

absl::Status CheckArrayOf(const JobSpec& spec, int64_t tasks_max) {
  if (!spec.array.has_value()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckArray(*spec.array, tasks_max));
  RETURN_IF_ERROR(CheckIndexesDiffer(*spec.array));
  for (const char* name : {"PIPEFILL_ARRAY_ID", "PIPEFILL_ARRAY_INDEX", "PIPEFILL_ARRAY_COUNT"}) {
    if (!spec.env.contains(name)) continue;
    return Bad("spec.env", absl::StrCat(name, " is set by pipefill for the tasks of an array"));
  }
  return absl::OkStatus();
}

// As agentd accepts it from a rank.
absl::Status CheckMainJobName(const std::string& name) {
  const bool is_printable = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isprint(static_cast<uint8_t>(c));
  });
  if (!name.empty() && name.size() <= kMainJobMax && is_printable) return absl::OkStatus();
  return Bad("main_job", absl::StrCat("is not 1..", kMainJobMax, " printable ASCII characters"));
}

absl::Status CheckPpm(absl::string_view field, uint32_t value) {
  if (value <= kPpm) return absl::OkStatus();
  return Bad(field, absl::StrCat(value, " is more than the whole, ", kPpm));
}

bool IsEmpty(const MainJobChange& change) {
  return !change.mode.has_value() && !change.budget_ppm.has_value() &&
         !change.is_paused.has_value() && !change.static_share_ppm.has_value();
}

// The file name of the program, without what a name may not hold.
std::string NameFor(const std::string& program) {
  std::string name = program.substr(program.rfind('/') + 1).substr(0, kNameMax);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !IsNameCharacter(c); }, '_');
  return name.empty() ? "job" : name;
}

}  // namespace

absl::StatusOr<JobSpec> ReadSpec(const v1::SubmitJobRequest& request, const SpecLimits& limits) {
  if (request.key().size() > kKeyMax) return Bad("key", "is longer than 128 bytes");
  const v1::JobSpec& spec = request.spec();
  const auto size_bytes = static_cast<int64_t>(spec.ByteSizeLong());
  if (size_bytes > limits.spec_max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "spec: ", FormatBytes(size_bytes), " is more than spec_max, ",
        FormatBytes(limits.spec_max_bytes), "; put large arguments into a file on the node"));
  }
  RETURN_IF_ERROR(CheckName(spec.name()));
  RETURN_IF_ERROR(CheckCommand(spec));
  RETURN_IF_ERROR(CheckEnvironment(spec));
  RETURN_IF_ERROR(CheckWorkdir(spec.workdir()));
  RETURN_IF_ERROR(CheckNumbers(spec));
  RETURN_IF_ERROR(CheckPlanning(spec));
  RETURN_IF_ERROR(CheckConditions(spec));
  // A newer client may know more ways.
  if (!v1::FillWay_IsValid(spec.way())) {
    return Bad("spec.way",
               absl::StrCat(static_cast<int>(spec.way()), " is not known: SDK or PROCESS"));
  }
  JobSpec read = FromProto(spec);
  if (read.name.empty()) read.name = NameFor(read.command[0]);
  if (read.memory_bytes == 0) read.memory_bytes = limits.default_memory_bytes;
  if (read.devices == 0) read.devices = 1;
  if (!spec.has_min_runtime_ns()) read.min_runtime = limits.default_min_runtime;
  RETURN_IF_ERROR(WithContext(CheckProfile(read.profile), "spec"));
  if (read.way == FillWay::kUnspecified) read.way = FillWay::kSdk;
  RETURN_IF_ERROR(CheckArrayOf(read, limits.array_tasks_max));
  return read;
}

absl::Status CheckIds(absl::string_view field, int64_t ids, const Limits& room) {
  if (ids <= room.ids_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      field, ": ", ids, " in one call, more than ids_max, ", room.ids_max, "; send several calls"));
}

absl::StatusOr<JobPlanRequest> ReadPlanRequest(const v1::PlanJobRequest& request,
                                               const SpecLimits& limits) {
  if (request.candidates_max() < 0 || request.candidates_max() > kPlanStagesMax) {
    return Bad("candidates_max",
               absl::StrCat(request.candidates_max(), " is not in 0..", kPlanStagesMax));
  }
  v1::SubmitJobRequest submission;
  *submission.mutable_spec() = request.spec();
  JobPlanRequest read;
  ASSIGN_OR_RETURN(read.spec, ReadSpec(submission, limits));
  if (request.candidates_max() > 0) {
    read.candidates_max = static_cast<size_t>(request.candidates_max());
  }
  return read;
}

absl::StatusOr<JobPageRequest> ReadPageRequest(const v1::ListJobsRequest& request,
                                               const Limits& room) {
  if (request.limit() < 0 || request.limit() > room.page_max) {
    return Bad("limit", absl::StrCat(request.limit(), " is not in 0..page_max, ", room.page_max,
                                     "; go on from next_cursor for more"));
  }
  if (request.array_id() < 0) return Bad("array_id", "is negative");
  if (request.cursor() < 0) return Bad("cursor", "is negative; use next_cursor of the page before");
  const int64_t limit =
      request.limit() == 0 ? std::min<int64_t>(kPageDefault, room.page_max) : request.limit();
  JobPageRequest page{.limit = static_cast<size_t>(limit),
                      .cursor = JobId(request.cursor()),
                      .array = JobId(request.array_id())};
  ASSIGN_OR_RETURN(page.filter.selector, ReadSelector(request.selector()));
  ASSIGN_OR_RETURN(page.filter.phases, ReadPhases(request.states()));
  page.filter.tenant = request.tenant();
  page.filter.name = request.name();
  page.filter.is_held_only = request.held_only();
  if (!request.active_only()) return page;
  std::erase_if(page.filter.phases, [](JobPhase phase) { return IsTerminal(phase); });
  if (request.states().empty()) page.filter.phases = ActivePhases();
  if (page.filter.phases.empty()) {
    return Bad("states", "none of them is active; leave out active_only");
  }
  return page;
}

absl::StatusOr<JobPageRequest> ReadControlFilter(const v1::ControlJobsRequest& request) {
  if (request.cursor() < 0)
    return Bad("cursor", "is negative; use next_cursor of the answer before");
  JobPageRequest page{.limit = kControlMax, .cursor = JobId(request.cursor())};
  // All that there are: jobs_max bounds them, and a verb for many is rare.
  page.looks_max = std::numeric_limits<size_t>::max();
  const v1::JobFilter& filter = request.filter();
  ASSIGN_OR_RETURN(page.filter.selector, ReadSelector(filter.selector()));
  ASSIGN_OR_RETURN(page.filter.phases, ReadPhases(filter.states()));
  const auto over = std::find_if(page.filter.phases.begin(), page.filter.phases.end(), IsTerminal);
  if (over != page.filter.phases.end()) {
    return Bad("filter.states", absl::StrCat("jobs that have ", PhaseName(*over),
                                             " are over; name PENDING or RUNNING"));
  }
  if (page.filter.phases.empty()) page.filter.phases = ActivePhases();
  page.filter.tenant = filter.tenant();
  page.filter.name = filter.name();
  page.filter.is_held_only = filter.held_only();
  return page;
}

absl::StatusOr<JobVerb> ReadControl(const v1::ControlJobsRequest& request, const Limits& room) {
  if (request.reason().size() > kReasonMax) {
    return Bad("reason", absl::StrCat("is longer than ", kReasonMax, " bytes"));
  }
  if (request.reason().find_first_of("\n\r") != std::string::npos || HasNul(request.reason())) {
    return Bad("reason", "is not one line");
  }
  if (request.job_ids().empty() && !request.has_filter()) {
    return absl::InvalidArgumentError("job_ids, filter: name jobs, or a filter");
  }
  if (!request.job_ids().empty() && request.has_filter()) {
    return absl::InvalidArgumentError("job_ids, filter: give one of them, not both");
  }
  RETURN_IF_ERROR(CheckIds("job_ids", request.job_ids_size(), room));
  switch (request.verb()) {
    case v1::JOB_VERB_CANCEL:
      return JobVerb::kCancel;
    case v1::JOB_VERB_HOLD:
      return JobVerb::kHold;
    case v1::JOB_VERB_RELEASE:
      return JobVerb::kRelease;
    case v1::JOB_VERB_REQUEUE:
      return JobVerb::kRequeue;
    default:
      return Bad("verb", "is missing or not known: CANCEL, HOLD, RELEASE or REQUEUE");
  }
}

absl::StatusOr<WatchFilter> ReadWatchFilter(const v1::WatchJobsRequest& request,
                                            const Limits& room) {
  RETURN_IF_ERROR(CheckIds("job_ids", request.job_ids_size(), room));
  WatchFilter filter = {
      .jobs = {}, .is_active_only = request.active_only(), .tenant = request.tenant()};
  for (int64_t id : request.job_ids()) {
    if (id <= 0) return Bad("job_ids", absl::StrCat(id, " is no job"));
    filter.jobs.push_back(JobId(id));
  }
  std::sort(filter.jobs.begin(), filter.jobs.end());
  filter.jobs.erase(std::unique(filter.jobs.begin(), filter.jobs.end()), filter.jobs.end());
  return filter;
}

absl::StatusOr<MainJobChange> ReadMainJobChange(const v1::UpdateMainJobRequest& request) {
  RETURN_IF_ERROR(CheckMainJobName(request.main_job()));
  MainJobChange change;
  change.main_job = request.main_job();
  if (request.has_mode()) {
    // A newer client may know more modes.
    if (!v1::FillMode_IsValid(request.mode())) {
      return Bad("mode", absl::StrCat(static_cast<int>(request.mode()),
                                      " is not known: UNSPECIFIED, OFF, REPORT or FILL"));
    }
    change.mode = FromProto(request.mode());
  }
  if (request.has_budget_ppm()) {
    RETURN_IF_ERROR(CheckPpm("budget_ppm", request.budget_ppm()));
    change.budget_ppm = request.budget_ppm();
  }
  if (request.has_static_share_ppm()) {
    RETURN_IF_ERROR(CheckPpm("static_share_ppm", request.static_share_ppm()));
    change.static_share_ppm = request.static_share_ppm();
  }
  if (request.has_paused()) change.is_paused = request.paused();
  if (IsEmpty(change)) {
    return absl::InvalidArgumentError(
        "nothing to change; name mode, budget_ppm, paused or static_share_ppm");
  }
  return change;
}

absl::StatusOr<v1::ReadContentRequest> ReadContentSpec(const v1::ReadContentRequest& request) {
  v1::ReadContentRequest read = request;
  switch (request.kind()) {
    case v1::CONTENT_KIND_STDOUT:
    case v1::CONTENT_KIND_STDERR:
      if (request.job_id() <= 0) return Bad("job_id", "is missing; logs belong to a job");
      if (request.attempt() < 0) return Bad("attempt", "is negative; 0 is the latest");
      break;
    case v1::CONTENT_KIND_TRACE:
      if (request.node().empty()) return Bad("node", "is missing; traces belong to a node");
      break;
    default:
      return Bad("kind", "is missing or not known: STDOUT, STDERR or TRACE");
  }
  if (request.offset() < 0) return Bad("offset", "is negative");
  if (request.since_unix_ns() < 0) return Bad("since_unix_ns", "is negative");
  if (request.limit() < 0 || request.limit() > kContentMax) {
    return Bad("limit", absl::StrCat(request.limit(), " is not in 0..", kContentMax));
  }
  if (read.limit() == 0) read.set_limit(kContentDefault);
  return read;
}

}  // namespace pipefill::scheduler
