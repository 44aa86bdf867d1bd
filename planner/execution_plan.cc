#include "planner/execution_plan.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/check.h"

namespace pipefill {
namespace {

std::string TimeText(int64_t ns) { return absl::FormatDuration(absl::Nanoseconds(ns)); }

std::string MemoryText(int64_t bytes) {
  return absl::StrFormat("%.4g MiB", static_cast<double>(bytes) / (1 << 20));
}

bool IsOpen(const Window& window) { return window.length_ns > 0 && window.unit_max_ns > 0; }

// The longest unit that `window` can take.
int64_t LongestUnitNs(const Window& window) {
  return std::min(window.length_ns, window.unit_max_ns);
}

// Something that holds before any packing.
std::optional<Infeasibility> FindObstacle(const Configuration& configuration, const Cycle& cycle) {
  bool is_any_open = false;
  int64_t least_bytes = INT64_MAX;
  for (const Window& window : cycle.windows) {
    if (!IsOpen(window)) continue;
    is_any_open = true;
    least_bytes = std::min(least_bytes, window.memory_free_bytes);
  }
  if (!is_any_open) return Infeasibility{.obstacle = Obstacle::kNoWindow};
  if (configuration.resident_bytes <= least_bytes) return std::nullopt;
  return Infeasibility{.obstacle = Obstacle::kMemoryResident,
                       .need = configuration.resident_bytes,
                       .have = std::max<int64_t>(0, least_bytes)};
}

// Why the node fits none of the windows.
Infeasibility ExplainNode(const Configuration& configuration, size_t node, int64_t fit_ns,
                          const Cycle& cycle) {
  const int64_t need_bytes = configuration.resident_bytes + configuration.chain[node].memory_bytes;
  int64_t longest_ns = 0;  // among those with the memory
  int64_t most_bytes = 0;  // among those that are long enough
  for (const Window& window : cycle.windows) {
    const int64_t free_bytes = window.memory_free_bytes;
    if (need_bytes <= free_bytes) longest_ns = std::max(longest_ns, LongestUnitNs(window));
    if (fit_ns <= LongestUnitNs(window)) most_bytes = std::max(most_bytes, free_bytes);
  }
  if (most_bytes > 0) {
    return {
        .obstacle = Obstacle::kMemoryNode, .node = node, .need = need_bytes, .have = most_bytes};
  }
  return {.obstacle = Obstacle::kTime, .node = node, .need = fit_ns, .have = longest_ns};
}

// What one cycle after the other adds up to.
struct Progress {
  int64_t cycles = 0;
  int64_t units = 0;
  int64_t used_ns = 0;
};

}  // namespace

std::string Explain(const Infeasibility& infeasibility) {
  switch (infeasibility.obstacle) {
    case Obstacle::kNoWindow:
      return "no bubble is offered for units of its length";
    case Obstacle::kMemoryResident:
      return absl::StrCat("it holds ", MemoryText(infeasibility.need), " all the time; ",
                          MemoryText(infeasibility.have), " are free in every bubble");
    case Obstacle::kMemoryNode:
      return absl::StrCat("node ", infeasibility.node, " needs ", MemoryText(infeasibility.need),
                          "; bubbles that are long enough have at most ",
                          MemoryText(infeasibility.have));
    case Obstacle::kTime:
      break;
  }
  return absl::StrCat("node ", infeasibility.node, " takes ", TimeText(infeasibility.need),
                      ", longer than every bubble with the memory for it (the longest has ",
                      TimeText(infeasibility.have), ")");
}

ConfigurationPlan PlanConfiguration(const Configuration& configuration, const Cycle& cycle,
                                    const PackingOptions& options) {
  CHECK(cycle.iteration_ns > 0);
  ConfigurationPlan plan;
  plan.infeasibility = FindObstacle(configuration, cycle);
  if (!plan.is_feasible()) return plan;

  ChainPacker packer(configuration, options.time);
  absl::flat_hash_map<int64_t, Progress> seen;  // by place in the chain at a cycle's begin
  Progress now;
  Progress since;  // where the repeating part begins
  bool is_exact = false;
  while (true) {
    const auto [known, is_new] = seen.try_emplace(packer.position(), now);
    if (!is_new) {
      since = known->second;
      is_exact = true;
      break;
    }
    if (packer.steps() >= options.steps_max) break;
    const int64_t units_before = packer.units();
    for (const Window& window : cycle.windows) {
      now.used_ns += packer.Pack(window);
    }
    ++now.cycles;
    now.units = packer.units();
    if (now.units == units_before) {
      const ProfileNode& node = configuration.chain[packer.next_node()];
      const int64_t fit_ns = options.time == NodeTime::kMeanFits ? node.time_ns : node.high_ns();
      plan.infeasibility = ExplainNode(configuration, packer.next_node(), fit_ns, cycle);
      return plan;
    }
  }
  plan.cycles = now.cycles - since.cycles;
  plan.units = now.units - since.units;
  const double passes =
      static_cast<double>(plan.units) / static_cast<double>(packer.units_per_pass());
  const double time_s =
      static_cast<double>(plan.cycles) * static_cast<double>(cycle.iteration_ns) * 1e-9;
  plan.samples_per_s =
      passes * static_cast<double>(configuration.samples_per_pass) / time_s * cycle.filled_share;
  plan.used_share =
      static_cast<double>(now.used_ns - since.used_ns) /
      (static_cast<double>(plan.cycles) * static_cast<double>(cycle.window_total_ns()));
  // Two walks round the chain never get a whole pass apart, so neither do this one and its mean.
  plan.error_share = is_exact ? 0 : 1 / std::max(passes, 1.0);
  return plan;
}

ExecutionPlan PlanExecution(const FillProfile& profile, const Calendar& calendar,
                            const PackingOptions& options) {
  ExecutionPlan plan;
  plan.configurations.reserve(profile.configurations.size());
  for (const Configuration& configuration : profile.configurations) {
    const Cycle cycle = CycleOf(calendar, BubbleLength::kMedian, TypicalUnitNs(configuration));
    plan.configurations.push_back(PlanConfiguration(configuration, cycle, options));
    const ConfigurationPlan& added = plan.configurations.back();
    if (!added.is_feasible()) continue;
    const bool is_better = !plan.best.has_value() ||
                           added.samples_per_s > plan.configurations[*plan.best].samples_per_s;
    if (is_better) plan.best = plan.configurations.size() - 1;
  }
  return plan;
}

std::string ExplainInfeasible(const FillProfile& profile, const ExecutionPlan& plan) {
  CHECK(!plan.best.has_value());
  // The one that lacks least, in proportion.
  std::optional<size_t> closest;
  double closest_share = -1;
  for (size_t i = 0; i < plan.configurations.size(); ++i) {
    const Infeasibility& infeasibility = *plan.configurations[i].infeasibility;
    const double share = infeasibility.need > 0 ? static_cast<double>(infeasibility.have) /
                                                      static_cast<double>(infeasibility.need)
                                                : 0;
    if (share > closest_share) {
      closest = i;
      closest_share = share;
    }
  }
  if (!closest.has_value()) return "the profile has no configuration";
  return absl::StrCat(profile.configurations[*closest].name, ": ",
                      Explain(*plan.configurations[*closest].infeasibility));
}

}  // namespace pipefill
