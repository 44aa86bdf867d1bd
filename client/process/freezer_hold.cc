#include "client/process/freezer_hold.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <string_view>

#include "client/process/small_file.h"

namespace pipefill::sdk {
namespace {

// The kernel tells of a change of cgroup.events at most every 10 ms: too late.
constexpr uint64_t kPauseNs = 20'000;

// The number behind `name` and a blank at the begin of a line; 0 if there is none.
uint64_t NumberOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.substr(0, name.size()) != name) continue;
    line.remove_prefix(name.size());
    if (line.empty() || line[0] != ' ') continue;
    uint64_t number = 0;
    std::from_chars(line.data() + 1, line.data() + line.size(), number);
    return number;
  }
  return 0;
}

Descriptor OpenIn(const std::string& folder, const char* name, int flags) {
  return Descriptor(open((folder + "/" + name).c_str(), flags | O_CLOEXEC));
}

}  // namespace

std::unique_ptr<FreezerHold> FreezerHold::Open(const std::string& folder, const Clock& clock,
                                               Futex& futex) {
  std::unique_ptr<FreezerHold> hold(new FreezerHold(folder, clock, futex));
  hold->switch_ = OpenIn(folder, "cgroup.freeze", O_WRONLY);
  hold->events_ = OpenIn(folder, "cgroup.events", O_RDONLY);
  hold->cpu_ = OpenIn(folder, "cpu.stat", O_RDONLY);
  const bool is_open = hold->switch_.is_open() && hold->events_.is_open() && hold->cpu_.is_open();
  return is_open && hold->Freeze(true) ? std::move(hold) : nullptr;
}

int FreezerHold::EnterInChild() { return WriteSmallFile(folder_ + "/cgroup.procs", "0"); }

bool FreezerHold::Freeze(bool is_frozen) {
  return pwrite(switch_.get(), is_frozen ? "1" : "0", 1, 0) == 1;
}

void FreezerHold::GoOn() { Freeze(false); }

bool FreezerHold::IsFrozen() const { return NumberOf(ReadSmallFile(events_.get()), "frozen") == 1; }

bool FreezerHold::Stop() {
  const uint64_t begin_ns = clock_.NowNs();
  Freeze(true);
  while (!IsFrozen()) {
    if (clock_.NowNs() - begin_ns >= kStopNs) return false;
    const std::atomic<uint32_t> nothing = 0;
    futex_.Wait(nothing, 0, kPauseNs);
  }
  return true;
}

// A stop by a signal holds also in a group that is not frozen.
void FreezerHold::OnInterference() { SendToAll(SIGCONT); }

uint64_t FreezerHold::CpuNs() {
  const uint64_t cpu_ns = NumberOf(ReadSmallFile(cpu_.get()), "usage_usec") * 1000;
  cpu_seen_ns_ = std::max(cpu_seen_ns_, cpu_ns);
  return cpu_seen_ns_;
}

void FreezerHold::SendToAll(int signal) const {
  const std::string text = ReadSmallFile(folder_ + "/cgroup.procs");
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    pid_t pid = 0;
    std::from_chars(text.data() + begin, text.data() + end, pid);
    if (pid > 1) kill(pid, signal);
    begin = end + 1;
  }
}

// While it is frozen nothing can fork; a frozen process can be killed.
void FreezerHold::Kill() {
  if (WriteSmallFile(folder_ + "/cgroup.kill", "1") == 0) return;
  Stop();
  SendToAll(SIGKILL);
}

}  // namespace pipefill::sdk
