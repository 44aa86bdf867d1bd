// Traces that no machine recorded: a pipeline-parallel run computed from a seed, with fill tasks
// that keep every rule. For tests, and for looking at the report while working on it. Never to be
// shown as a measurement: the main job is named "synthetic".
//
// The model: GPipe or 1F1B over `stages` devices, one rank each, chunk times with noise; every wait
// of a stage is a bubble. After 8 iterations units start in the bubbles of iterations that are not
// held out, up to a latest start; a unit that the bubble ends under goes on in the next one. Every
// 20 iterations the agent says what it thinks that filling costs.
//
// Pure: the same options give the same bytes.
#ifndef CLI_REPORT_SYNTHETIC_TRACE_H_
#define CLI_REPORT_SYNTHETIC_TRACE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/pages/hold_out.h"
#include "proto/local.pb.h"

namespace pipefill {

struct SyntheticJob {
  int64_t id = 1;
  std::string name = "embed";
  int device = 0;
  int64_t unit_ns = 1'000'000;
  int units_max = 1 << 30;  // ends after these
  int launched_at = 4;      // iteration
  int start_up_iterations = 4;
};

struct SyntheticOptions {
  uint64_t seed = 1;
  int iterations = 120;
  int stages = 2;
  int micro_batches = 4;
  bool is_one_forward_one_backward = false;
  int64_t chunk_ns = 9'000'000;  // forward; backward takes twice that
  double noise = 0.03;           // relative spread of chunk times
  double slowdown = 0.004;       // of chunks in filled iterations
  double fill_to = 0.97;         // latest start as a share of the mean length of the bubble
  // Lambda that the agent says it has promised all along.
  double overrun_ratio = 0.2;
  HoldOut hold_out = {.block_iterations = 1, .one_in = 8};
  std::vector<SyntheticJob> jobs = {{}};
};

inline constexpr int64_t kSyntheticStartNs = 5'000'000'000'000;

// In the order in which agentd would have written them.
std::vector<v1::TraceRecord> SyntheticRecords(const SyntheticOptions& options);
// Each record behind its length.
std::string SerializeTrace(const std::vector<v1::TraceRecord>& records);

}  // namespace pipefill

#endif  // CLI_REPORT_SYNTHETIC_TRACE_H_
