#include "cli/plan/recorded_plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/plan/bubble_lengths.h"
#include "client/pages/hold_out.h"
#include "common/status.h"

namespace pipefill {
namespace {

PlanWorkKind KindOf(ChunkKind kind) {
  switch (kind) {
    case ChunkKind::kForward:
      return PlanWorkKind::kForward;
    case ChunkKind::kBackward:
      return PlanWorkKind::kBackward;
    case ChunkKind::kOptimizer:
      return PlanWorkKind::kOptimizer;
    case ChunkKind::kOther:
      break;
  }
  return PlanWorkKind::kOther;
}

// An iteration that counts, and how long it was.
struct Counted {
  const Iteration* iteration = nullptr;
  int64_t length_ns = 0;  // to the begin of the next one
  bool is_held_out = false;
};

std::vector<Counted> CountedOf(const RankTrace& rank, const HoldOut& hold_out, bool is_filled) {
  std::vector<Counted> all;
  size_t held_out = 0;
  for (size_t i = kIterationsLeftOut; i + 1 < rank.iterations.size(); ++i) {
    const Iteration& iteration = rank.iterations[i];
    const Iteration& next = rank.iterations[i + 1];
    if (!iteration.is_whole || next.number != iteration.number + 1) continue;
    const bool is_held_out = IsHeldOut(hold_out, iteration.number);
    held_out += is_held_out;
    all.push_back({&iteration, next.begin_ns - iteration.begin_ns, is_held_out});
  }
  if (is_filled && held_out >= kHoldOutsMin) {
    std::erase_if(all, [](const Counted& counted) { return !counted.is_held_out; });
  }
  return all;
}

// On any of its devices: what one stage loses, the others wait for.
bool IsFilled(const Trace& trace, const std::string& main_job) {
  return std::any_of(trace.tasks.begin(), trace.tasks.end(), [&](const TaskTrace& task) {
    return std::any_of(task.units.begin(), task.units.end(), [&](const UnitTrace& unit) {
      return unit.rank != kNone && trace.ranks[unit.rank].main_job == main_job;
    });
  });
}

void AddBubbles(const RankTrace& rank, const std::vector<Counted>& counted, PlanDevice& device) {
  std::map<BubbleName, BubbleLengths> by_name;
  int64_t idle_ns = 0;
  int64_t total_ns = 0;
  for (const Counted& one : counted) {
    total_ns += one.length_ns;
    for (size_t b = one.iteration->bubbles_begin; b < one.iteration->bubbles_end; ++b) {
      const Bubble& bubble = rank.bubbles[b];
      if (!bubble.is_closed) continue;
      const int64_t length_ns = bubble.end_ns - bubble.begin_ns;
      idle_ns += length_ns;
      by_name[NameOfSlot(rank, bubble.slot)].Add(bubble.begin_ns - one.iteration->begin_ns,
                                                 length_ns);
    }
  }
  const auto count = static_cast<int64_t>(counted.size());
  device.iteration_ns = total_ns / count;
  device.bubble_share =
      static_cast<double>(idle_ns) / static_cast<double>(std::max<int64_t>(1, total_ns));
  for (const auto& [name, lengths] : by_name) {
    // Names that most iterations do not have are those of another order of chunks.
    if (2 * static_cast<int64_t>(lengths.count()) < count) continue;
    PlanBubble bubble = lengths.Bubble();
    bubble.bubble_class = name.bubble_class;
    bubble.ordinal = name.ordinal;
    device.bubbles.push_back(bubble);
  }
  std::sort(device.bubbles.begin(), device.bubbles.end(),
            [](const PlanBubble& a, const PlanBubble& b) { return a.offset_ns < b.offset_ns; });
}

// Lengths of one kind of work.
struct WorkSum {
  int64_t count = 0;
  double sum_ns = 0;
  double squares = 0;

