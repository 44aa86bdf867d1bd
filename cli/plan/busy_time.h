// The busy stretches of one GPU, and where its iterations begin.
//
// Pure.
#ifndef CLI_PLAN_BUSY_TIME_H_
#define CLI_PLAN_BUSY_TIME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan/kineto_reader.h"

namespace pipefill {

// [begin_ns, end_ns).
struct Stretch {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;

  friend bool operator==(const Stretch&, const Stretch&) = default;
};

// Whether a kernel of that name moves data between GPUs: it waits while it looks busy.
bool IsCommunication(const std::string& kernel);

// The work that computes, by begin: kernels that do not communicate, and copies on their streams.
std::vector<GpuWork> ComputeWork(const std::vector<GpuWork>& work,
                                 const std::vector<std::string>& names);

// Work without pauses of `gap_min_ns` and more. `work` is by begin, and may overlap.
std::vector<Stretch> BusyStretches(const std::vector<GpuWork>& work, int64_t gap_min_ns);

// Where iterations begin, and last where the last whole one ends; at least two entries or none. By
// the marks of the device, else by those of the host.
std::vector<int64_t> BordersByMarks(const std::vector<StepMark>& steps, int64_t device);
// The same from the names of the kernels: after the period they come again, nineteen of twenty at
// least. `work` is by begin.
std::vector<int64_t> BordersByPeriod(const std::vector<GpuWork>& work);

}  // namespace pipefill

#endif  // CLI_PLAN_BUSY_TIME_H_
