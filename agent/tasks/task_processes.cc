#include "agent/tasks/task_processes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "agent/devices/proc_files.h"

namespace pipefill {
namespace {

// A runaway fork must not make a reading endless.
constexpr size_t kMembersMax = 4096;

std::vector<pid_t> ChildrenOf(pid_t pid) {
  std::vector<pid_t> children;
  for (const pid_t thread : ListProcNumbers(absl::StrCat("/proc/", pid, "/task"))) {
    const std::string text =
        ReadProcFile(absl::StrCat("/proc/", pid, "/task/", thread, "/children"));
    for (const auto& word : absl::StrSplit(text, ' ', absl::SkipWhitespace())) {
      pid_t child = 0;
      if (absl::SimpleAtoi(word, &child)) children.push_back(child);
    }
  }
  return children;
}

// 0 if the kernel does not tell.
int64_t ReadPssBytes(pid_t pid) {
  const std::string text = ReadProcFile(absl::StrCat("/proc/", pid, "/smaps_rollup"));
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    int64_t kib = 0;
    if (absl::ConsumePrefix(&line, "Pss:") && absl::ConsumeSuffix(&line, "kB") &&
        absl::SimpleAtoi(line, &kib)) {
      return kib * 1024;
    }
  }
  return 0;
}

}  // namespace

std::vector<pid_t> TaskProcesses::FindMembers(const ProcessTable* everything) {
  if (everything != nullptr) {
    orphans_.clear();
    for (const auto& [pid, stat] : everything->processes()) {
      if (stat.session == leader_ && pid != leader_) orphans_.push_back(pid);
    }
  }
  std::set<pid_t> members;
  std::vector<pid_t> open = {leader_};
  open.insert(open.end(), orphans_.begin(), orphans_.end());
  while (!open.empty() && members.size() < kMembersMax) {
    const pid_t pid = open.back();
    open.pop_back();
    if (!members.insert(pid).second) continue;
    for (const pid_t child : ChildrenOf(pid)) open.push_back(child);
  }
  return {members.begin(), members.end()};
}

ProcessUse TaskProcesses::Read(int64_t exact_above_bytes, const ProcessTable* everything) {
  ProcessUse use = {};
  members_.clear();
  absl::Duration cpu = absl::ZeroDuration();
  for (const pid_t pid : FindMembers(everything)) {
    const std::optional<ProcessStat> stat = ReadProcess(pid);
    if (!stat.has_value() || stat->state == 'Z') continue;
    // A number that was used again by somebody else since it was remembered.
    const bool was_orphan = std::find(orphans_.begin(), orphans_.end(), pid) != orphans_.end();
    if (was_orphan && stat->session != leader_) continue;
    members_.push_back(pid);
    if (pid == leader_) is_leader_stopped_ = stat->state == 'T';
    use.memory_bytes += stat->memory_bytes;
    cpu += stat->cpu;
  }
  use.processes = static_cast<int>(members_.size());
  cpu_seen_ = std::max(cpu_seen_, cpu);
  use.cpu = cpu_seen_;
  if (use.memory_bytes > exact_above_bytes && members_.size() > 1) {
    int64_t pss_bytes = 0;
    for (const pid_t pid : members_) pss_bytes += ReadPssBytes(pid);
    if (pss_bytes > 0) use.memory_bytes = pss_bytes;
  }
  return use;
}

}  // namespace pipefill
