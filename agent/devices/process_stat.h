// What the kernel tells about processes: kinship, memory, CPU time.
//
// Processes come and go while this is read: one that vanished is simply absent.
//
// Thread-compatible. ReadProcess and ReadProcessTable read files of /proc; all else is pure.
#ifndef AGENT_DEVICES_PROCESS_STAT_H_
#define AGENT_DEVICES_PROCESS_STAT_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace pipefill {

// The fields of /proc/PID/stat that we use.
struct ProcessStat {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  char state = '?';          // 'Z' = ended, and nobody has waited for it yet
  uint64_t start_ticks = 0;  // since boot; with the pid it names one process for ever
  int64_t memory_bytes = 0;  // resident
  absl::Duration cpu = {};   // its own, and that of its children that ended and were waited for
};

// nullopt if `text` is not a line of /proc/PID/stat. The program's name in it may hold anything.
std::optional<ProcessStat> ParseProcessStat(absl::string_view text);

// nullopt if there is no such process.
std::optional<ProcessStat> ReadProcess(pid_t pid, const std::string& proc_folder = "/proc");

// What several processes use together. Memory that they share counts several times.
struct ProcessUse {
  int processes = 0;  // those that have not ended
  int64_t memory_bytes = 0;
  absl::Duration cpu = {};
};

// All processes at one time. Costs some 10 us per process of the node: make one per tick and ask it
// about every rank.
class ProcessTable {
 public:
  void Add(const ProcessStat& process);

  // `root` and all that descends from it; empty if it is not there.
  std::set<pid_t> FamilyOf(pid_t root) const;
  // Zeroes if it is not there.
  ProcessUse UseOfFamily(pid_t root) const;

  // By pid.
  const std::map<pid_t, ProcessStat>& processes() const { return processes_; }

 private:
  std::map<pid_t, ProcessStat> processes_;
  std::multimap<pid_t, pid_t> children_;  // by parent
};

// Empty if the folder cannot be read.
ProcessTable ReadProcessTable(const std::string& proc_folder = "/proc");

}  // namespace pipefill

#endif  // AGENT_DEVICES_PROCESS_STAT_H_
