#include "common/check.h"

#include <cstdio>
#include <cstdlib>

namespace pipefill {

void FailCheck(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "%s:%d: check failed: %s\n", file, line, condition);
  std::fflush(stderr);
  std::abort();
}

}  // namespace pipefill
