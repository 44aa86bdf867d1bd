// Fill jobs as they arrive: classes of jobs, a Poisson process that draws from them, and arrivals
// that are given (trace_arrivals.h).
//
// Pure: chance comes from a seed.
#ifndef SIMULATOR_CLUSTER_WORKLOAD_H_
#define SIMULATOR_CLUSTER_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "planner/profile.h"
#include "simulator/traces/trace.h"

namespace pipefill::simulator {

// Jobs of one kind. Times of the profile are those of a device that the job has to itself.
struct JobClass {
  std::string name;
  FillProfile profile;       // without samples_total: each job draws its own
  int64_t memory_bytes = 0;  // cap of a task
  double weight = 1;         // of all arrivals, against the other classes'; > 0
  // Hours that a job takes on a device of its own: lognormal with this median and the standard
  // deviation of its logarithm.
  double device_hours = 1;
  double spread = 0;
  // A unit takes so many times as long in a bubble as alone; >= 1.
  double slowness = 1;
  // Floating-point operations per second on a device of its own, against those of the main job
  // while it computes; > 0. For gains alone, nothing is decided by it.
  double flops_share = 1;
};

struct Arrival {
  absl::Duration at;
  size_t job_class = 0;
  int64_t samples = 1;
  std::string tenant = {};  // empty: the default one
};

struct Workload {
  std::vector<JobClass> classes;
  int64_t jobs_at_start = 0;
  double jobs_per_hour = 0;  // afterwards, exponentially distributed gaps
  // Besides those that are drawn, in the order of time.
  std::vector<Arrival> given;
  // Of the trace that they come from: its files, the one with the jobs first.
  std::vector<TraceRows> trace_rows;
};

// InvalidArgument, in one line that names the class, unless jobs can be drawn.
absl::Status CheckWorkload(const Workload& workload);

// What a job has to do that takes so many hours on a device of its own; 1 .. kSamplesMax.
int64_t SamplesFor(const JobClass& job_class, double hours);

// In the order of time, up to `horizon`. REQUIRES: CheckWorkload accepts the workload.
std::vector<Arrival> DrawArrivals(const Workload& workload, absl::Duration horizon, uint64_t seed);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_WORKLOAD_H_
