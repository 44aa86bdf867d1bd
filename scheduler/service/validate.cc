#include "scheduler/service/validate.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/quantity.h"
#include "common/status.h"
#include "scheduler/convert/convert.h"

namespace pipefill::scheduler {
namespace {

constexpr size_t kKeyMax = 128;
constexpr size_t kNameMax = 128;
constexpr size_t kMainJobMax = 127;
constexpr int kCommandMax = 1024;
constexpr int32_t kRetriesMax = 100;
constexpr int64_t kPriorityMax = 1000;
constexpr size_t kTenantMax = 64;
constexpr int32_t kPageDefault = 100;
constexpr int32_t kContentDefault = 256 << 10;
constexpr int32_t kContentMax = 1 << 20;

absl::Status Bad(absl::string_view field, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", text));
}

bool IsNameCharacter(char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; }

bool IsVariableName(const std::string& name) {
  if (name.empty() || absl::ascii_isdigit(name[0])) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

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
    return Bad("spec.devices", absl::StrCat(spec.devices(),
                                            " devices asked, but this version runs a job on one "
                                            "device; leave it out or set 1"));
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
  return read;
}

absl::Status CheckIds(absl::string_view field, int64_t ids, const Limits& room) {
  if (ids <= room.ids_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      field, ": ", ids, " in one call, more than ids_max, ", room.ids_max, "; send several calls"));
}

absl::StatusOr<JobPageRequest> ReadPageRequest(const v1::ListJobsRequest& request,
                                               const Limits& room) {
  if (request.limit() < 0 || request.limit() > room.page_max) {
    return Bad("limit", absl::StrCat(request.limit(), " is not in 0..page_max, ", room.page_max,
                                     "; go on from next_cursor for more"));
  }
  if (request.cursor() < 0) return Bad("cursor", "is negative; use next_cursor of the page before");
  const int64_t limit =
      request.limit() == 0 ? std::min<int64_t>(kPageDefault, room.page_max) : request.limit();
  return JobPageRequest{.limit = static_cast<size_t>(limit),
                        .cursor = JobId(request.cursor()),
                        .is_active_only = request.active_only()};
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
