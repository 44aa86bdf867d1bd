// Traces of agentd: whatever the bytes are, what is read keeps the promises of cli/report/trace.h,
// and everything that is made of it can be made.
#include "cli/plan/recorded_plan.h"
#include "cli/report/figures.h"
#include "cli/report/synthetic_trace.h"
#include "cli/report/testing/trace_builder.h"
#include "cli/report/trace_checker.h"
#include "cli/report/trace_reader.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {
namespace {

bool IsTime(int64_t ns) { return ns >= 0 && ns < kTimeMaxNs; }

void CheckRank(const Trace& trace, const RankTrace& rank) {
  CHECK(rank.start < trace.starts.size());
  CHECK(IsTime(rank.attached_ns) && rank.first_edge_ns <= rank.last_edge_ns);
  for (const Bubble& bubble : rank.bubbles) {
    CHECK(IsTime(bubble.begin_ns) && IsTime(bubble.end_ns));
    CHECK(bubble.begin_ns <= bubble.end_ns);
  }
  for (const Iteration& iteration : rank.iterations) {
    CHECK(IsTime(iteration.begin_ns) && IsTime(iteration.end_ns));
    CHECK(iteration.bubbles_begin <= iteration.bubbles_end);
    CHECK(iteration.bubbles_end <= rank.bubbles.size());
  }
  for (const Chunk& chunk : rank.chunks) CHECK(chunk.begin_ns <= chunk.end_ns);
  for (const Failure& failure : rank.failures) CHECK(failure.begin_ns <= failure.end_ns);
}

void CheckTask(const Trace& trace, const TaskTrace& task) {
  CHECK(task.start < trace.starts.size());
  for (const UnitTrace& unit : task.units) {
    CHECK(IsTime(unit.start_ns) && IsTime(unit.end_ns) && unit.start_ns <= unit.end_ns);
    CHECK(IsTime(unit.cpu_ns));
    CHECK(unit.rank == kNone || unit.rank < trace.ranks.size());
  }
}

}  // namespace

bool TakeInput(absl::string_view input) {
  const Trace trace = ReadTraces({{.source = "trace.pb", .bytes = std::string(input)}});
  CHECK(trace.counts.torn_bytes <= static_cast<int64_t>(input.size()));
  for (const RankTrace& rank : trace.ranks) CheckRank(trace, rank);
  for (const TaskTrace& task : trace.tasks) CheckTask(trace, task);
  CheckTrace(trace, {});
  const absl::StatusOr<Figures> figures = ComputeFigures(trace, {});
  if (!figures.ok()) CHECK(figures.status().code() == absl::StatusCode::kNotFound);
  const absl::StatusOr<IdlePlan> plan = PlanOfRecord(trace, "trace.pb");
  if (!plan.ok()) CHECK(plan.status().code() == absl::StatusCode::kInvalidArgument);
  return figures.ok();
}

std::vector<std::string> Seeds() {
  SyntheticOptions options;
  options.iterations = 12;
  options.micro_batches = 2;
  TraceBuilder standing;
  const int rank = standing.AddRank("cpu0");
  const int task = standing.AddTask(1, "cpu0", 1);
  standing.Iteration(rank, 1, 10);
  standing.BeginFailure(rank, 120);
  standing.AddFailureUnit(task, rank, 125, 130);
  standing.EndFailure(rank, 150);
  standing.AddControl(rank, 160, 0.1);
  standing.AddSample(task, 170, 50);
  standing.EndTask(task, 180);
  standing.Detach(rank, 190);
  return {SerializeTrace(SyntheticRecords(options)), standing.bytes()};
}

}  // namespace pipefill
