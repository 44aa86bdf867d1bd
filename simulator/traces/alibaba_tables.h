// What pai_job_table and pai_instance_table add to the rows of pai_task_table: users and times of
// submission, and how long each instance ran. See table_format.h.
//
// Thread-compatible: used from one thread.
#ifndef SIMULATOR_TRACES_ALIBABA_TABLES_H_
#define SIMULATOR_TRACES_ALIBABA_TABLES_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "simulator/traces/trace_builder.h"

namespace pipefill::simulator {

class AlibabaTables {
 public:
  struct Job {
    std::optional<absl::Duration> submitted;
    uint32_t user = 0;  // as TraceBuilder numbers names
  };

  // InvalidArgument, in one line, unless it is such a table. Rows are counted in `builder`.
  absl::Status ReadJobs(std::istream& in, const std::string& source, TraceBuilder& builder);
  absl::Status ReadInstances(std::istream& in, const std::string& source, TraceBuilder& builder);

  // nullptr if there is no row of it.
  const Job* FindJob(absl::string_view job) const;
  // Of all instances of a task together; nullopt if none of them ran.
  std::optional<absl::Duration> RunOf(absl::string_view job, absl::string_view task) const;

 private:
  absl::flat_hash_map<std::string, Job> jobs_;
  absl::flat_hash_map<std::string, absl::Duration> runs_;  // by job and task
};

}  // namespace pipefill::simulator

#endif  // SIMULATOR_TRACES_ALIBABA_TABLES_H_
