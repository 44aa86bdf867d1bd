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
#include "agent/devices/process_stat.h"
#include "agent/tasks/exit_record.h"
#include "common/log.h"
#include "common/status.h"

namespace pipefill {
namespace {

// How long a destroyed Process waits for its keeper to end.
constexpr int kEndWaitMs = 1000;

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

absl::StatusOr<FileDescriptor> OpenHigh(const std::string& path, int flags) {
  const FileDescriptor file(open(path.c_str(), flags | O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus(errno, "open " + path);
  return MoveUp(file.get());
}

// For StartNews; reading does not block.
absl::StatusOr<Pipe> MakeReportPipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "make a pipe for a task");
  Pipe pipe = {.reader = FileDescriptor(ends[0]), .writer = FileDescriptor(ends[1])};
  if (fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK) != 0) {
    return ErrnoStatus(errno, "set up a pipe for a task");
  }
  ASSIGN_OR_RETURN(pipe.writer, MoveUp(pipe.writer.get()));
  return pipe;
}

absl::StatusOr<LogPipe> MakeHighLogPipe(const std::string& path) {
  ASSIGN_OR_RETURN(LogPipe log, MakeLogPipe(path));
  for (FileDescriptor* end : {&log.file, &log.reader, &log.writer, &log.times}) {
    ASSIGN_OR_RETURN(*end, MoveUp(end->get()));
  }
  return log;
}

KeptStream StreamOf(const LogPipe& log) {
  return {.reader = log.reader.get(),
          .file = log.file.get(),
          .writer = log.writer.get(),
          .times = log.times.get()};
}

std::string PathOf(const std::vector<std::string>& environment) {
  for (const std::string& entry : environment) {
    absl::string_view value = entry;
    if (absl::ConsumePrefix(&value, "PATH=") && !value.empty()) return std::string(value);
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace

std::optional<ProcessId> FindProcessId(pid_t pid) {
  const std::optional<ProcessStat> stat = ReadProcess(pid);
  if (!stat.has_value()) return std::nullopt;
  return ProcessId{.pid = pid, .start_ticks = stat->start_ticks};
}

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

absl::StatusOr<std::unique_ptr<Process>> Process::Adopt(EventLoop& loop,
                                                        const AdoptRequest& request,
                                                        Callbacks callbacks) {
  std::unique_ptr<Process> process(new Process(loop, std::move(callbacks)));
  process->is_over_ = true;  // not ours to kill yet
  process->pid_ = request.leader;
  process->folder_ = request.folder;
  RETURN_IF_ERROR(process->Watch(request.keeper.pid));
  if (process->keeper_ != request.keeper) {
    return absl::NotFoundError(absl::StrCat("no keeper with pid ", request.keeper.pid));
  }
  process->is_over_ = false;
  return process;
}

absl::Status Process::Start(const LaunchRequest& request, const std::string& program) {
  program_ = program;
  workdir_ = request.workdir;
  folder_ = request.folder;
  const std::vector<char*> argv = Pointers(request.command);
  const std::vector<char*> environment = Pointers(request.environment);
  const std::string cut_note = LogCutNote(request.log_max_bytes);
  ASSIGN_OR_RETURN(const FileDescriptor input, OpenHigh("/dev/null", O_RDONLY));
  ASSIGN_OR_RETURN(const FileDescriptor folder, OpenHigh(folder_, O_RDONLY | O_DIRECTORY));
  // Without it there still is the keeper's exit code, for this agentd.
  const bool is_reserved = ReserveExitRecord(folder.get());
  if (!is_reserved) spdlog::warn("exit_not_reserved folder={}", folder_);
  ASSIGN_OR_RETURN(const LogPipe output, MakeHighLogPipe(request.stdout_log));
  ASSIGN_OR_RETURN(const LogPipe error, MakeHighLogPipe(request.stderr_log));
  ASSIGN_OR_RETURN(Pipe report, MakeReportPipe());
  const KeeperPlan plan = {
      .program = program_.c_str(),
      .argv = argv.data(),
      .environment = environment.data(),
      .workdir = workdir_.c_str(),
      .device = request.device,
      .group = &request.group,
      .data_max_bytes = request.data_max_bytes,
      .null_input = input.get(),
      .report = report.writer.get(),
      .folder = folder.get(),
      .output = StreamOf(output),
      .error = StreamOf(error),
      .log_limit = {.size_max_bytes = request.log_max_bytes, .cut_note = cut_note.c_str()}};

  // Not fork(): handlers that libraries registered for it would run in the child.
  const pid_t pid = _Fork();
  if (pid < 0) return ErrnoStatus(errno, "make a process for a task");
  if (pid == 0) RunKeeper(plan);
  keeper_.pid = pid;
  report_ = std::move(report.reader);
  RETURN_IF_ERROR(Watch(pid));
  report_watch_ = loop_.WatchReadable(report_.get(), [this] { ReadStartNews(); });
  return absl::OkStatus();
}

absl::Status Process::Watch(pid_t keeper) {
  keeper_descriptor_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, keeper, 0)));
  if (!keeper_descriptor_.is_open()) {
    if (errno == ESRCH) return absl::NotFoundError(absl::StrCat("no process with pid ", keeper));
    return ErrnoStatus(errno, "watch a task's process");
  }
  // After the descriptor was taken: from then on it is known whether the number is still the same
  // process's.
  keeper_ = FindProcessId(keeper).value_or(ProcessId{.pid = keeper});
  keeper_watch_ = loop_.WatchReadable(keeper_descriptor_.get(), [this] { OnKeeperGone(); });
  return absl::OkStatus();
}

