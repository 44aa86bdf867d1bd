#include "agent/devices/cpu_device.h"

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

constexpr char kBackend[] = "cpu";

cpu_set_t ToSet(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    CHECK(core >= 0 && core < CPU_SETSIZE);
    CPU_SET(static_cast<size_t>(core), &set);
  }
  return set;
}

}  // namespace

CpuDevice::CpuDevice(const CpuDeviceOptions& options)
    : description_({.name = options.name,
                    .backend = kBackend,
                    .detail = absl::StrCat(options.cores.size() == 1 ? "core " : "cores ",
                                           FormatCores(options.cores)),
                    .memory_bytes = options.memory_bytes,
                    .resident_limit = options.resident_limit}),
      cores_(options.cores),
      priority_(options.priority),
      idle_group_(options.idle_group),
      core_set_(ToSet(options.cores)) {
  CHECK(!cores_.empty());
}

int64_t CpuDevice::MemoryUsedBy(pid_t rank_pid, const ProcessTable& processes) const {
  return processes.UseOfFamily(rank_pid).memory_bytes;
}

std::map<std::string, std::string> CpuDevice::TaskEnvironment() const {
  const std::string threads = absl::StrCat(cores_.size());
  return {{"OMP_NUM_THREADS", threads},
          {"OPENBLAS_NUM_THREADS", threads},
          {"MKL_NUM_THREADS", threads}};
}

int CpuDevice::ApplyInChild() const noexcept {
  if (sched_setaffinity(0, sizeof(core_set_), &core_set_) != 0) return errno;
  if (priority_ == TaskPriority::kNormal) return 0;
  const int group_error = idle_group_.JoinInChild();
  if (group_error != 0) return group_error;
  const sched_param no_parameters = {};
  return sched_setscheduler(0, SCHED_IDLE, &no_parameters) == 0 ? 0 : errno;
}

bool CpuDevice::IsPlaceOf(pid_t rank_pid) const {
  cpu_set_t affinity;
  if (sched_getaffinity(rank_pid, sizeof(affinity), &affinity) != 0) return false;
  cpu_set_t common;
  CPU_AND(&common, &affinity, &core_set_);
  return CPU_EQUAL(&common, &affinity);
}

}  // namespace pipefill
