// The place of a watcher, as a text that it hands back: "BOOT.FILTERS.POSITION".
//
// Pure.
#ifndef SCHEDULER_WATCH_WATCH_CURSOR_H_
#define SCHEDULER_WATCH_WATCH_CURSOR_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "scheduler/watch/watch_reader.h"

namespace pipefill::scheduler {

struct WatchCursor {
  std::string boot;      // tells this run of schedulerd from others; without a dot
  uint64_t filters = 0;  // hash of the filters, in hex; means something in that run only
  uint64_t position = 0;

  friend bool operator==(const WatchCursor&, const WatchCursor&) = default;
};

std::string FormatCursor(const WatchCursor& cursor);
// InvalidArgument.
absl::StatusOr<WatchCursor> ParseCursor(absl::string_view text);

// The reader that goes on where `cursor` (may be empty) left off; from the state, if it does not
// hold in the run `boot` or for `filter`. InvalidArgument.
absl::StatusOr<WatchReader> ReaderFrom(absl::string_view cursor, absl::string_view boot,
                                       WatchFilter filter);
// What ReaderFrom takes back.
std::string CursorOf(const WatchFilter& filter, absl::string_view boot, uint64_t position);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_WATCH_WATCH_CURSOR_H_