Process::~Process() {
  if (report_watch_.has_value()) loop_.Unwatch(*report_watch_);
  if (keeper_watch_.has_value()) loop_.Unwatch(*keeper_watch_);
  if (keeper_.pid == 0 || is_over_) return;
  SignalGroup(SIGKILL);
  pollfd gone = {.fd = keeper_descriptor_.get(), .events = POLLIN, .revents = 0};
  if (keeper_descriptor_.is_open()) poll(&gone, 1, kEndWaitMs);
  kill(keeper_.pid, SIGKILL);
  siginfo_t info = {};
  waitid(P_PID, static_cast<id_t>(keeper_.pid), &info, WEXITED | WNOHANG);
}

void Process::SignalGroup(int signal) {
  if (is_over_) return;
  if (pid_ == 0) {
    // The task, if there is one already, dies with its keeper.
    if (signal == SIGKILL) kill(keeper_.pid, SIGKILL);
    return;
  }
  // The group does not exist before the task's setsid.
  if (kill(-pid_, signal) != 0) kill(pid_, signal);
}

void Process::ReadStartNews() {
  while (report_watch_.has_value()) {
    StartNews news;
    const ssize_t count = read(report_.get(), &news, sizeof(news));
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count != static_cast<ssize_t>(sizeof(news))) {
      EndStartNews();
      return callbacks_.on_started();
    }
    if (news.step == StartStep::kForked) {
      pid_ = news.task;
      callbacks_.on_forked();
      continue;
    }
    EndStartNews();
    // strerror is safe here: one thread, the loop's.
    const char* reason = strerror(news.error_number);  // NOLINT(concurrency-mt-unsafe)
    return callbacks_.on_failed(absl::StrCat(DescribeStep(news.step), ": ", reason));
  }
}

void Process::EndStartNews() {
  if (report_watch_.has_value()) loop_.Unwatch(*report_watch_);
  report_watch_ = std::nullopt;
  report_.Close();
}

std::string Process::DescribeStep(StartStep step) const {
  switch (step) {
    case StartStep::kForked:
      break;
    case StartStep::kFork:
      return "cannot make a process for the task";
    case StartStep::kDevice:
      return "cannot tie the task to its device";
    case StartStep::kGroup:
      return "cannot put the task into its control group";
    case StartStep::kWorkdir:
      return absl::StrCat("cannot enter the work folder ", workdir_);
    case StartStep::kExec:
      return absl::StrCat("cannot run ", program_);
  }
  return "cannot start";
}

void Process::OnKeeperGone() {
  // Both descriptors may have become readable at once, in any order.
  ReadStartNews();
  EndStartNews();
  loop_.Unwatch(*keeper_watch_);
  keeper_watch_ = std::nullopt;
  is_over_ = true;
  std::optional<ProcessExit> exit;
  siginfo_t info = {};
  // Fails for an adopted one, which somebody else reaps.
  if (waitid(P_PID, static_cast<id_t>(keeper_.pid), &info, WEXITED | WNOHANG) == 0 &&
      info.si_code == CLD_EXITED && info.si_status != 0) {
    exit = ProcessExit{.exit_code = info.si_status};
  }
  if (const std::optional<ExitRecord> record = ReadExitRecord(folder_); record.has_value()) {
    exit = record->exit;
    if (record->log_error != 0) {
      exit->log_error = std::string(ErrnoStatus(record->log_error, "write").message());
      spdlog::warn("log_stopped folder={} error=\"{}\"", folder_, exit->log_error);
    }
  }
  // Taken out first: it may destroy this.
  const auto on_exited = std::move(callbacks_.on_exited);
  on_exited(exit);
}

}  // namespace pipefill