  void Add(int64_t length_ns) {
    const auto length = static_cast<double>(length_ns);
    ++count;
    sum_ns += length;
    squares += length * length;
  }
  double mean_ns() const { return sum_ns / static_cast<double>(count); }
  double spread() const {
    const double mean = mean_ns();
    const double variance = squares / static_cast<double>(count) - mean * mean;
    return mean > 0 ? std::sqrt(std::max(0.0, variance)) / mean : 0;
  }
};

// Chunks of the counted iterations: one iteration of them to draw, and what they take on average.
void AddWork(const RankTrace& rank, const std::vector<Counted>& counted, PlanDevice& device,
             std::vector<MeanWork>& means) {
  std::map<PlanWorkKind, WorkSum> sums;
  const Counted& shown = counted[counted.size() / 2];
  size_t next = 0;
  for (const Counted& one : counted) {
    const int64_t begin_ns = one.iteration->begin_ns;
    const int64_t end_ns = begin_ns + one.length_ns;
    while (next < rank.chunks.size() && rank.chunks[next].begin_ns < begin_ns) ++next;
    for (; next < rank.chunks.size() && rank.chunks[next].begin_ns < end_ns; ++next) {
      const Chunk& chunk = rank.chunks[next];
      sums[KindOf(chunk.kind)].Add(chunk.end_ns - chunk.begin_ns);
      if (one.iteration != shown.iteration) continue;
      device.work.push_back(
          {chunk.begin_ns - begin_ns, chunk.end_ns - begin_ns, KindOf(chunk.kind)});
    }
  }
  for (const auto& [kind, sum] : sums) {
    means.push_back({.stage = device.stage,
                     .kind = kind,
                     .mean_ns = sum.mean_ns(),
                     .spread = sum.spread(),
                     .count = sum.count / static_cast<int64_t>(counted.size())});
  }
}

// What of a trace is shown: of each rank of the main job that was there last, the newest attachment
// with enough iterations.
struct Shown {
  std::map<int32_t, const RankTrace*> ranks;
  int older = 0;
  std::set<std::string> other_jobs;
};

Shown ChooseShown(const Trace& trace, const std::string& main_job, bool is_filled) {
  Shown shown;
  for (const RankTrace& rank : trace.ranks) {
    if (rank.main_job != main_job) {
      shown.other_jobs.insert(rank.main_job);
      continue;
    }
    if (CountedOf(rank, trace.starts[rank.start].hold_out, is_filled).empty()) continue;
    const bool is_first = shown.ranks.insert_or_assign(rank.rank, &rank).second;
    if (!is_first) ++shown.older;
  }
  return shown;
}

void NoteLeftOut(const Shown& shown, const std::string& source, IdlePlan& plan) {
  if (shown.older > 0) {
    plan.notes.push_back(absl::StrCat(source, ": its ranks attached more than once; the newest ",
                                      "time of each counts, ", shown.older, " older left out"));
  }
  if (!shown.other_jobs.empty()) {
    plan.notes.push_back(
        absl::StrCat(source, ": also holds ", absl::StrJoin(shown.other_jobs, ", "), ", left out"));
  }
}

}  // namespace

absl::StatusOr<IdlePlan> PlanOfRecord(const Trace& trace, const std::string& source) {
  if (trace.ranks.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source, ": no training run in it; give a trace of agentd or of the PyTorch profiler"));
  }
  const std::string main_job = trace.ranks.back().main_job;
  const bool is_filled = IsFilled(trace, main_job);
  IdlePlan plan;
  plan.is_measured = true;
  const Shown shown = ChooseShown(trace, main_job, is_filled);
  NoteLeftOut(shown, source, plan);
  for (const auto& [number, newest] : shown.ranks) {
    const RankTrace& rank = *newest;
    const std::vector<Counted> counted =
        CountedOf(rank, trace.starts[rank.start].hold_out, is_filled);
    PlanDevice device;
    device.name = absl::StrCat("stage ", rank.stage, " rank ", rank.rank);
    device.stage = rank.stage;
    AddBubbles(rank, counted, device);
    AddWork(rank, counted, device, plan.mean_work);
    plan.iterations += static_cast<int>(counted.size());
    const bool has_filled_ones = std::any_of(counted.begin(), counted.end(),
                                             [](const Counted& one) { return !one.is_held_out; });
    if (is_filled && has_filled_ones) {
      plan.notes.push_back(absl::StrCat(source, ": ", device.name, " was filled, and has too few ",
                                        "hold-outs; what filling did to its bubbles is in them"));
    }
    plan.devices.push_back(std::move(device));
  }
  if (plan.devices.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(source, ": ", main_job,
                                                   " has no whole iteration ", "behind its first ",
                                                   kIterationsLeftOut, "; let it run longer"));
  }
  std::stable_sort(plan.devices.begin(), plan.devices.end(),
                   [](const PlanDevice& a, const PlanDevice& b) { return a.stage < b.stage; });
  SumUp(plan);
  plan.title = absl::StrCat("recorded run of ", main_job);
  return plan;
}

}  // namespace pipefill
