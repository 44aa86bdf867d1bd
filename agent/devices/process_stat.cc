#include "agent/devices/process_stat.h"

#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "agent/devices/proc_files.h"

namespace pipefill {
namespace {

// Fields of /proc/PID/stat behind the program's name; the state is the first.
constexpr size_t kStateField = 0;
constexpr size_t kParentField = 1;
constexpr size_t kGroupField = 2;
constexpr size_t kSessionField = 3;
constexpr size_t kCpuFields[] = {11, 12, 13, 14};  // utime, stime, cutime, cstime
constexpr size_t kStartField = 19;
constexpr size_t kResidentField = 21;

}  // namespace

std::optional<ProcessStat> ParseProcessStat(absl::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == absl::string_view::npos) return std::nullopt;
  const std::vector<absl::string_view> fields =
      absl::StrSplit(text.substr(name_end + 1), absl::ByAnyChar(" \n"), absl::SkipWhitespace());
  if (fields.size() <= kResidentField || fields[kStateField].size() != 1) return std::nullopt;

  ProcessStat stat;
  stat.state = fields[kStateField][0];
  int64_t pages = 0;
  if (!absl::SimpleAtoi(text.substr(0, text.find(' ')), &stat.pid) ||
      !absl::SimpleAtoi(fields[kParentField], &stat.parent) ||
      !absl::SimpleAtoi(fields[kGroupField], &stat.group) ||
      !absl::SimpleAtoi(fields[kSessionField], &stat.session) ||
      !absl::SimpleAtoi(fields[kStartField], &stat.start_ticks) ||
      !absl::SimpleAtoi(fields[kResidentField], &pages)) {
    return std::nullopt;
  }
  int64_t cpu_ticks = 0;
  for (const size_t field : kCpuFields) {
    int64_t ticks = 0;
    if (!absl::SimpleAtoi(fields[field], &ticks)) return std::nullopt;
    cpu_ticks += ticks;
  }
  stat.cpu = absl::Seconds(1) * cpu_ticks / sysconf(_SC_CLK_TCK);
  stat.memory_bytes = pages * sysconf(_SC_PAGESIZE);
  return stat;
}

std::optional<ProcessStat> ReadProcess(pid_t pid, const std::string& proc_folder) {
  return ParseProcessStat(ReadProcFile(absl::StrCat(proc_folder, "/", pid, "/stat")));
}

void ProcessTable::Add(const ProcessStat& process) {
  processes_[process.pid] = process;
  children_.emplace(process.parent, process.pid);
}

std::set<pid_t> ProcessTable::FamilyOf(pid_t root) const {
  std::set<pid_t> family;
  if (!processes_.contains(root)) return family;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    if (!family.insert(pid).second) continue;
    const auto [first, last] = children_.equal_range(pid);
    for (auto child = first; child != last; ++child) open.push_back(child->second);
  }
  return family;
}

ProcessUse ProcessTable::UseOfFamily(pid_t root) const {
  ProcessUse use;
  for (const pid_t pid : FamilyOf(root)) {
    const ProcessStat& process = processes_.at(pid);
    if (process.state != 'Z') ++use.processes;
    use.memory_bytes += process.memory_bytes;
    use.cpu += process.cpu;
  }
  return use;
}

ProcessTable ReadProcessTable(const std::string& proc_folder) {
  ProcessTable table;
  for (const pid_t pid : ListProcNumbers(proc_folder)) {
    const std::optional<ProcessStat> process = ReadProcess(pid, proc_folder);
    if (process.has_value()) table.Add(*process);
  }
  return table;
}

}  // namespace pipefill
