#include "agent/tasks/launcher.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/status.h"

namespace pipefill {
namespace {

enum class StartStep : int { kDevice, kWorkdir, kExec };

// What the child writes when it cannot become the program.
struct StartFailure {
  StartStep step;
  int error_number;
};

// Everything the child needs, made before the fork: the child must not allocate.
struct ChildPlan {
  const char* program;
  char* const* argv;
  char* const* environment;
  const char* workdir;
  int null_input;
  int output;
  int error;
  int report;  // written on failure
  const Device* device;
};

// Descriptors of the child. The plan's own lie above these, so that no dup2 overwrites a source.
constexpr int kReportDescriptor = 3;
constexpr int kPlanDescriptorMin = 16;
// How long a destroyed Process waits for its leader, which was sent SIGKILL.
constexpr int kReapWaitMs = 200;

void CloseFrom(unsigned first) {
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
  const long limit = sysconf(_SC_OPEN_MAX);  // NOLINT(google-runtime-int)
  for (int fd = static_cast<int>(first); fd < limit; ++fd) close(fd);
}

// Best effort: raising one's own score needs no right.
void BecomeFirstVictim() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t ignored = write(file, "1000", 4);
  static_cast<void>(ignored);
  close(file);
}

[[noreturn]] void FailChild(StartStep step, int error_number) {
  const StartFailure failure = {.step = step, .error_number = error_number};
  const ssize_t ignored = write(kReportDescriptor, &failure, sizeof(failure));
  static_cast<void>(ignored);
  _exit(127);
}

// Runs in the child; async-signal-safe calls only.
[[noreturn]] void RunChild(const ChildPlan& plan) {
  setsid();
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(signal, &standard, nullptr);
  }
  sigset_t none = {};
  sigemptyset(&none);
  pthread_sigmask(SIG_SETMASK, &none, nullptr);

  dup2(plan.null_input, STDIN_FILENO);
  dup2(plan.output, STDOUT_FILENO);
  dup2(plan.error, STDERR_FILENO);
  dup3(plan.report, kReportDescriptor, O_CLOEXEC);
  CloseFrom(kReportDescriptor + 1);

  BecomeFirstVictim();
  const int device_error = plan.device == nullptr ? 0 : plan.device->ApplyInChild();
  if (device_error != 0) FailChild(StartStep::kDevice, device_error);
  if (chdir(plan.workdir) != 0) FailChild(StartStep::kWorkdir, errno);
  execve(plan.program, plan.argv, plan.environment);
  FailChild(StartStep::kExec, errno);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  FileDescriptor reader;
  FileDescriptor writer;
};

absl::StatusOr<FileDescriptor> MoveUp(int fd) {
  FileDescriptor moved(fcntl(fd, F_DUPFD_CLOEXEC, kPlanDescriptorMin));
  if (!moved.is_open()) return ErrnoStatus(errno, "duplicate a descriptor for a task");
  return moved;
}

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe for a task");
  const FileDescriptor reader(ends[0]);
  const FileDescriptor writer(ends[1]);
  Pipe pipe;
  ASSIGN_OR_RETURN(pipe.reader, MoveUp(reader.get()));
  ASSIGN_OR_RETURN(pipe.writer, MoveUp(writer.get()));
  return pipe;
}

std::string PathOf(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    absl::string_view value = entry;
    if (absl::ConsumePrefix(&value, "PATH=") && !value.empty()) return std::string(value);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace

absl::StatusOr<std::string> FindProgram(const LaunchRequest& request) {
  const std::string& name = request.command[0];
  const auto in_workdir = [&](absl::string_view path) {
    return absl::StartsWith(path, "/") ? std::string(path)
                                       : absl::StrCat(request.workdir, "/", path);
  };
  std::vector<std::string> candidates;
  if (absl::StrContains(name, '/')) {
    candidates.push_back(in_workdir(name));
  } else if (!name.empty()) {
    for (const auto& folder : absl::StrSplit(PathOf(request.environment), ':')) {
      candidates.push_back(in_workdir(absl::StrCat(folder.empty() ? "." : folder, "/", name)));
    }
  }
  std::string forbidden;
  for (const std::string& path : candidates) {
    if (access(path.c_str(), X_OK) == 0) return path;
    if (errno == EACCES && forbidden.empty()) forbidden = path;
  }
  if (!forbidden.empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat("cannot run ", forbidden, ": permission denied; make it executable"));
  }
  return absl::NotFoundError(absl::StrCat("command not found: ", name));
}

