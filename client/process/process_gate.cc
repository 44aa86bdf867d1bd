#include "client/process/process_gate.h"

#include <signal.h>

#include <algorithm>

namespace pipefill::sdk {

bool ProcessGate::LookAtProgram() {
  parts_.notices.ForgetChild();
  return parts_.program.Reap();
}

bool ProcessGate::Run() {
  if (parts_.task.is_refused()) {
    parts_.hold.Kill();
    return false;
  }
  if (!parts_.task.is_gated()) RunFreely(0);
  while (!LookAtProgram()) {
    if (parts_.notices.TakeContinued()) parts_.hold.OnInterference();
    if (const int signal = parts_.notices.TakeEndSignal(); signal != 0) {
      RunFreely(signal);
      break;
    }
    if (!is_held_) is_held_ = parts_.hold.Stop();
    uint64_t run_ns = 0;
    const FillTask::Outcome outcome =
        parts_.task.NextSlice({}, is_held_ ? kLookAgainNs : 0, &run_ns);
    if (outcome == FillTask::Outcome::kStop) {
      RunFreely(SIGTERM);
      break;
    }
    if (outcome == FillTask::Outcome::kStarted) RunSlices(run_ns);
  }
  parts_.task.EndUnit();
  parts_.hold.Kill();
  LookAtProgram();
  return true;
}

void ProcessGate::RunSlices(uint64_t run_ns) {
  parts_.hold.GoOn();
  do {
    WaitForSlice(run_ns);
  } while (!parts_.notices.has_any() && parts_.task.ContinueSlice(&run_ns));
  StopProgram();
}

void ProcessGate::WaitForSlice(uint64_t run_ns) {
  const uint64_t begin_ns = parts_.clock.NowNs();
  for (uint64_t waited_ns = 0; waited_ns < run_ns && !parts_.notices.has_any();
       waited_ns = parts_.clock.NowNs() - begin_ns) {
    if (parts_.task.WaitInUnit(run_ns - waited_ns) != WaitResult::kInterrupted) return;
  }
}

void ProcessGate::StopProgram() {
  const uint64_t begin_ns = parts_.clock.NowNs();
  const uint64_t cpu_begin_ns = parts_.clock.ProcessCpuNs();
  is_held_ = parts_.hold.Stop();
  const uint64_t wall_ns = parts_.clock.NowNs() - begin_ns;
  const uint64_t cpu_ns = parts_.clock.ProcessCpuNs() - cpu_begin_ns;
  // A process that waits for a core in order to stop takes nothing from anybody.
  parts_.task.EndSlice(std::min(wall_ns, cpu_ns), cpu_ns);
}

void ProcessGate::RunFreely(int end_signal) {
  parts_.task.EndUnit();
  if (end_signal != 0) parts_.program.Send(end_signal);
  parts_.hold.GoOn();
  while (!LookAtProgram()) {
    if (parts_.notices.TakeContinued()) {
      parts_.hold.OnInterference();
      parts_.hold.GoOn();
    }
    if (const int signal = parts_.notices.TakeEndSignal(); signal != 0) {
      parts_.program.Send(signal);
    }
    parts_.notices.Wait(kLookAgainNs);
  }
}

}  // namespace pipefill::sdk
