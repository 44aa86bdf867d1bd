// The program that a user wants to have run, as a child of this process, held from its begin; and
// how it ended.
//
//   Start --> held, before its first instruction --> runs as its Hold says --> Reap: is_over
//
// This process is the subreaper of all that the program starts, so nothing leaves its tree.
//
// Thread-compatible: belongs to the thread of the process gate.
#ifndef CLIENT_PROCESS_PROGRAM_H_
#define CLIENT_PROCESS_PROGRAM_H_

#include <sys/types.h>

#include <vector>

#include "client/platform/error.h"
#include "client/process/hold.h"

namespace pipefill::sdk {

struct ProgramEnd {
  int exit_code = 0;
  int signal = 0;  // 0 = it returned exit_code
};

class Program {
 public:
  virtual ~Program() = default;
  // Takes note of processes that have ended. True once the program itself has.
  virtual bool Reap() = 0;
  // To the program's group.
  virtual void Send(int signal) = 0;
};

class ChildProgram final : public Program {
 public:
  struct Options {
    // argv and environment, with a nullptr at the end; the first is looked up in PATH.
    std::vector<char*> argv;
    std::vector<char*> environment;
    // What the program is to have again of what the gate has changed for itself.
    int scheduling_class = 0;
    int timer_slack_ns = 0;
  };

  // PF_SYSTEM if no process can be made. A program that cannot be run ends with 127, or 126 if it
  // is there, and says why on stderr.
  Error Start(const Options& options, Hold& hold);

  bool Reap() override;
  void Send(int signal) override;
  // REQUIRES: Reap has returned true.
  const ProgramEnd& end() const { return end_; }

 private:
  pid_t pid_ = 0;
  bool is_over_ = false;
  ProgramEnd end_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_PROCESS_PROGRAM_H_
