// Logging: one line per state edge and decision, event name first, then key=value:
//   spdlog::info("job_placed job={} device={}", ...);
// error = someone must act; warn = degraded but handled; info = edges; debug = inputs of decisions.
// Includes formatters for abseil types and ids.
//
// Thread-safe.
#ifndef COMMON_LOG_H_
#define COMMON_LOG_H_

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <spdlog/spdlog.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/ids.h"

namespace pipefill {

// Sets up the process's logger: to stderr, "<time> <level> <component> <text>", no colour off a
// terminal. `level` is error, warn, info or debug; InvalidArgument otherwise.
absl::Status SetUpLog(absl::string_view component, absl::string_view level);

}  // namespace pipefill

template <>
struct fmt::formatter<absl::string_view> : fmt::formatter<fmt::string_view> {
  auto format(absl::string_view text, fmt::format_context& context) const {
    return fmt::formatter<fmt::string_view>::format({text.data(), text.size()}, context);
  }
};
template <>
struct fmt::formatter<absl::Status> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<absl::Duration> : fmt::ostream_formatter {};
template <>
struct fmt::formatter<absl::Time> : fmt::ostream_formatter {};
template <typename Tag, typename Value>
struct fmt::formatter<pipefill::Id<Tag, Value>> : fmt::ostream_formatter {};

#endif  // COMMON_LOG_H_
