// Traces of the PyTorch profiler, and the plan that is made of them.
#include <sstream>

#include "absl/strings/match.h"
#include "cli/plan/kineto_plan.h"
#include "cli/plan/kineto_reader.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {

bool TakeInput(absl::string_view input) {
  std::istringstream in{std::string(input)};
  const absl::StatusOr<GpuTrace> trace = ReadKineto(in, "rank0.json");
  if (!trace.ok()) {
    CHECK(absl::StartsWith(trace.status().message(), "rank0.json: "));
    return false;
  }
  for (const auto& [device, works] : trace->devices) {
    for (const GpuWork& work : works) {
      CHECK(work.begin_ns <= work.end_ns);
      CHECK(work.name < trace->names.size());
    }
  }
  const absl::StatusOr<IdlePlan> plan = PlanOfTraces({*trace}, kGapMinNs);
  if (!plan.ok()) CHECK(plan.status().code() == absl::StatusCode::kInvalidArgument);
  return true;
}

std::vector<std::string> Seeds() {
  std::string steps;
  for (int step = 0; step < 4; ++step) {
    const std::string ts = std::to_string(step * 10'000);
    const std::string later = std::to_string(step * 10'000 + 5'000);
    steps += R"({"ph":"X","cat":"gpu_user_annotation","name":"ProfilerStep#)" +
             std::to_string(step) + R"(","pid":0,"tid":7,"ts":)" + ts + R"(,"dur":9000},)";
    steps += R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":)" + ts +
             R"(,"dur":3000.5,"args":{"device":0,"stream":7}},)";
    steps += R"({"ph":"X","cat":"gpu_memcpy","name":"copy","pid":0,"tid":7,"ts":)" + later +
             R"(,"dur":100,"args":{"device":0,"stream":7}},)";
    steps += R"({"ph":"X","cat":"kernel","name":"ncclAllReduce","pid":0,"tid":9,"ts":)" + later +
             R"(,"dur":2000,"args":{"device":0,"stream":9}},)";
  }
  steps += R"({"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}})";
  return {R"({"schemaVersion":1,"distributedInfo":{"backend":"nccl","rank":3,"world_size":8},)"
          R"("traceEvents":[)" +
              steps + R"(],"traceName":"x.json"})",
          "[" + steps + "]"};
}

}  // namespace pipefill
