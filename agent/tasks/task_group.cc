#include "agent/tasks/task_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "agent/devices/group_files.h"
#include "common/files.h"

namespace pipefill {
namespace {

constexpr char kParent[] = "pipefill";
constexpr char kHeld[] = "held";
constexpr mode_t kFolderMode = 0755;
constexpr int kKillRounds = 200;

bool Set(const std::string& folder, absl::string_view file, absl::string_view value) {
  return WriteGroupFile(absl::StrCat(folder, "/", file).c_str(), value) == 0;
}

bool MakeFolder(const std::string& path) {
  return mkdir(path.c_str(), kFolderMode) == 0 || errno == EEXIST;
}

bool IsFolder(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// The number behind `name` in lines like "oom_kill 3"; 0 if there is none.
int64_t NumberIn(const std::string& path, absl::string_view name) {
  const std::string text = ReadFile(path).value_or("");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    int64_t number = 0;
    if (words.size() == 2 && words[0] == name && absl::SimpleAtoi(words[1], &number)) return number;
  }
  return 0;
}

// Where controller `name` of version 1 has our group: mount folder and own path.
std::string FindVersion1(absl::string_view mounts, absl::string_view own_groups,
                         absl::string_view name) {
  std::string own;
  for (const absl::string_view line : absl::StrSplit(own_groups, '\n', absl::SkipEmpty())) {
    // number:controllers:path
    const std::vector<absl::string_view> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() == 3 && HasWord(parts[1], ",", name)) own = std::string(parts[2]);
  }
  for (const absl::string_view line : absl::StrSplit(mounts, '\n', absl::SkipEmpty())) {
    // device, folder, type, options, ...
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() < 4 || words[2] != "cgroup" || !HasWord(words[3], ",", name)) continue;
    return absl::StrCat(words[1], own == "/" ? "" : own);
  }
  return "";
}

std::string FindVersion2(absl::string_view mounts) {
  for (const absl::string_view line : absl::StrSplit(mounts, '\n', absl::SkipEmpty())) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    if (words.size() >= 3 && words[2] == "cgroup2") return std::string(words[1]);
  }
  return "";
}

std::string Parent(const std::string& folder) {
  if (folder.empty()) return "";
  std::string parent = absl::StrCat(folder, "/", kParent);
  return MakeFolder(parent) && access(parent.c_str(), W_OK) == 0 ? parent : "";
}

// Whether groups in `parent`, itself in `root`, have the controller.
bool Enable(const std::string& root, const std::string& parent, absl::string_view name) {
  const std::string known = ReadFile(root + "/cgroup.controllers").value_or("");
  if (!HasWord(known, " \n", name)) return false;
  const std::string order = absl::StrCat("+", name);
  Set(root, "cgroup.subtree_control", order);
  return Set(parent, "cgroup.subtree_control", order);
}

void RemoveGroup(const std::string& folder) {
  Set(folder, "cgroup.kill", "1");
  rmdir(absl::StrCat(folder, "/", kHeld).c_str());
  rmdir(folder.c_str());
}

}  // namespace

int TaskGroup::JoinInChild() const noexcept {
  for (const std::string& file : procs_files_) {
    const int error = WriteGroupFile(file.c_str(), "0");
    if (error != 0) return error;
  }
  return 0;
}

int64_t TaskGroup::CountProcessesDenied() const {
  return pids_folder_.empty() ? 0 : NumberIn(pids_folder_ + "/pids.events", "max");
}

int64_t TaskGroup::CountMemoryKills() const {
  if (memory_folder_.empty()) return 0;
  return NumberIn(
      absl::StrCat(memory_folder_, is_memory_version_2_ ? "/memory.events" : "/memory.oom_control"),
      "oom_kill");
}

int64_t TaskGroup::ReadMemoryPeak() const {
  if (memory_folder_.empty()) return 0;
  const char* file = is_memory_version_2_ ? "/memory.peak" : "/memory.max_usage_in_bytes";
  int64_t bytes = 0;
  const bool is_read =
      absl::SimpleAtoi(ReadFile(absl::StrCat(memory_folder_, file)).value_or(""), &bytes);
  return is_read ? bytes : 0;
}

void TaskGroup::KillAll() const {
  if (!held_folder_.empty()) Set(held_folder_, "cgroup.kill", "1");
  // What forks meanwhile is caught in the next round: those that are killed do not fork any more.
  for (int round = 0; round < kKillRounds; ++round) {
    bool is_any_left = false;
    for (const std::string& file : procs_files_) {
      const std::string pids = ReadFile(file).value_or("");
      for (const absl::string_view word : absl::StrSplit(pids, '\n', absl::SkipEmpty())) {
        pid_t pid = 0;
        if (!absl::SimpleAtoi(word, &pid) || pid <= 1) continue;
        is_any_left = kill(pid, SIGKILL) == 0 || is_any_left;
      }
    }
    if (!is_any_left) return;
    sched_yield();
  }
}

