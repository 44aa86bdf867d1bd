#include "cli/plan/kineto_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/plan/bubble_lengths.h"
#include "cli/plan/busy_time.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

// One iteration of one device; times from its begin.
struct IterationCut {
  int64_t length_ns = 0;
  std::vector<Stretch> chunks;
  std::vector<Stretch> gaps;  // gap k: after k chunks; empty ones are there too
};

// The part of `busy` inside [begin_ns, end_ns).
IterationCut Cut(const std::vector<Stretch>& busy, int64_t begin_ns, int64_t end_ns) {
  IterationCut cut;
  cut.length_ns = end_ns - begin_ns;
  auto next = std::partition_point(busy.begin(), busy.end(), [begin_ns](const Stretch& stretch) {
    return stretch.end_ns <= begin_ns;
  });
  int64_t free_ns = 0;
  for (; next != busy.end() && next->begin_ns < end_ns; ++next) {
    const Stretch chunk = {std::max(next->begin_ns, begin_ns) - begin_ns,
                           std::min(next->end_ns, end_ns) - begin_ns};
    cut.gaps.push_back({free_ns, chunk.begin_ns});
    cut.chunks.push_back(chunk);
    free_ns = chunk.end_ns;
  }
  cut.gaps.push_back({free_ns, cut.length_ns});
  return cut;
}

size_t MostCommonCount(const std::vector<IterationCut>& cuts) {
  std::map<size_t, size_t> counts;
  for (const IterationCut& cut : cuts) ++counts[cut.chunks.size()];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

BubbleClass ClassOf(size_t number, size_t chunks) {
  if (number == 0) return BubbleClass::kHead;
  return number == chunks ? BubbleClass::kTail : BubbleClass::kScattered;
}

struct DeviceCuts {
  std::vector<IterationCut> cuts;
  size_t chunks = 0;  // of the most common iterations
  size_t alike = 0;   // how many have so many
  int64_t gap_min_ns = 0;
};

PlanDevice DeviceOf(const DeviceCuts& device) {
  PlanDevice plan;
  int64_t total_ns = 0;
  int64_t idle_ns = 0;
  std::vector<BubbleLengths> lengths(device.chunks + 1);
  const IterationCut* shown = nullptr;
  for (const IterationCut& cut : device.cuts) {
    total_ns += cut.length_ns;
    for (const Stretch& gap : cut.gaps) {
      const int64_t length_ns = gap.end_ns - gap.begin_ns;
      if (length_ns >= device.gap_min_ns) idle_ns += length_ns;
    }
    if (cut.chunks.size() != device.chunks) continue;
    shown = &cut;
    for (size_t k = 0; k < cut.gaps.size(); ++k) {
      lengths[k].Add(cut.gaps[k].begin_ns, cut.gaps[k].end_ns - cut.gaps[k].begin_ns);
    }
  }
  plan.iteration_ns = total_ns / static_cast<int64_t>(device.cuts.size());
  plan.bubble_share =
      static_cast<double>(idle_ns) / static_cast<double>(std::max<int64_t>(1, total_ns));
  for (size_t k = 0; k < lengths.size(); ++k) {
    PlanBubble bubble = lengths[k].Bubble();
    bubble.bubble_class = ClassOf(k, device.chunks);
    bubble.ordinal = static_cast<int64_t>(k);
    if (bubble.p90_ns >= device.gap_min_ns) plan.bubbles.push_back(bubble);
  }
  for (const Stretch& chunk : shown->chunks) plan.work.push_back({chunk.begin_ns, chunk.end_ns});
  return plan;
}

// The profiler ends the mark of a step with the last work in it. The last step has none behind it
// that would tell how long the device was idle then, so it is left out, unless it is the only one.
void DropOpenEnd(const std::vector<GpuWork>& work, int64_t gap_min_ns,
                 std::vector<int64_t>& borders) {
  if (borders.size() < 3) return;
  int64_t end_ns = 0;
  for (const GpuWork& one : work) end_ns = std::max(end_ns, one.end_ns);
  if (borders.back() < end_ns + gap_min_ns) borders.pop_back();
}

absl::StatusOr<DeviceCuts> CutDevice(const GpuTrace& trace, int64_t device, int64_t gap_min_ns,
                                     std::vector<std::string>& notes) {
  const std::vector<GpuWork> work = ComputeWork(trace.devices.at(device), trace.names);
  const std::vector<Stretch> busy = BusyStretches(work, gap_min_ns);
  const bool has_marks = !trace.steps.empty();
  std::vector<int64_t> borders =
      has_marks ? BordersByMarks(trace.steps, device) : BordersByPeriod(work);
  if (has_marks) DropOpenEnd(trace.devices.at(device), gap_min_ns, borders);
  if (borders.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        trace.source, ": no whole iteration of gpu ", device, " among ", work.size(), " kernels; ",
        "call the profiler's step() in the training loop, and record some steps"));
  }
  DeviceCuts cuts{.cuts = {}, .chunks = 0, .alike = 0, .gap_min_ns = gap_min_ns};
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    if (borders[i + 1] > borders[i]) cuts.cuts.push_back(Cut(busy, borders[i], borders[i + 1]));
  }
  if (cuts.cuts.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(trace.source, ": the steps of gpu ", device, " have no length"));
  }
  cuts.chunks = MostCommonCount(cuts.cuts);
  for (const IterationCut& cut : cuts.cuts) cuts.alike += cut.chunks.size() == cuts.chunks;
  if (!has_marks) {
    notes.push_back(absl::StrCat(trace.source, ": no ProfilerStep marks; gpu ", device, " has ",
                                 cuts.cuts.size(), " iterations by the order of its kernels"));
  } else if (std::none_of(trace.steps.begin(), trace.steps.end(),
                          [&](const StepMark& step) { return step.device == device; })) {
    notes.push_back(absl::StrCat(trace.source, ": steps are marked by the host alone, which runs ",
                                 "ahead of gpu ", device, "; lengths at the edges may be off"));
  }
  if (cuts.alike < cuts.cuts.size()) {
    notes.push_back(absl::StrCat(trace.source, ": ", cuts.alike, " of ", cuts.cuts.size(),
                                 " iterations of gpu ", device, " have ", cuts.chunks,
                                 " chunks; lengths are theirs, shares those of all"));
  }
  return cuts;
}

