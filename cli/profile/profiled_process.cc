#include "cli/profile/profiled_process.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "common/file_descriptor.h"
#include "common/files.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(20);

// Pins this process, and whom it starts, until it is destroyed.
class Pinning {
 public:
  explicit Pinning(const std::vector<int>& cores) {
    if (cores.empty()) return;
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int core : cores) {
      if (core < CPU_SETSIZE) CPU_SET(core, &set);
    }
    is_pinned_ = sched_setaffinity(0, sizeof(set), &set) == 0;
    if (is_pinned_) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat("--cores: cannot run on ", FormatCores(cores), ": ", strerror(errno)));
  }
  ~Pinning() {
    if (is_pinned_) sched_setaffinity(0, sizeof(before_), &before_);
  }
  Pinning(const Pinning&) = delete;
  Pinning& operator=(const Pinning&) = delete;

  const absl::Status& status() const { return status_; }

 private:
  cpu_set_t before_ = {};
  bool is_pinned_ = false;
  absl::Status status_;
};

// Interrupts from the terminal are for the program that runs.
class InterruptsIgnored {
 public:
  InterruptsIgnored() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGINT, &ignore, &before_);
  }
  ~InterruptsIgnored() { sigaction(SIGINT, &before_, nullptr); }
  InterruptsIgnored(const InterruptsIgnored&) = delete;
  InterruptsIgnored& operator=(const InterruptsIgnored&) = delete;

 private:
  struct sigaction before_ = {};
};

std::vector<std::string> EnvironmentWith(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (variables.count(text.substr(0, text.find('='))) == 0) environment.push_back(text);
  }
  for (const auto& [name, value] : variables) {
    environment.push_back(absl::StrCat(name, "=", value));
  }
  return environment;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

absl::StatusOr<pid_t> Spawn(const ProfiledCommand& command) {
  std::vector<std::string> words = command.command;
  std::vector<std::string> environment = EnvironmentWith(command.environment);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t interrupts;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  posix_spawnattr_setsigdefault(&attributes, &interrupts);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, words[0].c_str(), nullptr, &attributes,
                                 Pointers(words).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return ErrnoStatus(error, absl::StrCat("cannot run ", words[0]));
  return pid;
}

absl::Duration DurationOf(const timeval& time) {
  return absl::Seconds(time.tv_sec) + absl::Microseconds(time.tv_usec);
}

struct Process {
  pid_t parent = 0;
  int64_t memory_bytes = 0;
};

std::optional<Process> ReadProcess(const std::string& folder) {
  const absl::StatusOr<std::string> text = ReadFile(folder + "/stat");
  if (!text.ok()) return std::nullopt;
  // Behind the name, which may hold anything: state, parent, .. resident pages.
  constexpr size_t kParentField = 1;
  constexpr size_t kResidentField = 21;
  const size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  const std::vector<std::string> fields =
      absl::StrSplit(text->substr(name_end + 1), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  Process process;
  int64_t pages = 0;
  const bool is_whole = fields.size() > kResidentField &&
                        absl::SimpleAtoi(fields[kParentField], &process.parent) &&
                        absl::SimpleAtoi(fields[kResidentField], &pages);
  if (!is_whole) return std::nullopt;
  process.memory_bytes = pages * sysconf(_SC_PAGESIZE);
  return process;
}

std::map<pid_t, Process> ReadProcesses() {
  std::map<pid_t, Process> processes;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry("/proc", failure), end; entry != end && !failure;
       entry.increment(failure)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->path().filename().string(), &pid)) continue;
    const std::optional<Process> process = ReadProcess(entry->path().string());
    if (process.has_value()) processes[pid] = *process;
  }
  return processes;
}

}  // namespace

int64_t FamilyMemoryBytes(pid_t root) {
  const std::map<pid_t, Process> processes = ReadProcesses();
  int64_t memory_bytes = 0;
  for (const auto& [pid, process] : processes) {
    // Up the line of parents; no longer than there are processes, should it change meanwhile.
    pid_t ancestor = pid;
    for (size_t i = 0; i < processes.size() && ancestor > 1 && ancestor != root; ++i) {
      const auto parent = processes.find(ancestor);
      ancestor = parent == processes.end() ? 0 : parent->second.parent;
    }
    if (ancestor == root) memory_bytes += process.memory_bytes;
  }
  return memory_bytes;
}

absl::StatusOr<ProfiledEnd> RunProfiled(const ProfiledCommand& command, const Clock& clock) {
  const Pinning pinning(command.cores);
  RETURN_IF_ERROR(pinning.status());
  const InterruptsIgnored ignored;
  const Instant begin = clock.Now();
  ASSIGN_OR_RETURN(const pid_t pid, Spawn(command));
  const FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  ProfiledEnd end;
  int status = 0;
  rusage used = {};
  while (true) {
    const pid_t ended = wait4(pid, &status, WNOHANG, &used);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) return ErrnoStatus(errno, "wait for the program");
    end.memory_peak_bytes = std::max(end.memory_peak_bytes, FamilyMemoryBytes(pid));
    pollfd ended_or_time = {.fd = process.get(), .events = POLLIN, .revents = 0};
    poll(&ended_or_time, 1, static_cast<int>(absl::ToInt64Milliseconds(kLookEvery)));
  }
  end.wall = clock.Now() - begin;
  end.cpu = DurationOf(used.ru_utime) + DurationOf(used.ru_stime);
  end.memory_peak_bytes = std::max<int64_t>(end.memory_peak_bytes, used.ru_maxrss * 1024);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

}  // namespace pipefill