TaskGroups::TaskGroups(absl::string_view mounts, absl::string_view own_groups,
                       absl::string_view agent)
    : suffix_(absl::StrCat("@", absl::StrReplaceAll(agent, {{"/", "_"}}))) {
  const std::string root = FindVersion2(mounts);
  unified_ = Parent(root);
  memory_ = Parent(FindVersion1(mounts, own_groups, "memory"));
  pids_ = Parent(FindVersion1(mounts, own_groups, "pids"));
  if (unified_.empty()) return;
  if (memory_.empty() && Enable(root, unified_, "memory")) {
    is_memory_version_2_ = true;
    memory_ = unified_;
  }
  if (pids_.empty() && Enable(root, unified_, "pids")) {
    is_pids_version_2_ = true;
    pids_ = unified_;
  }
}

std::string TaskGroups::NameOf(const AttemptKey& key) const {
  return absl::StrCat(key.job.value(), ".", key.attempt.value(), ".", key.fence.value(), suffix_);
}

TaskGroup TaskGroups::Make(const AttemptKey& key, const TaskGroupLimits& limits) const {
  const std::string name = absl::StrCat("/", NameOf(key));
  for (const std::string* parent : {&memory_, &pids_, &unified_}) {
    if (!parent->empty()) MakeFolder(*parent + name);
  }
  if (!unified_.empty()) MakeFolder(absl::StrCat(unified_, name, "/", kHeld));
  TaskGroup group = Describe(key);
  const std::string bytes = absl::StrCat(limits.memory_bytes);
  const std::string& memory = group.memory_folder_;
  if (is_memory_version_2_ && !memory.empty()) {
    Set(memory, "memory.swap.max", "0");
    Set(memory, "memory.oom.group", "1");
  }
  const char* limit = is_memory_version_2_ ? "memory.max" : "memory.limit_in_bytes";
  if (!memory.empty() && !Set(memory, limit, bytes)) {
    group.memory_folder_.clear();
    group.memory_guard_.clear();
  }
  // Not more with swap than without; the file is absent where swap is not counted.
  if (!is_memory_version_2_ && !memory.empty()) Set(memory, "memory.memsw.limit_in_bytes", bytes);
  if (group.has_processes_limit_) {
    group.has_processes_limit_ = Set(pids_ + name, "pids.max", absl::StrCat(limits.processes_max));
  }
  return group;
}

TaskGroup TaskGroups::Find(const AttemptKey& key) const { return Describe(key); }

TaskGroup TaskGroups::Describe(const AttemptKey& key) const {
  const std::string name = absl::StrCat("/", NameOf(key));
  TaskGroup group;
  std::set<std::string> folders;
  if (!memory_.empty() && IsFolder(memory_ + name)) {
    group.memory_folder_ = memory_ + name;
    group.is_memory_version_2_ = is_memory_version_2_;
    group.memory_guard_ =
        absl::StrCat("control group (version ", is_memory_version_2_ ? 2 : 1, ")");
    folders.insert(group.memory_folder_);
  }
  if (!pids_.empty() && IsFolder(pids_ + name)) {
    group.has_processes_limit_ = true;
    group.pids_folder_ = pids_ + name;
    folders.insert(group.pids_folder_);
  }
  const std::string held = absl::StrCat(unified_, name, "/", kHeld);
  const bool can_freeze = access((held + "/cgroup.freeze").c_str(), W_OK) == 0;
  if (!unified_.empty() && can_freeze) group.held_folder_ = held;
  for (const std::string& folder : folders) {
    group.procs_files_.push_back(folder + "/cgroup.procs");
  }
  return group;
}

void TaskGroups::Sweep(const std::set<AttemptKey>& live) const {
  std::set<std::string> kept;
  for (const AttemptKey& key : live) kept.insert(NameOf(key));
  for (const std::string& parent : std::set<std::string>{memory_, pids_, unified_}) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(parent.c_str()), closedir);
    if (parent.empty() || stream == nullptr) continue;
    while (const dirent* entry = readdir(stream.get())) {  // NOLINT(concurrency-mt-unsafe)
      const std::string name = entry->d_name;
      if (absl::EndsWith(name, suffix_) && !kept.contains(name)) {
        RemoveGroup(absl::StrCat(parent, "/", name));
      }
    }
  }
}

}  // namespace pipefill
