// The traces that the runs of one command take their jobs from, each read once.
//
// Thread-compatible: used from one thread.
#ifndef CLI_SIM_TRACE_SHELF_H_
#define CLI_SIM_TRACE_SHELF_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "simulator/traces/read_trace.h"

namespace pipefill {

class TraceShelf {
 public:
  // Files are named from `folder` on.
  explicit TraceShelf(std::string folder) : folder_(std::move(folder)) {}

  // Reads the files, which gzip may have compressed, unless that was done before. NotFound or
  // PermissionDenied as the file system says; InvalidArgument for an unknown time zone; errors of
  // ReadTrace.
  absl::StatusOr<std::shared_ptr<const simulator::Trace>> Read(const simulator::TraceSpec& spec);

 private:
  struct Item {
    simulator::TraceSpec spec;
    std::shared_ptr<const simulator::Trace> trace;
  };

  const std::string folder_;
  std::vector<Item> items_;  // a command has few
};

}  // namespace pipefill

#endif  // CLI_SIM_TRACE_SHELF_H_
