// Holds a program that knows nothing of bubbles to the bubbles of its device.
//
//           leave to start a slice              slice over, no leave for another
//   held ---------------------------> running ------------------------------------> stopping
//    ^                                   | ^  slice over, leave: no stop               |
//    |                                   +-+                                           |
//    +---------- all processes stand still: the slice ends, the stop was measured -----+
//
//   any --agentd or a signal asks for the end--> running for good, SIGTERM to the program
//   any --the program has ended--> what is left of it is killed
//
// The leave comes from the same gate that every fill task has (FillTask): window, hold-outs,
// pauses, turns and a dead agentd need nothing of their own here. The slice's length is that of the
// run and of the stop: the CPU time that program and gate use until all stands still. So a program
// stops in time if it stops as fast as it mostly does.
//
// Nobody but this gate lets the program go on. agentd's ladder stops all processes, this one too,
// and lets only this one go on again.
//
// Thread-compatible: one thread runs it.
#ifndef CLIENT_PROCESS_PROCESS_GATE_H_
#define CLIENT_PROCESS_PROCESS_GATE_H_

#include <cstdint>

#include "client/fill/fill_task.h"
#include "client/fill/slice.h"
#include "client/platform/clock.h"
#include "client/process/hold.h"
#include "client/process/program.h"

namespace pipefill::sdk {

// What signals told this process since the last look.
class Notices {
 public:
  virtual ~Notices() = default;
  // The signal that asks it to end, or 0.
  virtual int TakeEndSignal() = 0;
  // It was stopped itself, and continued.
  virtual bool TakeContinued() = 0;
  // A child may have ended. Does not take it away.
  virtual bool has_any() const = 0;
  virtual void ForgetChild() = 0;
  // Sleeps until there is one, at most `timeout_ns`.
  virtual void Wait(uint64_t timeout_ns) = 0;
};

class ProcessGate {
 public:
  struct Parts {
    FillTask& task;
    Hold& hold;
    Program& program;
    Notices& notices;
    const Clock& clock;
  };

  // How long it waits for leave before it looks at the program again.
  static constexpr uint64_t kLookAgainNs = 100'000'000;

  explicit ProcessGate(const Parts& parts) : parts_(parts) {}

  // Runs the program to its end, and kills what is left of it. A refused task never lets it run:
  // false.
  bool Run();

 private:
  // Until it has no leave any more.
  void RunSlices(uint64_t run_ns);
  void WaitForSlice(uint64_t run_ns);
  void StopProgram();
  // Without a gate, or asked to end: until it is over.
  void RunFreely(int end_signal);
  // True if the program has ended.
  bool LookAtProgram();

  const Parts parts_;
  bool is_held_ = true;  // false: a stop came to no end in its time, and is to be tried again
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_PROCESS_GATE_H_
