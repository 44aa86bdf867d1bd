#include "cli/job_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/array_text.h"
#include "common/config.h"
#include "common/quantity.h"
#include "common/status.h"
#include "proto/job_file.pb.h"

namespace pipefill {
namespace {

// Past the comment line that starts at `begin`, or `begin` if none does.
size_t SkipComment(absl::string_view text, size_t begin) {
  const size_t first = text.find_first_not_of(" \t\r", begin);
  if (first == absl::string_view::npos || text.substr(first, 2) != "//") return begin;
  return std::min(text.find('\n', first), text.size());
}

// Line, from 1, of the outermost object's field `name` in `text`, which has been parsed and has it.
int LineOfField(absl::string_view text, absl::string_view name) {
  int depth = 0;
  size_t string_begin = absl::string_view::npos;  // behind the quote, while inside a string
  for (size_t i = SkipComment(text, 0); i < text.size(); ++i) {
    if (string_begin != absl::string_view::npos) {
      if (text[i] == '\\') {
        ++i;  // past what it escapes
        continue;
      }
      if (text[i] != '"') continue;
      const bool is_field = depth == 1 && text.substr(string_begin, i - string_begin) == name;
      string_begin = absl::string_view::npos;
      const size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (!is_field || next == absl::string_view::npos || text[next] != ':') continue;
      return 1 + static_cast<int>(std::count(text.begin(), text.begin() + i, '\n'));
    }
    if (text[i] == '"') string_begin = i + 1;
    if (text[i] == '\n') {
      i = SkipComment(text, i + 1) - 1;
      continue;
    }
    if (text[i] == '{' || text[i] == '[') ++depth;
    if (text[i] == '}' || text[i] == ']') --depth;
  }
  return 1;
}

// Of the field `name`.
absl::Status AtField(const absl::Status& status, absl::string_view text, absl::string_view origin,
                     absl::string_view name) {
  return WithContext(status, absl::StrCat(origin, ":", LineOfField(text, name), ": ", name));
}

struct Source {
  absl::string_view text;
  absl::string_view origin;
};

// What decides when it is the job's turn.
absl::Status ReadPlanning(const v1::JobFile& file, const Source& source, absl::Time now,
                          v1::JobSpec* spec) {
  spec->set_priority(file.priority());
  spec->set_tenant(file.tenant());
  spec->set_not_evictable(file.has_evictable() && !file.evictable());
  spec->set_allow_infeasible(file.allow_infeasible());
  spec->set_hold(file.hold());
  if (!file.deadline().empty()) {
    const absl::StatusOr<absl::Time> deadline = ParseDeadline(file.deadline(), now);
    if (!deadline.ok()) return AtField(deadline.status(), source.text, source.origin, "deadline");
    spec->set_deadline_unix_ns(absl::ToUnixNanos(*deadline));
  }
  if (!file.max_runtime().empty()) {
    const absl::StatusOr<absl::Duration> longest = ParsePositiveDuration(file.max_runtime());
    if (!longest.ok()) return AtField(longest.status(), source.text, source.origin, "max_runtime");
    spec->set_max_runtime_ns(absl::ToInt64Nanoseconds(*longest));
  }
  if (!file.start_before().empty()) {
    const absl::StatusOr<absl::Time> start = ParseDeadline(file.start_before(), now);
    if (!start.ok()) return AtField(start.status(), source.text, source.origin, "start_before");
    spec->set_start_before_unix_ns(absl::ToUnixNanos(*start));
  }
  if (file.min_runtime().empty()) return absl::OkStatus();
  const absl::StatusOr<absl::Duration> least = ParsePositiveDuration(file.min_runtime());
  if (!least.ok()) return AtField(least.status(), source.text, source.origin, "min_runtime");
  spec->set_min_runtime_ns(absl::ToInt64Nanoseconds(*least));
  return absl::OkStatus();
}

// Its array and what it depends on.
absl::Status ReadTies(const v1::JobFile& file, const Source& source, v1::JobSpec* spec) {
  if (!file.array().empty()) {
    const absl::StatusOr<v1::ArraySpec> array = ParseArray(file.array());
    if (!array.ok()) return AtField(array.status(), source.text, source.origin, "array");
    *spec->mutable_array() = *array;
  }
  const auto add = [&](int64_t job, v1::DependencyCondition condition) {
    v1::Dependency* dependency = spec->add_dependencies();
    dependency->set_job_id(job);
    dependency->set_condition(condition);
  };
  for (int64_t job : file.after_ok()) add(job, v1::DEPENDENCY_CONDITION_OK);
  for (int64_t job : file.after_any()) add(job, v1::DEPENDENCY_CONDITION_ANY);
  for (int64_t job : file.after_not_ok()) add(job, v1::DEPENDENCY_CONDITION_NOT_OK);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<absl::Time> ParseDeadline(absl::string_view text, absl::Time now) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return time;
  const absl::StatusOr<absl::Duration> from_now = ParsePositiveDuration(text);
  if (from_now.ok()) return now + *from_now;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is no time; write 2026-12-24T18:00:00Z, or 2h30m from now"));
}

absl::StatusOr<v1::JobSpec> ParseJobFile(absl::string_view text, absl::string_view origin,
                                         absl::Time now) {
  v1::JobFile file;
  RETURN_IF_ERROR(ParseJson(text, origin, &file));
  v1::JobSpec spec;
  spec.set_name(file.name());
  *spec.mutable_command() = file.command();
  *spec.mutable_env() = file.env();
  *spec.mutable_labels() = file.labels();
  spec.set_workdir(file.workdir());
  spec.set_retries(file.retries());
  if (file.has_profile()) *spec.mutable_profile() = file.profile();
  if (file.way() == "process") spec.set_way(v1::FILL_WAY_PROCESS);
  if (!file.way().empty() && file.way() != "process" && file.way() != "sdk") {
    return absl::InvalidArgumentError(absl::StrCat(origin, ":", LineOfField(text, "way"),
                                                   ": way: \"", file.way(),
                                                   "\" is none; write sdk or process"));
  }
  if (!file.memory().empty()) {
    const absl::StatusOr<int64_t> memory_bytes = ParseBytes(file.memory());
    if (!memory_bytes.ok()) return AtField(memory_bytes.status(), text, origin, "memory");
    spec.set_memory_bytes(*memory_bytes);
  }
  RETURN_IF_ERROR(ReadPlanning(file, {text, origin}, now, &spec));
  RETURN_IF_ERROR(ReadTies(file, {text, origin}, &spec));
  return spec;
}

}  // namespace pipefill
