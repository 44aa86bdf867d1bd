#include "client/process/signal_hold.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

namespace pipefill::sdk {
namespace {

bool HasEnded(char state) { return state == 'Z' || state == 'X'; }
bool IsStopped(char state) { return state == 'T' || state == 't'; }

}  // namespace

int SignalHold::EnterInChild() { return raise(SIGSTOP) == 0 ? 0 : errno; }

void SignalHold::OnStarted(pid_t program) {
  siginfo_t info = {};
  // Before, a GoOn would come too early for its stop.
  while (waitid(P_PID, static_cast<id_t>(program), &info, WSTOPPED | WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  stopped_ = {program};
}

void SignalHold::GoOn() {
  for (const pid_t pid : stopped_) system_.Send(pid, SIGCONT);
  stopped_.clear();
}

bool SignalHold::SignalRunning(const std::vector<ProcessSight>& sights) {
  bool is_still = true;
  for (const ProcessSight& sight : sights) {
    if (HasEnded(sight.state) || IsStopped(sight.state)) continue;
    // In a wait of the kernel for a disk it stops at the end of that, before it goes on.
    const bool is_new = stopped_.insert(sight.pid).second;
    if (is_new) system_.Send(sight.pid, SIGSTOP);
    is_still = is_still && !is_new && sight.state == 'D';
  }
  return is_still;
}

bool SignalHold::Stop() {
  const uint64_t begin_ns = clock_.NowNs();
  std::vector<ProcessSight> before;
  for (bool was_still = false;;) {
    const std::vector<ProcessSight> sights = system_.Look();
    const bool is_still = SignalRunning(sights);
    if (is_still && was_still && sights == before) return true;
    if (clock_.NowNs() - begin_ns >= kStopNs) return false;
    if (!is_still) system_.Pause();
    was_still = is_still;
    before = sights;
  }
}

void SignalHold::OnInterference() {
  for (const ProcessSight& sight : system_.Look()) {
    if (IsStopped(sight.state)) stopped_.insert(sight.pid);
  }
}

uint64_t SignalHold::CpuNs() {
  uint64_t cpu_ns = system_.ReapedCpuNs();
  for (const ProcessSight& sight : system_.Look()) {
    cpu_ns += system_.CpuNsOf(sight.pid) + sight.children_cpu_ns;
  }
  cpu_seen_ns_ = std::max(cpu_seen_ns_, cpu_ns);
  return cpu_seen_ns_;
}

void SignalHold::Kill() {
  for (int look = 0; look < kKillLooks; ++look) {
    const std::vector<ProcessSight> sights = system_.Look();
    bool is_any_left = false;
    for (const ProcessSight& sight : sights) {
      if (HasEnded(sight.state)) continue;
      is_any_left = true;
      system_.Send(sight.pid, SIGKILL);
    }
    if (!is_any_left) return;
    system_.Pause();
  }
}

}  // namespace pipefill::sdk
