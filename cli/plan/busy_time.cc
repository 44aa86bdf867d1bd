#include "cli/plan/busy_time.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"

namespace pipefill {
namespace {

// Periods to try.
constexpr size_t kCandidatesMax = 64;
constexpr double kAlike = 0.95;

// Share of the kernels that have the same name as the one `period` later.
double ShareAlike(const std::vector<GpuWork>& work, size_t period) {
  size_t alike = 0;
  for (size_t i = 0; i + period < work.size(); ++i) alike += work[i].name == work[i + period].name;
  return static_cast<double>(alike) / static_cast<double>(work.size() - period);
}

// Distances, in kernels, between uses of rare names: an iteration's length is one of them.
std::set<size_t> Candidates(const std::vector<GpuWork>& work) {
  std::map<uint32_t, std::vector<size_t>> places;
  for (size_t i = 0; i < work.size(); ++i) places[work[i].name].push_back(i);
  std::vector<const std::vector<size_t>*> rare;
  for (const auto& [name, where] : places) {
    if (where.size() >= 2) rare.push_back(&where);
  }
  std::sort(rare.begin(), rare.end(),
            [](const auto* a, const auto* b) { return a->size() < b->size(); });
  std::set<size_t> periods;
  for (const std::vector<size_t>* where : rare) {
    for (size_t i = 1; i < where->size() && i <= 8; ++i) {
      if (periods.size() < kCandidatesMax) periods.insert((*where)[i] - (*where)[0]);
    }
  }
  return periods;
}

}  // namespace

bool IsCommunication(const std::string& kernel) {
  return absl::StartsWithIgnoreCase(kernel, "nccl") || absl::StartsWithIgnoreCase(kernel, "rccl") ||
         absl::StrContains(kernel, "ncclDevKernel") || absl::StrContains(kernel, "ncclKernel");
}

std::vector<GpuWork> ComputeWork(const std::vector<GpuWork>& work,
                                 const std::vector<std::string>& names) {
  std::vector<bool> communicates;
  communicates.reserve(names.size());
  for (const std::string& name : names) communicates.push_back(IsCommunication(name));
  std::set<int64_t> streams;
  for (const GpuWork& one : work) {
    if (one.is_kernel && !communicates[one.name]) streams.insert(one.stream);
  }
  std::vector<GpuWork> compute;
  for (const GpuWork& one : work) {
    if (!communicates[one.name] && streams.contains(one.stream)) compute.push_back(one);
  }
  std::stable_sort(compute.begin(), compute.end(),
                   [](const GpuWork& a, const GpuWork& b) { return a.begin_ns < b.begin_ns; });
  return compute;
}

std::vector<Stretch> BusyStretches(const std::vector<GpuWork>& work, int64_t gap_min_ns) {
  std::vector<Stretch> stretches;
  for (const GpuWork& one : work) {
    if (stretches.empty() || one.begin_ns - stretches.back().end_ns >= gap_min_ns) {
      stretches.push_back({one.begin_ns, one.end_ns});
    } else {
      stretches.back().end_ns = std::max(stretches.back().end_ns, one.end_ns);
    }
  }
  return stretches;
}

std::vector<int64_t> BordersByMarks(const std::vector<StepMark>& steps, int64_t device) {
  std::map<int64_t, Stretch> by_number;
  const bool has_own = std::any_of(steps.begin(), steps.end(),
                                   [&](const StepMark& step) { return step.device == device; });
  for (const StepMark& step : steps) {
    if (step.device.has_value() != has_own || (has_own && step.device != device)) continue;
    // One mark per stream: together they are the step.
    const auto [place, is_new] =
        by_number.try_emplace(step.number, Stretch{step.begin_ns, step.end_ns});
    if (is_new) continue;
    place->second.begin_ns = std::min(place->second.begin_ns, step.begin_ns);
    place->second.end_ns = std::max(place->second.end_ns, step.end_ns);
  }
  std::vector<int64_t> borders;
  borders.reserve(by_number.size() + 1);
  for (const auto& [number, stretch] : by_number) borders.push_back(stretch.begin_ns);
  if (!by_number.empty()) borders.push_back(by_number.rbegin()->second.end_ns);
  std::sort(borders.begin(), borders.end());
  return borders;
}

std::vector<int64_t> BordersByPeriod(const std::vector<GpuWork>& work) {
  for (const size_t period : Candidates(work)) {
    if (2 * period > work.size() || ShareAlike(work, period) < kAlike) continue;
    std::vector<int64_t> borders;
    for (size_t i = 0; i < work.size(); i += period) borders.push_back(work[i].begin_ns);
    return borders;
  }
  return {};
}

}  // namespace pipefill
