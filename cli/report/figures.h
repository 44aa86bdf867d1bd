// Every figure of `pipefill report`, computed from the trace.
//
// Sets of iterations (words in quotes: iteration_table.h). All are of one main job, over the runs
// in which something was filled, or over all its runs if nothing was:
//
//   settled    "whole", without a failure, and not among the "first"
//   fill time  "whole", without a failure, from the run's first unit to its last
//   open       settled, not held out, and the device's part "has_task"      (per device)
//   counted    "kCounted": what the slowdown compares
//
// B(S) is the time of all bubbles in the iterations of S, T(S) the time of the iterations
// themselves, over all devices; C(S) and O(S) are the CPU times of units whose bubble lies in S,
// inside that bubble and after it (client/pages/unit_split.h). Bubbles outside iterations count
// nowhere.
//
//   bubble_ratio            B(settled) / T(settled)
//   bubble_filled           C(open) / B(open)
//   bubble_filled_all       C(fill time) / B(fill time): with hold-outs, start-up, lack of tasks
//   overrun_ratio           O(open) / B(open)
//   slowdown                paired_ratio.h over PairNeighbours(counted), with its 95 % interval
//   slowdown_mean           the same with means instead of medians
//   iteration_*_p50_ns      median over all counted iterations that are filled / held out
//   start_up_change         median of filled "kStartUp" iterations / iteration_unfilled_p50_ns - 1,
//                           from kStartUpIterationsMin of them on
//   recovered_device_share  exclusive equivalent of the units in fill time / T(fill time)
//
// Failures, times in which a rank stood still, are no part of any of these: they are rows of
// `bubbles` with the class failure, of whole runs.
//
// Exclusive equivalent: the device time that the same units cost when their job has a device for
// itself. With a measured run of the job alone: units * its CPU time per unit. Without: the CPU
// time that the units took here, too much if bubbles make them slower; JobFigures::has_alone and a
// note say so.
//
// A figure whose divisor is zero is absent, never 0.
//
// Pure.
#ifndef CLI_REPORT_FIGURES_H_
#define CLI_REPORT_FIGURES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/report/iteration_table.h"
#include "cli/report/paired_ratio.h"
#include "cli/report/trace.h"

namespace pipefill {

// What a job did when it ran alone on a device.
struct AloneRun {
  int64_t units = 0;  // > 0
  int64_t unit_cpu_ns = 0;
};

inline constexpr size_t kStartUpIterationsMin = 5;

struct FiguresOptions {
  // Empty: the main job whose bubbles held the most units; without units, the one that attached
  // last.
  std::string main_job;
  int skip_first = 20;
  std::map<std::string, AloneRun> alone;  // by job name
  uint64_t seed = 1;                      // of the bootstrap
};

struct DeviceFigures {
  std::string node;
  std::string device;
  int32_t rank = 0;
  int32_t stage = 0;
  std::optional<double> bubble_ratio;
  std::optional<double> bubble_filled;
  std::optional<double> overrun_ratio;
};

// One bubble id of one rank.
struct BubbleFigures {
  std::string node;
  std::string device;
  int32_t rank = 0;
  int32_t stage = 0;
  BubbleName name;
  int64_t count = 0;  // settled
  double p10_ns = 0;  // lengths of those
  double p50_ns = 0;
  double p90_ns = 0;
  int64_t bubble_ns = 0;
  // Of open iterations only: a task was there and would have taken the time.
  int64_t open_count = 0;
  int64_t used_count = 0;  // of those: at least one unit started
  // Their time, as far as the agent recorded that it offered it; all of it if it recorded nothing.
  int64_t offered_ns = 0;
  int64_t open_ns = 0;     // their time, offered or not
  int64_t filled_ns = 0;   // CPU time of units inside
  int64_t overrun_ns = 0;  // and after
};

struct JobFigures {
  int64_t job_id = 0;
  std::string name;
  std::vector<std::string> devices;
  int64_t attempts = 0;
  int64_t units = 0;
  int64_t unit_cpu_ns = 0;
  int64_t in_bubble_cpu_ns = 0;
  int64_t exclusive_equivalent_ns = 0;
  bool has_alone = false;
  int64_t memory_peak_bytes = 0;  // largest sample
  int64_t memory_cap_bytes = 0;
  bool is_ended = false;
};

struct Figures {
  std::string main_job;
  int32_t stages = 0;
  std::vector<IterationTable> runs;  // the ones that the figures are over
  int64_t runs_left_out = 0;         // runs of the main job without units, when others have some
  // Rows of `runs` by use.
  std::map<IterationUse, int64_t> iterations;
  int64_t counted_filled = 0;
  int64_t counted_held_out = 0;
  double span_ns = 0;  // T(settled) of one device, on average

  std::optional<double> bubble_ratio;
  std::optional<double> bubble_filled;
  std::optional<double> bubble_filled_all;
  std::optional<double> overrun_ratio;
  std::optional<RatioEstimate> slowdown;
  std::optional<RatioEstimate> slowdown_mean;
  std::optional<double> iteration_filled_p50_ns;
  std::optional<double> iteration_unfilled_p50_ns;
  std::optional<double> start_up_change;
  std::optional<double> recovered_device_share;

  std::vector<DeviceFigures> devices;  // by rank
  std::vector<BubbleFigures> bubbles;  // by rank, then in the order of the iteration
  std::vector<JobFigures> jobs;        // by id
  // What a reader must know to read the figures right: one line each.
  std::vector<std::string> notes;
};

// NotFound if the trace holds no iteration of the main job asked for, or of any; the text names
// those that it has.
absl::StatusOr<Figures> ComputeFigures(const Trace& trace, const FiguresOptions& options);

}  // namespace pipefill

#endif  // CLI_REPORT_FIGURES_H_
