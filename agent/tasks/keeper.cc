#include "agent/tasks/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "agent/tasks/exit_record.h"

namespace pipefill {
namespace {

// Where the keeper has its descriptors; the task inherits them and loses them at exec.
constexpr int kReport = 3;
constexpr int kFolder = 4;
constexpr KeptStream kOutput = {.reader = 5, .file = 6, .writer = 7, .times = 8};
constexpr KeptStream kError = {.reader = 9, .file = 10, .writer = 11, .times = 12};
constexpr int kNull = 13;
constexpr unsigned kFirstForeign = 14;
static_assert(kFirstForeign <= kPlanDescriptorMin);

// How often the keeper looks by itself if the kernel has no descriptors for processes.
constexpr int kLookMs = 100;

void CloseFrom(unsigned first) {
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  const long limit = sysconf(_SC_OPEN_MAX);  // NOLINT(google-runtime-int)
  for (int fd = static_cast<int>(first); fd < limit; ++fd) close(fd);
}

void TakeStream(const KeptStream& from, const KeptStream& to) {
  dup3(from.reader, to.reader, O_CLOEXEC);
  dup3(from.file, to.file, O_CLOEXEC);
  dup3(from.writer, to.writer, O_CLOEXEC);
  dup3(from.times, to.times, O_CLOEXEC);
}

void TakeDescriptors(const KeeperPlan& plan) {
  dup3(plan.report, kReport, O_CLOEXEC);
  dup3(plan.folder, kFolder, O_CLOEXEC);
  TakeStream(plan.output, kOutput);
  TakeStream(plan.error, kError);
  dup3(plan.null_input, kNull, O_CLOEXEC);
  CloseFrom(kFirstForeign);
  dup2(kNull, STDIN_FILENO);
  dup2(kNull, STDOUT_FILENO);
  dup2(kNull, STDERR_FILENO);
}

void SendNews(const StartNews& news) {
  const ssize_t ignored = write(kReport, &news, sizeof(news));
  static_cast<void>(ignored);
}

void HandleBrokenPipe(void (*how)(int)) {
  struct sigaction action = {};
  action.sa_handler = how;
  sigaction(SIGPIPE, &action, nullptr);
}

[[noreturn]] void Fail(StartStep step, int error_number) {
  SendNews({.step = step, .error_number = error_number});
  _exit(127);
}

// Best effort: raising one's own score needs no right.
void BecomeFirstVictim() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t ignored = write(file, "1000", 4);
  static_cast<void>(ignored);
  close(file);
}

void LimitData(int64_t max_bytes) {
  if (max_bytes == 0) return;
  const auto bytes = static_cast<rlim_t>(max_bytes);
  const rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
  setrlimit(RLIMIT_DATA, &limit);
}

[[noreturn]] void RunTask(const KeeperPlan& plan, pid_t keeper) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(127);
  setsid();
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
  }
  // Without an agentd nobody reads the news, and the task goes on.
  HandleBrokenPipe(SIG_IGN);
  sigset_t none = {};
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);
  dup2(kOutput.writer, STDOUT_FILENO);
  dup2(kError.writer, STDERR_FILENO);
  SendNews({.step = StartStep::kForked, .task = getpid()});

  BecomeFirstVictim();
  const int device_error = plan.device == nullptr ? 0 : plan.device->ApplyInChild();
  if (device_error != 0) Fail(StartStep::kDevice, device_error);
  const int group_error = plan.group->JoinInChild();
  if (group_error != 0) Fail(StartStep::kGroup, group_error);
  LimitData(plan.data_max_bytes);
  if (chdir(plan.workdir) != 0) Fail(StartStep::kWorkdir, errno);
  HandleBrokenPipe(SIG_DFL);
  execve(plan.program, plan.argv, plan.environment);
  const int exec_error = errno;
  HandleBrokenPipe(SIG_IGN);
  Fail(StartStep::kExec, exec_error);
}

// Leaves the task unreaped, so that its number stays its own.
bool HasEnded(pid_t task, siginfo_t* info) {
  *info = {};
  return waitid(P_PID, static_cast<id_t>(task), info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info->si_pid != 0;
}

int64_t UnixNs() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

LogCopy::Descriptors DescriptorsOf(const KeptStream& stream) {
  return {.reader = stream.reader, .file = stream.file, .times = stream.times};
}

// Tells of a log that cannot be written, once.
class LogErrors {
 public:
  void Look(const LogCopy& output, const LogCopy& error) {
    if (is_noted_) return;
    const int number = output.error_number() != 0 ? output.error_number() : error.error_number();
    if (number == 0) return;
    is_noted_ = true;
    NoteLogError(kFolder, number);
  }

 private:
  bool is_noted_ = false;
};

// Copies logs until the task has ended.
void Attend(pid_t task, LogCopy* output, LogCopy* error, siginfo_t* info) {
  const int task_descriptor = static_cast<int>(syscall(SYS_pidfd_open, task, 0));
  LogErrors errors;
  while (!HasEnded(task, info)) {
    pollfd entries[] = {
        {.fd = task_descriptor, .events = POLLIN, .revents = 0},
        {.fd = output->is_over() ? -1 : kOutput.reader, .events = POLLIN, .revents = 0},
        {.fd = error->is_over() ? -1 : kError.reader, .events = POLLIN, .revents = 0}};
    poll(entries, 3, task_descriptor < 0 ? kLookMs : -1);
    if (entries[1].revents != 0) output->Copy(LogCopy::kTurnBytes, UnixNs());
    if (entries[2].revents != 0) error->Copy(LogCopy::kTurnBytes, UnixNs());
    errors.Look(*output, *error);
  }
}

}  // namespace

[[noreturn]] void RunKeeper(const KeeperPlan& plan) noexcept {
  // Its own group, but agentd's session: sessions are what the kernel's scheduler weighs.
  setpgid(0, 0);
  sigset_t all = {};
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
  // Where it is ignored, the kernel keeps no exit of a child.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &standard, nullptr);
  prctl(PR_SET_NAME, "pipefill-keeper");
  TakeDescriptors(plan);
  const pid_t keeper = getpid();
  // Not fork(): handlers that libraries registered for it would run in the child.
  const pid_t task = _Fork();
  if (task < 0) Fail(StartStep::kFork, errno);
  if (task == 0) RunTask(plan, keeper);
  for (const int fd : {kReport, kOutput.writer, kError.writer, kNull}) close(fd);

  LogCopy output(DescriptorsOf(kOutput), plan.log_limit);
  LogCopy error(DescriptorsOf(kError), plan.log_limit);
  siginfo_t info = {};
  Attend(task, &output, &error, &info);
  kill(-task, SIGKILL);
  // Reaped by somebody else, which cannot be: better say nothing than a wrong end.
  if (info.si_pid == 0) kill(keeper, SIGKILL);
  output.Copy(LogCopy::kFinishBytes, UnixNs());
  error.Copy(LogCopy::kFinishBytes, UnixNs());

  ExitRecord record;
  record.log_error = output.error_number() != 0 ? output.error_number() : error.error_number();
  (info.si_code == CLD_EXITED ? record.exit.exit_code : record.exit.signal) = info.si_status;
  const bool is_written = WriteExitRecord(kFolder, record);
  waitid(P_PID, static_cast<id_t>(task), &info, WEXITED);
  if (is_written) _exit(0);
  _exit(record.exit.signal != 0 ? 128 + record.exit.signal : record.exit.exit_code);
}

}  // namespace pipefill
