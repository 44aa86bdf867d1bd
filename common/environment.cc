#include "common/environment.h"

#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "common/check.h"
#include "common/files.h"

namespace pipefill {
namespace {

// Version 2 and version 1 of cgroups. A container sees its own group at the top.
constexpr std::array kMemoryLimitFiles = {"/sys/fs/cgroup/memory.max",
                                          "/sys/fs/cgroup/memory/memory.limit_in_bytes"};

}  // namespace

std::string EnvironmentOr(const char* name, const std::string& fallback) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the header asks that nobody sets variables
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? fallback : value;
}

void SetDefaultVariable(const char* name, const char* value) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): as the header has it
  setenv(name, value, 0);
}

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

std::string RandomToken() {
  std::array<char, 16> bytes{};
  // Up to 256 bytes come whole, once the kernel has started up.
  ssize_t filled = -1;
  do {
    filled = getrandom(bytes.data(), bytes.size(), 0);
  } while (filled < 0 && errno == EINTR);
  CHECK(filled == static_cast<ssize_t>(bytes.size()));
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

std::vector<int> AllowedCores() {
  // The kernel refuses a set smaller than its own: try larger ones.
  for (size_t cores_max = CPU_SETSIZE; cores_max <= size_t{1} << 20; cores_max *= 2) {
    std::vector<cpu_set_t> set(cores_max / CPU_SETSIZE);
    const size_t size_bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, size_bytes, set.data()) != 0) continue;
    std::vector<int> cores;
    for (size_t core = 0; core < cores_max; ++core) {
      if (CPU_ISSET_S(core, size_bytes, set.data())) cores.push_back(static_cast<int>(core));
    }
    return cores;
  }
  return {};
}

int64_t MemoryTotalBytes() {
  int64_t total_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
  for (const char* path : kMemoryLimitFiles) {
    const absl::StatusOr<std::string> text = ReadFile(path);
    int64_t limit_bytes = 0;
    // "max" is no number: no limit.
    if (!text.ok() || !absl::SimpleAtoi(*text, &limit_bytes)) continue;
    if (limit_bytes > 0) total_bytes = std::min(total_bytes, limit_bytes);
  }
  return total_bytes;
}

}  // namespace pipefill
