#include "cli/array_text.h"

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/status.h"

namespace pipefill {
namespace {

absl::Status NoIndexes(absl::string_view part) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", part, "\" names no indexes; write for example 0-99, 0-10:2, 1,5,7-9 or 0-99%10"));
}

// Digits only, so that "-1" is not taken for a number.
bool ReadNumber(absl::string_view text, int32_t* number) {
  return !text.empty() && text.find_first_not_of("0123456789") == absl::string_view::npos &&
         absl::SimpleAtoi(text, number);
}

bool ReadRange(absl::string_view part, v1::IndexRange* range) {
  int32_t first = 0;
  int32_t last = 0;
  int32_t step = 1;
  const size_t dash = part.find('-');
  if (dash == absl::string_view::npos) {
    if (!ReadNumber(part, &first)) return false;
    last = first;
  } else {
    const size_t colon = part.find(':');
    if (colon != absl::string_view::npos && !ReadNumber(part.substr(colon + 1), &step))
      return false;
    const absl::string_view ends = part.substr(0, colon);
    if (dash > ends.size() || !ReadNumber(ends.substr(0, dash), &first)) return false;
    if (!ReadNumber(ends.substr(dash + 1), &last)) return false;
  }
  range->set_first(first);
  range->set_last(last);
  range->set_step(step);
  return step > 0;
}

int64_t SizeOf(const v1::IndexRange& range) {
  const int64_t step = range.step() > 0 ? range.step() : 1;
  return range.last() < range.first() ? 0 : (int64_t{range.last()} - range.first()) / step + 1;
}

}  // namespace

absl::StatusOr<v1::ArraySpec> ParseArray(absl::string_view text) {
  v1::ArraySpec array;
  const size_t percent = text.find('%');
  if (percent != absl::string_view::npos) {
    int32_t throttle = 0;
    if (!ReadNumber(text.substr(percent + 1), &throttle) || throttle == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text.substr(percent),
                       "\" is no limit; write for example %10 for at most 10 tasks at a time"));
    }
    array.set_throttle(throttle);
  }
  for (absl::string_view part : absl::StrSplit(text.substr(0, percent), ',')) {
    if (!ReadRange(part, array.add_ranges())) return NoIndexes(part);
  }
  return array;
}

std::string FormatArray(const v1::ArraySpec& array) {
  std::string text;
  for (const v1::IndexRange& range : array.ranges()) {
    absl::StrAppend(&text, text.empty() ? "" : ",", range.first());
    if (range.last() != range.first()) absl::StrAppend(&text, "-", range.last());
    if (range.last() != range.first() && range.step() > 1) {
      absl::StrAppend(&text, ":", range.step());
    }
  }
  if (array.throttle() > 0) absl::StrAppend(&text, "%", array.throttle());
  return text;
}

int64_t CountTasks(const v1::ArraySpec& array) {
  int64_t count = 0;
  for (const v1::IndexRange& range : array.ranges()) count += SizeOf(range);
  return count;
}

std::optional<int64_t> FindPlace(const v1::ArraySpec& array, int32_t index) {
  int64_t place = 0;
  for (const v1::IndexRange& range : array.ranges()) {
    const int32_t step = range.step() > 0 ? range.step() : 1;
    const bool is_inside = index >= range.first() && index <= range.last();
    if (is_inside && (index - range.first()) % step == 0) {
      return place + (index - range.first()) / step;
    }
    place += SizeOf(range);
  }
  return std::nullopt;
}

std::string ArrayProgress(const v1::ArrayStatus& status) {
  const int64_t done = status.succeeded() + status.failed() + status.cancelled();
  std::string text = absl::StrCat(FormatCount(done), "/", FormatCount(status.tasks()), " done");
  if (status.failed() > 0) absl::StrAppend(&text, ", ", FormatCount(status.failed()), " failed");
  if (status.cancelled() > 0) {
    absl::StrAppend(&text, ", ", FormatCount(status.cancelled()), " cancelled");
  }
  if (status.running() > 0) absl::StrAppend(&text, ", ", FormatCount(status.running()), " running");
  return text;
}

absl::Status AddDependencies(absl::string_view jobs, v1::DependencyCondition condition,
                             v1::JobSpec* spec) {
  for (absl::string_view text : absl::StrSplit(jobs, ',')) {
    int64_t id = 0;
    if (!absl::SimpleAtoi(text, &id) || id < 1) {
      return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is not the number of a job; ",
                                                     "'pipefill jobs' lists them"));
    }
    v1::Dependency* dependency = spec->add_dependencies();
    dependency->set_job_id(id);
    dependency->set_condition(condition);
  }
  return absl::OkStatus();
}

std::string FormatDependencies(const v1::JobSpec& spec) {
  std::string text;
  for (const v1::Dependency& dependency : spec.dependencies()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "job ", dependency.job_id(), " (",
                    Word(dependency.condition()), ")");
  }
  return text;
}

}  // namespace pipefill
