// pipefill-process: runs any program in bubbles only. agentd puts it before the command of a job of
// the way "process"; by hand, without agentd, the program runs freely.
//
//   pipefill-process [--group FOLDER] -- PROGRAM ARGS...
//
// FOLDER: a control group (version 2) for the program. Without one, or if it cannot be used, the
// program is stopped by signals. Ends as the program did; 125: it was never run.
//
// Runs on the main thread.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "client/fill/fill_task.h"
#include "client/pages/handshake.h"
#include "client/platform/clock.h"
#include "client/platform/environment.h"
#include "client/platform/futex.h"
#include "client/process/freezer_hold.h"
#include "client/process/process_gate.h"
#include "client/process/process_system.h"
#include "client/process/program.h"
#include "client/process/signal_hold.h"
#include "client/process/signal_notices.h"

namespace pipefill::sdk {
namespace {

constexpr int kNotRun = 125;
// How long stopping is taken to last before it was measured.
constexpr uint64_t kStopGuessNs = 300'000;

struct Arguments {
  std::string group;
  char** command = nullptr;  // ends with nullptr
};

bool Parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--group" && i + 1 < argc) {
      arguments->group = argv[++i];
    } else if (word == "--" && i + 1 < argc) {
      arguments->command = argv + i + 1;
      return true;
    } else {
      return false;
    }
  }
  return false;
}

// The time of a unit is that of the program and of the gate that holds it.
class ProgramClock final : public Clock {
 public:
  explicit ProgramClock(Hold& hold) : hold_(hold) {}
  uint64_t NowNs() const override { return own_.NowNs(); }
  uint64_t ProcessCpuNs() const override { return own_.ProcessCpuNs() + hold_.CpuNs(); }

 private:
  const SystemClock own_;
  Hold& hold_;
};

// Without the variable by which the SDK knows that it belongs to a task: a program that uses it
// runs alone in here, at full speed.
std::vector<char*> ProgramEnvironment() {
  const std::string job = std::string(kJobVariable) + "=";
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, job.c_str(), job.size()) != 0) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  return variables;
}

// The gate must have the core at once when a slice is over, before the program. Both stay behind
// the main job by the group they are in.
void GoBeforeTheProgram() {
  const sched_param no_parameters = {};
  sched_setscheduler(0, SCHED_OTHER, &no_parameters);
  prctl(PR_SET_TIMERSLACK, 1);
}

[[noreturn]] void EndLike(const ProgramEnd& end) {
  if (end.signal == 0) _exit(end.exit_code);
  // The program has left its core file already, if any.
  const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(end.signal, SIG_DFL);
  raise(end.signal);
  _exit(128 + end.signal);
}

int Run(const Arguments& arguments) {
  ChildProgram::Options options = {.argv = {},
                                   .environment = ProgramEnvironment(),
                                   .scheduling_class = sched_getscheduler(0),
                                   .timer_slack_ns = prctl(PR_GET_TIMERSLACK)};
  for (char** word = arguments.command; *word != nullptr; ++word) options.argv.push_back(*word);
  options.argv.push_back(nullptr);
  GoBeforeTheProgram();
  SystemFutex futex;
  const SystemClock clock;
  SignalNotices notices;
  OwnDescendants descendants(futex);
  std::unique_ptr<Hold> hold;
  if (!arguments.group.empty()) hold = FreezerHold::Open(arguments.group, clock, futex);
  if (hold == nullptr) hold = std::make_unique<SignalHold>(descendants, clock);
  const ProgramClock program_clock(*hold);
  Error error;
  const std::unique_ptr<FillTask> task =
      FillTask::Attach({.clock = program_clock, .futex = futex, .unit_hint_ns = kStopGuessNs}, "",
                       ProcessEnvironment(), &error);
  if (!error.ok()) std::fprintf(stderr, "pipefill-process: %s\n", error.text.c_str());
  if (task->is_refused()) return kNotRun;
  ChildProgram program;
  error = program.Start(options, *hold);
  if (!error.ok()) {
    std::fprintf(stderr, "pipefill-process: %s\n", error.text.c_str());
    return kNotRun;
  }
  ProcessGate gate({.task = *task,
                    .hold = *hold,
                    .program = program,
                    .notices = notices,
                    .clock = program_clock});
  const bool was_run = gate.Run();
  if (!was_run) return kNotRun;
  EndLike(program.end());
}

}  // namespace
}  // namespace pipefill::sdk

int main(int argc, char** argv) {
  pipefill::sdk::Arguments arguments;
  if (!pipefill::sdk::Parse(argc, argv, &arguments)) {
    std::fprintf(stderr, "usage: pipefill-process [--group FOLDER] -- PROGRAM ARGS...\n");
    return 2;
  }
  return pipefill::sdk::Run(arguments);
}
