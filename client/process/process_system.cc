#include "client/process/process_system.h"

#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

namespace pipefill::sdk {
namespace {

constexpr uint64_t kPauseNs = 30'000;

uint64_t Ns(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<uint64_t>(time.tv_usec) * 1'000u;
}

}  // namespace

OwnDescendants::OwnDescendants(Futex& futex) : futex_(futex), tree_(getpid()) {}

void OwnDescendants::Send(pid_t pid, int signal) { kill(pid, signal); }

uint64_t OwnDescendants::CpuNsOf(pid_t pid) {
  clockid_t clock = 0;
  timespec used = {};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &used) != 0) return 0;
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(used.tv_nsec);
}

uint64_t OwnDescendants::ReapedCpuNs() {
  rusage usage = {};
  getrusage(RUSAGE_CHILDREN, &usage);
  return Ns(usage.ru_utime) + Ns(usage.ru_stime);
}

void OwnDescendants::Pause() {
  const std::atomic<uint32_t> nothing = 0;
  futex_.Wait(nothing, 0, kPauseNs);
}

}  // namespace pipefill::sdk
