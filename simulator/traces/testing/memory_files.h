// Traces that lie in memory, for tests.
//
// Pure.
#ifndef SIMULATOR_TRACES_TESTING_MEMORY_FILES_H_
#define SIMULATOR_TRACES_TESTING_MEMORY_FILES_H_

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simulator/traces/read_trace.h"

namespace pipefill::simulator {

// Opens each of `files` by its name; NotFound for others.
inline OpenTraceFile MemoryFiles(std::map<std::string, std::string> files) {
  return [files = std::move(files)](const std::string& path) -> absl::StatusOr<TraceFile> {
    const auto found = files.find(path);
    if (found == files.end()) return absl::NotFoundError(absl::StrCat("open ", path));
    return TraceFile{.bytes = std::make_unique<std::stringbuf>(found->second),
                     .status = [] { return absl::OkStatus(); }};
  };
}

// The only file.
inline absl::StatusOr<Trace> ReadText(TraceSpec spec, const std::string& text) {
  spec.file = "trace";
  return ReadTrace(spec, absl::UTCTimeZone(), MemoryFiles({{"trace", text}}));
}

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_TESTING_MEMORY_FILES_H_
