// A fill task for tests: `filling_task UNITS UNIT_US` attaches, works through UNITS units of about
// UNIT_US microseconds of CPU time each, prints "units=N gated=0|1" and ends with 0. It ends with 9
// if it was asked to stop before. UNITS 0: as many as it gets.
//
// Runs on the main thread.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "client/pipefill.h"

namespace {

// CPU time of this process.
uint64_t CpuNs() { return static_cast<uint64_t>(std::clock()) * (1'000'000'000u / CLOCKS_PER_SEC); }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const uint64_t units = std::strtoull(argv[1], nullptr, 10);
  const uint64_t unit_ns = std::strtoull(argv[2], nullptr, 10) * 1000;
  pf_task_options options = {};
  options.size_bytes = sizeof(options);
  options.unit_hint_ns = unit_ns;
  pf_task* task = nullptr;
  const int code = pf_task_attach(&options, &task);
  if (code != PF_OK) std::fprintf(stderr, "attach: %s\n", pf_last_error());
  std::printf("attached code=%d gated=%d\n", code, pf_task_is_gated(task));
  std::fflush(stdout);
  uint64_t done = 0;
  while ((units == 0 || done < units) && pf_task_next_unit(task, 0) == 1) {
    const uint64_t end_ns = CpuNs() + unit_ns;
    while (CpuNs() < end_ns) {
    }
    ++done;
  }
  pf_task_end_unit(task);
  std::printf("units=%llu\n", static_cast<unsigned long long>(done));
  pf_task_detach(task);
  return units != 0 && done == units ? 0 : 9;
}
