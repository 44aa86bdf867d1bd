#include "cli/report/timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "cli/report/unit_ledger.h"

namespace pipefill {
namespace {

class TimelineBuilder {
 public:
  TimelineBuilder(const Trace& trace, const Figures& figures, RowRange rows)
      : trace_(trace), figures_(figures), run_(RunToDraw(figures)), rows_(rows), ledger_(trace) {}

  Timeline Build() {
    timeline_.origin_unix_ns = Origin();
    for (size_t r : run_.ranks) {
      devices_[r] = timeline_.devices.size();
      timeline_.devices.push_back(DeviceOf(r));
    }
    AddIterations();
    AddUnits();
    return std::move(timeline_);
  }

 private:
  struct Shown {
    int64_t begin_ns = std::numeric_limits<int64_t>::max();
    int64_t end_ns = std::numeric_limits<int64_t>::min();
    bool Has(int64_t begin, int64_t end) const { return begin < end_ns && begin_ns < end; }
  };

  int64_t Origin() const {
    int64_t origin_ns = std::numeric_limits<int64_t>::max();
    for (size_t r : run_.ranks) {
      const RankTrace& rank = trace_.ranks[r];
      if (rank.iterations.empty()) continue;
      origin_ns =
          std::min(origin_ns, UnixNs(trace_.starts[rank.start], rank.iterations.front().begin_ns));
    }
    return origin_ns == std::numeric_limits<int64_t>::max() ? 0 : origin_ns;
  }

  int64_t FromOrigin(const RankTrace& rank, int64_t ns) const {
    return UnixNs(trace_.starts[rank.start], ns) - timeline_.origin_unix_ns;
  }

  TimelineDevice DeviceOf(size_t r) const {
    const RankTrace& rank = trace_.ranks[r];
    TimelineDevice device;
    device.name = absl::StrCat(trace_.starts[rank.start].node, "/", rank.device);
    device.rank = rank.rank;
    device.stage = rank.stage;
    return device;
  }

  void AddIterations() {
    for (size_t i = rows_.begin; i < rows_.end; ++i) {
      const IterationRow& row = run_.rows[i];
      for (const IterationPart& part : row.parts) AddPart(row, part);
    }
    for (const auto& [r, d] : devices_) {
      const RankTrace& rank = trace_.ranks[r];
      const Shown& shown = shown_[r];
      for (const Chunk& chunk : rank.chunks) {
        if (!shown.Has(chunk.begin_ns, chunk.end_ns)) continue;
        timeline_.devices[d].work.push_back({.begin_ns = FromOrigin(rank, chunk.begin_ns),
                                             .end_ns = FromOrigin(rank, chunk.end_ns),
                                             .kind = chunk.kind});
      }
    }
  }

  void AddPart(const IterationRow& row, const IterationPart& part) {
    const RankTrace& rank = trace_.ranks[part.rank];
    const Iteration& iteration = rank.iterations[part.iteration];
    TimelineDevice& device = timeline_.devices[devices_[part.rank]];
    device.iterations.push_back({.number = row.number,
                                 .begin_ns = FromOrigin(rank, iteration.begin_ns),
                                 .end_ns = FromOrigin(rank, iteration.end_ns),
                                 .is_held_out = row.is_held_out});
    Shown& shown = shown_[part.rank];
    shown.begin_ns = std::min(shown.begin_ns, iteration.begin_ns);
    shown.end_ns = std::max(shown.end_ns, iteration.end_ns);
    int64_t busy_since_ns = iteration.begin_ns;
    if (iteration.bubbles_begin > 0) {  // the tail before it may go on into it
      busy_since_ns = std::max(busy_since_ns, rank.bubbles[iteration.bubbles_begin - 1].end_ns);
    }
    for (size_t b = iteration.bubbles_begin; b < iteration.bubbles_end; ++b) {
      const Bubble& bubble = rank.bubbles[b];
      device.bubbles.push_back({.begin_ns = FromOrigin(rank, bubble.begin_ns),
                                .end_ns = FromOrigin(rank, bubble.end_ns),
                                .name = NameIndex(NameOfSlot(rank, bubble.slot)),
                                .filled_ns = ledger_.entry(part.rank, b).in_bubble_ns});
      AddWork(rank, busy_since_ns, bubble.begin_ns, &device);
      busy_since_ns = bubble.end_ns;
    }
    AddWork(rank, busy_since_ns, iteration.end_ns, &device);
  }

  // What is no bubble, for main jobs that report no chunks.
  void AddWork(const RankTrace& rank, int64_t begin_ns, int64_t end_ns,
               TimelineDevice* device) const {
    if (!rank.chunks.empty() || begin_ns >= end_ns) return;
    device->work.push_back(
        {.begin_ns = FromOrigin(rank, begin_ns), .end_ns = FromOrigin(rank, end_ns)});
  }

  size_t NameIndex(const BubbleName& name) {
    const auto [found, is_new] = names_.try_emplace(name, timeline_.bubble_names.size());
    if (is_new) timeline_.bubble_names.push_back(BubbleText(name));
    return found->second;
  }

