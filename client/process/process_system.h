// What holding a program by signals asks of the operating system.
//
// Thread-compatible.
#ifndef CLIENT_PROCESS_PROCESS_SYSTEM_H_
#define CLIENT_PROCESS_PROCESS_SYSTEM_H_

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "client/platform/futex.h"
#include "client/process/process_tree.h"

namespace pipefill::sdk {

class ProcessSystem {
 public:
  virtual ~ProcessSystem() = default;

  // All processes of the program.
  virtual std::vector<ProcessSight> Look() = 0;
  virtual void Send(pid_t pid, int signal) = 0;
  // CPU time of its threads, without its children; 0 if it is gone.
  virtual uint64_t CpuNsOf(pid_t pid) = 0;
  // Of all processes that this one has waited for, and of theirs.
  virtual uint64_t ReapedCpuNs() = 0;
  // Leaves the core to others for a moment.
  virtual void Pause() = 0;
};

// The descendants of this process.
class OwnDescendants final : public ProcessSystem {
 public:
  explicit OwnDescendants(Futex& futex);

  std::vector<ProcessSight> Look() override { return tree_.Look(); }
  void Send(pid_t pid, int signal) override;
  uint64_t CpuNsOf(pid_t pid) override;
  uint64_t ReapedCpuNs() override;
  void Pause() override;

 private:
  Futex& futex_;
  const ProcessTree tree_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_PROCESS_SYSTEM_H_
