#include "scheduler/watch/watch_cursor.h"

#include <utility>
#include <vector>

#include "absl/hash/hash.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/status.h"

namespace pipefill::scheduler {

std::string FormatCursor(const WatchCursor& cursor) {
  return absl::StrCat(cursor.boot, ".", absl::Hex(cursor.filters), ".", cursor.position);
}

absl::StatusOr<WatchCursor> ParseCursor(absl::string_view text) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  WatchCursor cursor;
  if (parts.size() == 3 && absl::SimpleHexAtoi(parts[1], &cursor.filters) &&
      absl::SimpleAtoi(parts[2], &cursor.position)) {
    cursor.boot = std::string(parts[0]);
    return cursor;
  }
  return absl::InvalidArgumentError(
      "cursor: is none; send the last one that was received, or leave it out");
}

absl::StatusOr<WatchReader> ReaderFrom(absl::string_view cursor, absl::string_view boot,
                                       WatchFilter filter) {
  if (cursor.empty()) return WatchReader(std::move(filter), WatchResetCause::kStart);
  ASSIGN_OR_RETURN(const WatchCursor parsed, ParseCursor(cursor));
  if (parsed.boot != boot) return WatchReader(std::move(filter), WatchResetCause::kOtherBoot);
  if (parsed.filters != absl::HashOf(filter)) {
    return WatchReader(std::move(filter), WatchResetCause::kOtherFilter);
  }
  return WatchReader(std::move(filter), parsed.position);
}

std::string CursorOf(const WatchFilter& filter, absl::string_view boot, uint64_t position) {
  return FormatCursor(
      {.boot = std::string(boot), .filters = absl::HashOf(filter), .position = position});
}

}  // namespace pipefill::scheduler