absl::Status CheckRanks(const std::vector<GpuTrace>& traces) {
  std::map<int64_t, std::string> seen;
  for (const GpuTrace& trace : traces) {
    if (trace.devices.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          trace.source, ": no work of a GPU among ", trace.events,
          " events; record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]"));
    }
    if (!trace.rank.has_value()) continue;
    const auto [place, is_new] = seen.try_emplace(*trace.rank, trace.source);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat("two traces of rank ", *trace.rank, ": ",
                                                     place->second, " and ", trace.source,
                                                     "; give one file of each rank"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<IdlePlan> PlanOfTraces(const std::vector<GpuTrace>& traces, int64_t gap_min_ns) {
  RETURN_IF_ERROR(CheckRanks(traces));
  IdlePlan plan;
  plan.is_measured = true;
  for (size_t t = 0; t < traces.size(); ++t) {
    const GpuTrace& trace = traces[t];
    const int64_t rank = trace.rank.value_or(static_cast<int64_t>(t));
    for (const auto& [number, work] : trace.devices) {
      const bool computes = !ComputeWork(work, trace.names).empty();
      if (!computes) continue;
      ASSIGN_OR_RETURN(const DeviceCuts cuts, CutDevice(trace, number, gap_min_ns, plan.notes));
      plan.devices.push_back(DeviceOf(cuts));
      plan.devices.back().name = absl::StrCat("rank ", rank, " gpu ", number);
      plan.devices.back().stage = static_cast<int>(plan.devices.size()) - 1;
      plan.iterations += static_cast<int>(cuts.cuts.size());
    }
    if (trace.malformed > 0) {
      plan.notes.push_back(absl::StrCat(trace.source, ": ", trace.malformed,
                                        " events of a GPU have no time or stream; left out"));
    }
  }
  if (plan.devices.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(traces[0].source, ": no kernel computes, all of them communicate"));
  }
  SumUp(plan);
  plan.title =
      absl::StrCat(plan.devices.size(), plan.devices.size() == 1 ? " GPU" : " GPUs", ", pauses of ",
                   pipefill::FormatDuration(absl::Nanoseconds(gap_min_ns)), " and more");
  return plan;
}

}  // namespace pipefill
