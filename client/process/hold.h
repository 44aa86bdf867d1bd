// Stops a program with all its processes, and lets it go on.
//
//   held --GoOn--> running --Stop--> held          begins held
//
// Two ways:
//   FreezerHold  a control group (version 2) around the program: the kernel stops all of it at
//   once,
//                no process can leave or see it. Where such a group can be made.
//   SignalHold   SIGSTOP and SIGCONT to each process. Everywhere. A program may see it: its parent
//                processes get SIGCHLD, and a handler of SIGCONT runs.
//
// Thread-compatible: belongs to the thread of the process gate.
#ifndef CLIENT_PROCESS_HOLD_H_
#define CLIENT_PROCESS_HOLD_H_

#include <sys/types.h>

#include <cstdint>

namespace pipefill::sdk {

class Hold {
 public:
  virtual ~Hold() = default;

  // In the new process that becomes the program: it is held from here on. 0, or an errno value.
  virtual int EnterInChild() = 0;
  // That process is `program`.
  virtual void OnStarted(pid_t program) = 0;

  virtual void GoOn() = 0;
  // Returns once no process of the program executes anything any more; false if that could not be
  // seen in time, although everything has been told to stop.
  virtual bool Stop() = 0;
  // Somebody else has stopped or continued processes of the program. REQUIRES: held.
  virtual void OnInterference() = 0;

  // CPU time of all processes of the program so far, those that ended included. Never falls.
  virtual uint64_t CpuNs() = 0;
  // Ends all that is left of it.
  virtual void Kill() = 0;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_HOLD_H_