  void AddUnits() {
    std::map<int64_t, size_t> indices;
    for (const JobFigures& job : figures_.jobs) {
      indices[job.job_id] = timeline_.jobs.size();
      timeline_.jobs.push_back({.id = job.job_id, .name = job.name});
    }
    for (const TaskTrace& task : trace_.tasks) {
      for (const UnitTrace& unit : task.units) {
        if (devices_.contains(unit.rank)) AddUnit(unit, indices[task.job_id]);
      }
    }
    for (TimelineDevice& device : timeline_.devices) {
      std::stable_sort(device.units.begin(), device.units.end(),
                       [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
    }
  }

  void AddUnit(const UnitTrace& unit, size_t job) {
    const RankTrace& rank = trace_.ranks[unit.rank];
    if (!shown_[unit.rank].Has(unit.start_ns, unit.end_ns)) return;
    const size_t bubble = ledger_.BubbleOf(unit);
    const size_t failure = ledger_.FailureOf(unit);
    int64_t limit_ns = unit.end_ns;
    if (failure != kNone) limit_ns = rank.failures[failure].end_ns;
    if (bubble != kNone && rank.bubbles[bubble].is_closed) limit_ns = rank.bubbles[bubble].end_ns;
    const int64_t inside_end_ns = std::clamp(limit_ns, unit.start_ns, unit.end_ns);
    timeline_.devices[devices_[unit.rank]].units.push_back(
        {.begin_ns = FromOrigin(rank, unit.start_ns),
         .inside_end_ns = FromOrigin(rank, inside_end_ns),
         .end_ns = FromOrigin(rank, unit.end_ns),
         .cpu_ns = unit.cpu_ns,
         .overrun_ns = ledger_.SplitOfUnit(unit).overrun_ns,
         .job = job});
  }

  const Trace& trace_;
  const Figures& figures_;
  const IterationTable& run_;
  const RowRange rows_;
  const UnitLedger ledger_;
  std::map<size_t, size_t> devices_;  // by index into Trace::ranks
  std::map<size_t, Shown> shown_;     // likewise; on the rank's own clock
  std::map<BubbleName, size_t> names_;
  Timeline timeline_;
};

// Shapes that a row brings along, about.
size_t ShapesOf(const Trace& trace, const IterationTable& run, size_t row,
                const std::map<std::pair<size_t, uint64_t>, size_t>& units) {
  size_t shapes = 0;
  for (const IterationPart& part : run.rows[row].parts) {
    const RankTrace& rank = trace.ranks[part.rank];
    const Iteration& iteration = rank.iterations[part.iteration];
    shapes += 1 + 2 * (iteration.bubbles_end - iteration.bubbles_begin);
    const auto found = units.find({part.rank, iteration.number});
    if (found != units.end()) shapes += found->second;
  }
  return shapes;
}

}  // namespace

int64_t Timeline::begin_ns() const {
  int64_t begin_ns = std::numeric_limits<int64_t>::max();
  for (const TimelineDevice& device : devices) {
    if (!device.iterations.empty())
      begin_ns = std::min(begin_ns, device.iterations.front().begin_ns);
  }
  return begin_ns == std::numeric_limits<int64_t>::max() ? 0 : begin_ns;
}

int64_t Timeline::end_ns() const {
  int64_t end_ns = 0;
  for (const TimelineDevice& device : devices) {
    if (!device.iterations.empty()) end_ns = std::max(end_ns, device.iterations.back().end_ns);
  }
  return end_ns;
}

const IterationTable& RunToDraw(const Figures& figures) {
  return *std::max_element(
      figures.runs.begin(), figures.runs.end(),
      [](const auto& a, const auto& b) { return a.rows.size() < b.rows.size(); });
}

RowRange RepresentativeRows(const IterationTable& run, size_t count, size_t before) {
  const size_t rows = run.rows.size();
  if (rows <= count) return {.begin = 0, .end = rows};
  std::vector<size_t> counted;
  for (size_t i = 0; i < rows; ++i) {
    if (run.rows[i].use == IterationUse::kCounted) counted.push_back(i);
  }
  const size_t middle = counted.empty() ? rows / 2 : counted[counted.size() / 2];
  // The first of a hold-out nearest to the middle, all of the range counted.
  size_t chosen = kNone;
  const auto distance = [middle](size_t i) { return std::max(i, middle) - std::min(i, middle); };
  for (size_t i = before; i + (count - before) <= rows && i > 0; ++i) {
    const bool is_first = run.rows[i].is_held_out && !run.rows[i - 1].is_held_out;
    if (!is_first || (chosen != kNone && distance(i) >= distance(chosen))) continue;
    const auto begin = run.rows.begin() + static_cast<std::ptrdiff_t>(i - before);
    const bool is_counted =
        std::all_of(begin, begin + static_cast<std::ptrdiff_t>(count),
                    [](const auto& row) { return row.use == IterationUse::kCounted; });
    if (is_counted) chosen = i;
  }
  const size_t anchor = chosen == kNone ? middle : chosen;
  const size_t begin = std::min(anchor - std::min(anchor, before), rows - count);
  return {.begin = begin, .end = begin + count};
}

RowRange RowsWithin(const Trace& trace, const IterationTable& run, size_t shapes_max) {
  std::map<std::pair<size_t, uint64_t>, size_t> units;  // by rank and iteration
  for (const TaskTrace& task : trace.tasks) {
    for (const UnitTrace& unit : task.units) {
      if (unit.rank != kNone) ++units[{unit.rank, unit.iteration}];
    }
  }
  RowRange range = RepresentativeRows(run, std::min<size_t>(1, run.rows.size()), 0);
  size_t shapes = 0;
  for (bool is_growing = true; is_growing;) {
    is_growing = false;
    if (range.end < run.rows.size()) {
      shapes += ShapesOf(trace, run, range.end, units);
      if (shapes > shapes_max) break;
      ++range.end;
      is_growing = true;
    }
    if (range.begin > 0) {
      shapes += ShapesOf(trace, run, range.begin - 1, units);
      if (shapes > shapes_max) break;
      --range.begin;
      is_growing = true;
    }
  }
  return range;
}

Timeline MakeTimeline(const Trace& trace, const Figures& figures, RowRange rows) {
  return TimelineBuilder(trace, figures, rows).Build();
}

}  // namespace pipefill
