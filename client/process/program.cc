#include "client/process/program.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pipefill::sdk {
namespace {

constexpr int kNotFound = 127;
constexpr int kCannotRun = 126;

[[noreturn]] void Fail(const char* what, const char* name, int error_number) {
  // One thread: nobody else uses the buffer.
  const char* reason = strerror(error_number);  // NOLINT(concurrency-mt-unsafe)
  std::fprintf(stderr, "pipefill-process: %s %s: %s\n", what, name, reason);
  std::fflush(stderr);
  _exit(error_number == ENOENT ? kNotFound : kCannotRun);
}

[[noreturn]] void RunProgram(const ChildProgram::Options& options, Hold& hold, pid_t gate) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != gate) _exit(kCannotRun);
  // A group of its own: what it sends to "its group" must not reach the gate.
  setpgid(0, 0);
  const sched_param no_parameters = {};
  sched_setscheduler(0, options.scheduling_class, &no_parameters);
  prctl(PR_SET_TIMERSLACK, options.timer_slack_ns);
  sigset_t none = {};
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  const int error_number = hold.EnterInChild();
  if (error_number != 0) Fail("cannot hold", options.argv[0], error_number);
  execvpe(options.argv[0], options.argv.data(), options.environment.data());
  Fail("cannot run", options.argv[0], errno);
}

}  // namespace

Error ChildProgram::Start(const Options& options, Hold& hold) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t gate = getpid();
  const pid_t pid = fork();
  if (pid < 0) return SystemError("make a process for the program", errno);
  if (pid == 0) RunProgram(options, hold, gate);
  pid_ = pid;
  hold.OnStarted(pid);
  return {};
}

bool ChildProgram::Reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return is_over_;
    if (pid != pid_) continue;  // an orphan
    is_over_ = true;
    if (WIFSIGNALED(status)) {
      end_.signal = WTERMSIG(status);
    } else {
      end_.exit_code = WEXITSTATUS(status);
    }
  }
}

void ChildProgram::Send(int signal) {
  if (is_over_) return;
  // Also to the program itself, should it have left its group.
  if (kill(-pid_, signal) != 0 || getpgid(pid_) != pid_) kill(pid_, signal);
}

}  // namespace pipefill::sdk
