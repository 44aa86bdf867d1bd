#include "cli/sim/trace_shelf.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/gzip_stream.h"
#include "common/status.h"

namespace pipefill {
namespace {

absl::StatusOr<absl::TimeZone> ZoneOf(const std::string& name) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (name.empty() || absl::LoadTimeZone(name, &zone)) return zone;
  return absl::InvalidArgumentError(
      absl::StrCat("workload.trace.time_zone: \"", name,
                   "\" is not known here; give one such as \"America/Los_Angeles\""));
}

absl::StatusOr<simulator::TraceFile> OpenGzip(const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<GzipBuffer> buffer, GzipBuffer::Open(path));
  const GzipBuffer* const opened = buffer.get();
  return simulator::TraceFile{.bytes = std::move(buffer),
                              .status = [opened] { return opened->status(); }};
}

}  // namespace

absl::StatusOr<std::shared_ptr<const simulator::Trace>> TraceShelf::Read(
    const simulator::TraceSpec& spec) {
  for (const Item& item : items_) {
    if (item.spec == spec) return item.trace;
  }
  ASSIGN_OR_RETURN(const absl::TimeZone zone, ZoneOf(spec.time_zone));
  ASSIGN_OR_RETURN(simulator::Trace trace,
                   simulator::ReadTrace(spec, zone, [this](const std::string& file) {
                     return OpenGzip((std::filesystem::path(folder_) / file).string());
                   }));
  items_.push_back({spec, std::make_shared<const simulator::Trace>(std::move(trace))});
  return items_.back().trace;
}

}  // namespace pipefill
