// What a fill job is made of: its configurations, each a chain of nodes with time and memory. Times
// are those of a run that has the device to itself.
//
// Pure.
#ifndef PLANNER_PROFILE_H_
#define PLANNER_PROFILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace pipefill {

// A unit, or `repeats` equal ones behind each other.
struct ProfileNode {
  int64_t time_ns = 0;       // mean
  int64_t time_p90_ns = 0;   // 0 = as the mean
  int64_t memory_bytes = 0;  // while it runs, above the configuration's resident_bytes
  int64_t repeats = 1;

  // What a gate reckons with.
  int64_t high_ns() const { return time_p90_ns > time_ns ? time_p90_ns : time_ns; }

  friend bool operator==(const ProfileNode&, const ProfileNode&) = default;
};

enum class MemorySaving { kPlain, kCheckpointing, kOffload };

struct Configuration {
  std::string name;
  int64_t batch_size = 0;  // what the task is told to do; 0 = its own default
  MemorySaving memory_saving = MemorySaving::kPlain;
  int64_t samples_per_pass = 1;  // done by one pass over the chain
  int64_t resident_bytes = 0;    // held all the time, between units too
  std::vector<ProfileNode> chain;

  // Units of one pass.
  int64_t units_per_pass() const;
  // Mean length of its units.
  double unit_mean_ns() const;

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

struct FillProfile {
  // Ways to run the job. Empty: nothing is known but, perhaps, samples_total.
  std::vector<Configuration> configurations;
  int64_t samples_total = 0;  // of the whole job; 0 = not known

  // nullptr if there is none of that name.
  const Configuration* Find(const std::string& name) const;

  friend bool operator==(const FillProfile&, const FillProfile&) = default;
};

inline constexpr size_t kConfigurationsMax = 64;
inline constexpr size_t kChainMax = 100'000;
// Longest node, and most repeats and samples. The sums of a whole chain then fit 64 bits.
inline constexpr int64_t kNodeTimeMaxNs = 3'600'000'000'000;
inline constexpr int64_t kRepeatsMax = 1'000'000;
inline constexpr int64_t kPassMaxNs = int64_t{1} << 60;
inline constexpr int64_t kSamplesMax = int64_t{1} << 50;

// InvalidArgument, in one line that names the field, unless the planner can work with it. What the
// rest of this folder requires of a profile.
absl::Status CheckProfile(const FillProfile& profile);

// Of a job that has no profile but has run: one node, as long as its units were on average; a
// sample is a unit. REQUIRES: units > 0, times >= 0.
Configuration LearnedConfiguration(int64_t units, int64_t unit_time_total_ns,
                                   int64_t unit_estimate_ns);

// The same with units that take `factor` times as long. REQUIRES: factor > 0.
Configuration Slowed(Configuration configuration, double factor);

}  // namespace pipefill

#endif  // PLANNER_PROFILE_H_
