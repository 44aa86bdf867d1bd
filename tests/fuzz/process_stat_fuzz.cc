// Lines of /proc/PID/stat, in which a task chooses its name: whatever that is, the other fields
// read as the kernel wrote them.
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include "agent/devices/process_stat.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {
namespace {

constexpr char kAfterName[] =
    ") S 17 4300 4200 0 -1 4194304 100 200 0 0 250 50 30 20 20 0 1 0 98765 12345678 300 1 1 1\n";

}  // namespace

bool TakeInput(absl::string_view input) {
  const std::optional<ProcessStat> stat =
      ParseProcessStat(absl::StrCat("4321 (", input, kAfterName));
  CHECK(stat.has_value());
  CHECK(stat->pid == 4321 && stat->parent == 17 && stat->group == 4300 && stat->session == 4200);
  CHECK(stat->state == 'S' && stat->start_ticks == 98765);
  CHECK(stat->memory_bytes == 300 * sysconf(_SC_PAGESIZE));
  return true;
}

std::vector<std::string> Seeds() { return {"sleep", ") R 1 (", "a b) Z 1 1 1", ""}; }

}  // namespace pipefill
