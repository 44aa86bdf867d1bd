// Holds a program by SIGSTOP and SIGCONT.
//
// Stopping looks at all processes again and again, and signals those that it has not signalled yet,
// until two looks are equal and all stand still in them. Why that is enough, though a look misses
// processes that fork or change their parent meanwhile: whoever was signalled cannot fork any more
// (the kernel lets a fork wait for the signal), so a process that was missed descends from one that
// was running during the look; that one was running, new or gone in this look, and then the look
// was not equal to the one before with all of them still. Orphans stay below this process, which is
// their subreaper.
//
// Processes that the program itself has stopped are left as they are.
//
// Thread-compatible: belongs to the thread of the process gate.
#ifndef CLIENT_PROCESS_SIGNAL_HOLD_H_
#define CLIENT_PROCESS_SIGNAL_HOLD_H_

#include <cstdint>
#include <set>
#include <vector>

#include "client/platform/clock.h"
#include "client/process/hold.h"
#include "client/process/process_system.h"

namespace pipefill::sdk {

class SignalHold final : public Hold {
 public:
  // A process that does not get its core cannot stop either, but does nothing meanwhile.
  static constexpr uint64_t kStopNs = 20'000'000;
  // A program that forks as fast as it can is killed faster than it forks.
  static constexpr int kKillLooks = 1000;

  // Both outlive the hold.
  SignalHold(ProcessSystem& system, const Clock& clock) : system_(system), clock_(clock) {}

  int EnterInChild() override;
  void OnStarted(pid_t program) override;
  void GoOn() override;
  bool Stop() override;
  void OnInterference() override;
  uint64_t CpuNs() override;
  void Kill() override;

 private:
  // Signals what runs. True if all stood still, or will before they execute anything.
  bool SignalRunning(const std::vector<ProcessSight>& sights);

  ProcessSystem& system_;
  const Clock& clock_;
  std::set<pid_t> stopped_;  // by us
  uint64_t cpu_seen_ns_ = 0;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_SIGNAL_HOLD_H_
