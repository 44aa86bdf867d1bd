// Holds a program by the freezer of a control group (version 2) of its own.
//
// The group is a folder of the kernel's that agentd has made. Its CPU time is that of all that ever
// ran in it.
//
// Thread-compatible: belongs to the thread of the process gate.
#ifndef CLIENT_PROCESS_FREEZER_HOLD_H_
#define CLIENT_PROCESS_FREEZER_HOLD_H_

#include <cstdint>
#include <memory>
#include <string>

#include "client/platform/clock.h"
#include "client/platform/descriptor.h"
#include "client/platform/futex.h"
#include "client/process/hold.h"

namespace pipefill::sdk {

class FreezerHold final : public Hold {
 public:
  // What is frozen later, for it did not get a core, did nothing meanwhile, and does not fork.
  static constexpr uint64_t kStopNs = 5'000'000;

  // Freezes the group; nullptr if it cannot be used. Clock and futex outlive the hold.
  static std::unique_ptr<FreezerHold> Open(const std::string& folder, const Clock& clock,
                                           Futex& futex);

  int EnterInChild() override;
  void OnStarted(pid_t) override {}
  void GoOn() override;
  bool Stop() override;
  void OnInterference() override;
  uint64_t CpuNs() override;
  void Kill() override;

 private:
  FreezerHold(std::string folder, const Clock& clock, Futex& futex)
      : folder_(std::move(folder)), clock_(clock), futex_(futex) {}

  bool IsFrozen() const;
  bool Freeze(bool is_frozen);
  void SendToAll(int signal) const;

  const std::string folder_;
  const Clock& clock_;
  Futex& futex_;
  Descriptor switch_;  // cgroup.freeze
  Descriptor events_;  // cgroup.events
  Descriptor cpu_;     // cpu.stat
  uint64_t cpu_seen_ns_ = 0;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_FREEZER_HOLD_H_