absl::StatusOr<std::unique_ptr<Process>> Process::Launch(EventLoop& loop,
                                                         const LaunchRequest& request,
                                                         Callbacks callbacks) {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(request));
  std::unique_ptr<Process> process(new Process(loop, std::move(callbacks)));
  RETURN_IF_ERROR(process->Start(request, program));
  return process;
}

absl::Status Process::Start(const LaunchRequest& request, const std::string& program) {
  program_ = program;
  workdir_ = request.workdir;
  const std::vector<char*> argv = Pointers(request.command);
  const std::vector<char*> environment = Pointers(request.environment);
  const FileDescriptor null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.is_open()) return ErrnoStatus(errno, "open /dev/null");
  ASSIGN_OR_RETURN(const FileDescriptor input, MoveUp(null.get()));
  ASSIGN_OR_RETURN(const FileDescriptor output, MoveUp(request.stdout_descriptor));
  ASSIGN_OR_RETURN(const FileDescriptor error, MoveUp(request.stderr_descriptor));
  ASSIGN_OR_RETURN(Pipe report, MakePipe());
  const ChildPlan plan = {.program = program_.c_str(),
                          .argv = argv.data(),
                          .environment = environment.data(),
                          .workdir = workdir_.c_str(),
                          .null_input = input.get(),
                          .output = output.get(),
                          .error = error.get(),
                          .report = report.writer.get(),
                          .device = request.device};

  // Not fork(): handlers that libraries registered for it would run in the child.
  const pid_t pid = _Fork();
  if (pid < 0) return ErrnoStatus(errno, "make a process for a task");
  if (pid == 0) RunChild(plan);
  pid_ = pid;
  report.writer.Close();
  report_ = std::move(report.reader);
  pid_descriptor_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!pid_descriptor_.is_open()) return ErrnoStatus(errno, "watch a task's process");
  report_watch_ = loop_.WatchReadable(report_.get(), [this] { ReadStartReport(); });
  pid_watch_ = loop_.WatchReadable(pid_descriptor_.get(), [this] { OnLeaderGone(); });
  return absl::OkStatus();
}

Process::~Process() {
  if (report_watch_.has_value()) loop_.Unwatch(*report_watch_);
  if (pid_watch_.has_value()) loop_.Unwatch(*pid_watch_);
  if (pid_ == 0 || is_reaped_) return;
  kill(pid_, SIGKILL);
  kill(-pid_, SIGKILL);
  pollfd gone = {.fd = pid_descriptor_.get(), .events = POLLIN, .revents = 0};
  if (pid_descriptor_.is_open()) poll(&gone, 1, kReapWaitMs);
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG);
}

void Process::SignalGroup(int signal) {
  if (is_reaped_) return;
  // The group does not exist before the child's setsid.
  if (kill(-pid_, signal) != 0) kill(pid_, signal);
}

void Process::ReadStartReport() {
  if (!report_watch_.has_value()) return;
  StartFailure failure = {};
  const ssize_t count = read(report_.get(), &failure, sizeof(failure));
  loop_.Unwatch(*report_watch_);
  report_watch_ = std::nullopt;
  report_.Close();
  if (count != static_cast<ssize_t>(sizeof(failure))) {
    callbacks_.on_started();
    return;
  }
  // strerror is safe here: one thread, the loop's.
  const char* reason = strerror(failure.error_number);  // NOLINT(concurrency-mt-unsafe)
  callbacks_.on_failed(absl::StrCat(DescribeStep(static_cast<int>(failure.step)), ": ", reason));
}

std::string Process::DescribeStep(int step) const {
  switch (static_cast<StartStep>(step)) {
    case StartStep::kDevice:
      return "cannot tie the task to its device";
    case StartStep::kWorkdir:
      return absl::StrCat("cannot enter the work folder ", workdir_);
    case StartStep::kExec:
      return absl::StrCat("cannot run ", program_);
  }
  return "cannot start";
}

void Process::OnLeaderGone() {
  // Both descriptors may have become readable at once, in any order.
  ReadStartReport();
  // While the leader is not reaped, its number cannot be given to another group.
  kill(-pid_, SIGKILL);
  siginfo_t info = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0) {
    return;
  }
  loop_.Unwatch(*pid_watch_);
  pid_watch_ = std::nullopt;
  is_reaped_ = true;
  ProcessExit exit;
  (info.si_code == CLD_EXITED ? exit.exit_code : exit.signal) = info.si_status;
  // Taken out first: it may destroy this.
  const std::function<void(ProcessExit)> on_exited = std::move(callbacks_.on_exited);
  on_exited(exit);
}

}  // namespace pipefill
