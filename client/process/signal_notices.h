// The Notices of a process: what its signal handlers have noted.
//
// Thread-compatible: one at a time in a process of one thread.
#ifndef CLIENT_PROCESS_SIGNAL_NOTICES_H_
#define CLIENT_PROCESS_SIGNAL_NOTICES_H_

#include "client/process/process_gate.h"

namespace pipefill::sdk {

class SignalNotices final : public Notices {
 public:
  // Installs handlers for SIGTERM, SIGINT, SIGHUP, SIGCHLD and SIGCONT, which interrupt waits.
  SignalNotices();

  int TakeEndSignal() override;
  bool TakeContinued() override;
  bool has_any() const override;
  void ForgetChild() override;
  void Wait(uint64_t timeout_ns) override;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_SIGNAL_NOTICES_H_
