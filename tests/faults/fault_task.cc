// A fill task for the fault tests: `fault_task RECORDS UNITS UNIT_US CODE` works through UNITS
// units of about UNIT_US microseconds of CPU time each and ends with CODE. Of each unit it appends
// a line to the file RECORDS, which tasks of all nodes share:
//
//   unit JOB ATTEMPT SOCKET START_NS END_NS    by the clock that all processes of the machine share
//   end JOB ATTEMPT SOCKET CODE                after the last one
//
// SOCKET is that of the task's agentd.
//
// It ends with 9 if it was asked to stop before, and with 8 if it is not held to bubbles.
//
// Runs on the main thread.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include "client/pages/handshake.h"
#include "client/pipefill.h"
#include "client/platform/clock.h"
#include "client/platform/environment.h"

namespace {

// CPU time of this process.
uint64_t CpuNs() { return static_cast<uint64_t>(std::clock()) * (1'000'000'000u / CLOCKS_PER_SEC); }

void Append(int file, const std::string& line) {
  const ssize_t ignored = write(file, line.data(), line.size());
  static_cast<void>(ignored);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const uint64_t units = std::strtoull(argv[2], nullptr, 10);
  const uint64_t unit_ns = std::strtoull(argv[3], nullptr, 10) * 1000;
  const int code = std::atoi(argv[4]);
  const pipefill::sdk::ProcessEnvironment environment;
  const pipefill::sdk::SystemClock clock;
  const std::string attempt = environment.Get(pipefill::kJobVariable) + " " +
                              environment.Get(pipefill::kAttemptVariable) + " " +
                              environment.Get(pipefill::kSocketVariable) + " ";
  const int records = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  pf_task_options options = {};
  options.size_bytes = sizeof(options);
  options.unit_hint_ns = unit_ns;
  pf_task* task = nullptr;
  if (records < 0 || pf_task_attach(&options, &task) != PF_OK || pf_task_is_gated(task) == 0) {
    return 8;
  }
  uint64_t done = 0;
  for (; done < units && pf_task_next_unit(task, 0) == 1; ++done) {
    const uint64_t start_ns = clock.NowNs();
    const uint64_t end_ns = CpuNs() + unit_ns;
    while (CpuNs() < end_ns) {
    }
    Append(records, "unit " + attempt + std::to_string(start_ns) + " " +
                        std::to_string(clock.NowNs()) + "\n");
  }
  pf_task_end_unit(task);
  if (done == units) Append(records, "end " + attempt + std::to_string(code) + "\n");
  pf_task_detach(task);
  return done == units ? code : 9;
}
