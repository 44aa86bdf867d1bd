#include "planner/plan.h"

#include <algorithm>

namespace pipefill {

std::optional<size_t> Plan::PlaceInLine(JobId job) const {
  auto it = std::lower_bound(waiting.begin(), waiting.end(), job,
                             [](const WaitingJob& entry, JobId id) { return entry.job < id; });
  if (it == waiting.end() || it->job != job) return std::nullopt;
  return static_cast<size_t>(it - waiting.begin());
}

}  // namespace pipefill
