#include "cli/report/figures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/report/unit_ledger.h"
#include "common/median.h"

namespace pipefill {
namespace {

// Times of a set of iterations, as in figures.h: T, B, C, O. In double: sums of untrusted numbers.
struct Times {
  double iteration_ns = 0;
  double bubble_ns = 0;
  double in_bubble_ns = 0;
  double overrun_ns = 0;

  void Add(const Times& other) {
    iteration_ns += other.iteration_ns;
    bubble_ns += other.bubble_ns;
    in_bubble_ns += other.in_bubble_ns;
    overrun_ns += other.overrun_ns;
  }
};

std::optional<double> Ratio(double part, double whole) {
  if (!(whole > 0)) return std::nullopt;
  return part / whole;
}

bool IsSettled(const IterationRow& row) {
  return row.use != IterationUse::kNotWhole && row.use != IterationUse::kStoodStill &&
         row.use != IterationUse::kFirst;
}

class FiguresBuilder {
 public:
  FiguresBuilder(const Trace& trace, const FiguresOptions& options)
      : trace_(trace), options_(options), ledger_(trace) {}

  Figures Build(std::vector<IterationTable> runs) {
    KeepFilledRuns(std::move(runs));
    figures_.main_job = figures_.runs.front().main_job;
    for (const IterationTable& run : figures_.runs) {
      for (size_t r : run.ranks)
        figures_.stages = std::max(figures_.stages, trace_.ranks[r].stages);
      FindFillTime(run);
      for (size_t r : run.ranks) AddFailures(r);
      for (const IterationRow& row : run.rows) AddRow(row);
    }
    FinishShares();
    FinishBubbles();
    CompareIterations();
    AddJobs();
    AddNotes();
    return std::move(figures_);
  }

 private:
  struct RankSums {
    Times settled;
    Times open;
  };
  using BubbleKey = std::pair<size_t, BubbleName>;  // rank, name

  void KeepFilledRuns(std::vector<IterationTable> runs) {
    const auto has_units = [](const IterationTable& run) { return run.has_units; };
    const bool is_any_filled = std::any_of(runs.begin(), runs.end(), has_units);
    for (IterationTable& run : runs) {
      if (is_any_filled && !run.has_units) {
        ++figures_.runs_left_out;
      } else {
        figures_.runs.push_back(std::move(run));
      }
    }
  }

  // [first, last] iteration with a unit, of the run being added.
  void FindFillTime(const IterationTable& run) {
    const std::set<size_t> ranks(run.ranks.begin(), run.ranks.end());
    has_fill_time_ = false;
    for (const TaskTrace& task : trace_.tasks) {
      for (const UnitTrace& unit : task.units) {
        if (!ranks.contains(unit.rank)) continue;
        fill_first_ = has_fill_time_ ? std::min(fill_first_, unit.iteration) : unit.iteration;
        fill_last_ = has_fill_time_ ? std::max(fill_last_, unit.iteration) : unit.iteration;
        has_fill_time_ = true;
      }
    }
  }

  void AddRow(const IterationRow& row) {
    ++figures_.iterations[row.use];
    if (row.use == IterationUse::kNotWhole || row.use == IterationUse::kStoodStill) return;
    const bool is_fill_time =
        has_fill_time_ && row.number >= fill_first_ && row.number <= fill_last_;
    for (const IterationPart& part : row.parts) {
      const Times times = TimesOf(part);
      const bool is_open = IsSettled(row) && !row.is_held_out && part.has_task;
      if (IsSettled(row)) rank_sums_[part.rank].settled.Add(times);
      if (is_open) rank_sums_[part.rank].open.Add(times);
      if (is_fill_time) {
        fill_time_.Add(times);
        fill_time_rows_.insert({part.rank, row.number});
      }
      if (IsSettled(row)) AddBubbles(part, is_open);
    }
  }

  Times TimesOf(const IterationPart& part) const {
    const RankTrace& rank = trace_.ranks[part.rank];
    const Iteration& iteration = rank.iterations[part.iteration];
    Times times;
    times.iteration_ns = static_cast<double>(iteration.end_ns - iteration.begin_ns);
    for (size_t b = iteration.bubbles_begin; b < iteration.bubbles_end; ++b) {
      const BubbleEntry& entry = ledger_.entry(part.rank, b);
      times.bubble_ns += static_cast<double>(rank.bubbles[b].end_ns - rank.bubbles[b].begin_ns);
      times.in_bubble_ns += static_cast<double>(entry.in_bubble_ns);
      times.overrun_ns += static_cast<double>(entry.overrun_ns);
    }
    return times;
  }

  void AddBubbles(const IterationPart& part, bool is_open) {
    const RankTrace& rank = trace_.ranks[part.rank];
    const Iteration& iteration = rank.iterations[part.iteration];
    for (size_t b = iteration.bubbles_begin; b < iteration.bubbles_end; ++b) {
      const Bubble& bubble = rank.bubbles[b];
      const BubbleKey key(part.rank, NameOfSlot(rank, bubble.slot));
      BubbleFigures& row = bubbles_[key];
      const int64_t length_ns = bubble.end_ns - bubble.begin_ns;
      lengths_[key].push_back(static_cast<double>(length_ns));
      offsets_[key].push_back(static_cast<double>(bubble.begin_ns - iteration.begin_ns));
      ++row.count;
      row.bubble_ns = AddSaturated(row.bubble_ns, length_ns);
      if (!is_open) continue;
      const BubbleEntry& entry = ledger_.entry(part.rank, b);
      ++row.open_count;
      row.used_count += entry.units > 0 ? 1 : 0;
      row.open_ns = AddSaturated(row.open_ns, length_ns);
      const bool is_offered = bubble.is_offered || !rank.says_offered;
      if (is_offered) row.offered_ns = AddSaturated(row.offered_ns, length_ns);
      row.filled_ns = AddSaturated(row.filled_ns, entry.in_bubble_ns);
      row.overrun_ns = AddSaturated(row.overrun_ns, entry.overrun_ns);
    }
  }

  void AddFailures(size_t r) {
    const RankTrace& rank = trace_.ranks[r];
    const BubbleKey key(r, {.bubble_class = BubbleClass::kFailure, .ordinal = 0});
    for (size_t i = 0; i < rank.failures.size(); ++i) {
      const int64_t length_ns = rank.failures[i].end_ns - rank.failures[i].begin_ns;
      const BubbleEntry& entry = ledger_.failure_entry(r, i);
      BubbleFigures& row = bubbles_[key];
      lengths_[key].push_back(static_cast<double>(length_ns));
      offsets_[key].push_back(std::numeric_limits<double>::max());  // last in the list
      ++row.count;
      ++row.open_count;
      row.used_count += entry.units > 0 ? 1 : 0;
      row.bubble_ns = AddSaturated(row.bubble_ns, length_ns);
      row.open_ns = row.offered_ns = row.bubble_ns;
      row.filled_ns = AddSaturated(row.filled_ns, entry.in_bubble_ns);
      row.overrun_ns = AddSaturated(row.overrun_ns, entry.overrun_ns);
    }
  }

  void FinishShares() {
    Times settled;
    Times open;
    for (const auto& [r, sums] : rank_sums_) {
      settled.Add(sums.settled);
      open.Add(sums.open);
      const RankTrace& rank = trace_.ranks[r];
      DeviceFigures device;
      device.node = trace_.starts[rank.start].node;
      device.device = rank.device;
      device.rank = rank.rank;
      device.stage = rank.stage;
      device.bubble_ratio = Ratio(sums.settled.bubble_ns, sums.settled.iteration_ns);
      device.bubble_filled = Ratio(sums.open.in_bubble_ns, sums.open.bubble_ns);
      device.overrun_ratio = Ratio(sums.open.overrun_ns, sums.open.bubble_ns);
      figures_.devices.push_back(std::move(device));
    }
    std::stable_sort(figures_.devices.begin(), figures_.devices.end(),
                     [](const auto& a, const auto& b) { return a.rank < b.rank; });
    if (!rank_sums_.empty()) {
      figures_.span_ns = settled.iteration_ns / static_cast<double>(rank_sums_.size());
    }
    figures_.bubble_ratio = Ratio(settled.bubble_ns, settled.iteration_ns);
    figures_.bubble_filled = Ratio(open.in_bubble_ns, open.bubble_ns);
    figures_.bubble_filled_all = Ratio(fill_time_.in_bubble_ns, fill_time_.bubble_ns);
    figures_.overrun_ratio = Ratio(open.overrun_ns, open.bubble_ns);
  }

  void FinishBubbles() {
    std::vector<std::tuple<int32_t, size_t, double, BubbleFigures>> rows;
    for (auto& [key, row] : bubbles_) {
      const RankTrace& rank = trace_.ranks[key.first];
      row.node = trace_.starts[rank.start].node;
      row.device = rank.device;
      row.rank = rank.rank;
      row.stage = rank.stage;
      row.name = key.second;
      std::vector<double>& lengths = lengths_[key];
      std::sort(lengths.begin(), lengths.end());
      row.p10_ns = QuantileOfSorted(lengths, 0.1);
      row.p50_ns = QuantileOfSorted(lengths, 0.5);
      row.p90_ns = QuantileOfSorted(lengths, 0.9);
      rows.emplace_back(rank.rank, key.first, Median(offsets_[key]), std::move(row));
    }
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
      return std::tie(std::get<0>(a), std::get<1>(a), std::get<2>(a)) <
             std::tie(std::get<0>(b), std::get<1>(b), std::get<2>(b));
    });
    for (auto& row : rows) figures_.bubbles.push_back(std::move(std::get<3>(row)));
  }

  void CompareIterations() {
    std::vector<IterationPair> pairs;
    std::vector<double> filled;
    std::vector<double> held_out;
    std::vector<double> start_up;
    for (const IterationTable& run : figures_.runs) {
      const std::vector<IterationPair> own = PairNeighbours(run);
      pairs.insert(pairs.end(), own.begin(), own.end());
      for (const IterationRow& row : run.rows) {
        if (row.use == IterationUse::kCounted) {
          (row.is_held_out ? held_out : filled).push_back(row.time_ns);
        } else if (row.use == IterationUse::kStartUp && !row.is_held_out) {
          start_up.push_back(row.time_ns);
        }
      }
    }
    figures_.counted_filled = static_cast<int64_t>(filled.size());
    figures_.counted_held_out = static_cast<int64_t>(held_out.size());
    figures_.slowdown = MedianOfRatios(pairs, options_.seed);
    figures_.slowdown_mean = RatioOfMeans(pairs, options_.seed);
    if (!filled.empty()) figures_.iteration_filled_p50_ns = Median(filled);
    if (!held_out.empty()) figures_.iteration_unfilled_p50_ns = Median(held_out);
    if (!held_out.empty() && start_up.size() >= kStartUpIterationsMin) {
      figures_.start_up_change = Median(start_up) / Median(held_out) - 1;
    }
  }

  void AddJobs() {
    std::set<size_t> ranks;
    for (const IterationTable& run : figures_.runs)
      ranks.insert(run.ranks.begin(), run.ranks.end());
    double recovered_ns = 0;
    std::map<int64_t, JobFigures> jobs;
    std::map<int64_t, std::set<int32_t>> attempts;
    for (const TaskTrace& task : trace_.tasks) {
      if (!IsOnDeviceOf(task, ranks)) continue;
      JobFigures& job = jobs[task.job_id];
      job.job_id = task.job_id;
      job.name = task.job_name;
      attempts[task.job_id].insert(task.attempt);
      job.attempts = static_cast<int64_t>(attempts[task.job_id].size());
      if (std::find(job.devices.begin(), job.devices.end(), task.device) == job.devices.end()) {
        job.devices.push_back(task.device);
      }
      job.memory_cap_bytes = std::max(job.memory_cap_bytes, task.memory_bytes);
      for (const TaskSampleTrace& sample : task.samples) {
        job.memory_peak_bytes = std::max(job.memory_peak_bytes, sample.memory_bytes);
      }
      job.is_ended = !task.ends.empty();
      recovered_ns += AddUnits(task, ranks, &job);
    }
    figures_.recovered_device_share = Ratio(recovered_ns, fill_time_.iteration_ns);
    for (auto& [id, job] : jobs) figures_.jobs.push_back(std::move(job));
  }

  // Returns the exclusive equivalent of the units in fill time.
  double AddUnits(const TaskTrace& task, const std::set<size_t>& ranks, JobFigures* job) const {
    const auto alone = options_.alone.find(task.job_name);
    job->has_alone = alone != options_.alone.end();
    double in_fill_time_ns = 0;
    double all_ns = 0;
    for (const UnitTrace& unit : task.units) {
      if (!ranks.contains(unit.rank)) continue;
      ++job->units;
      job->unit_cpu_ns = AddSaturated(job->unit_cpu_ns, unit.cpu_ns);
      job->in_bubble_cpu_ns =
          AddSaturated(job->in_bubble_cpu_ns, ledger_.SplitOfUnit(unit).in_bubble_ns);
      const double equivalent_ns = job->has_alone ? static_cast<double>(alone->second.unit_cpu_ns) /
                                                        static_cast<double>(alone->second.units)
                                                  : static_cast<double>(unit.cpu_ns);
      all_ns += equivalent_ns;
      if (fill_time_rows_.contains({unit.rank, unit.iteration})) in_fill_time_ns += equivalent_ns;
    }
    const double bounded_ns = std::min(all_ns, static_cast<double>(kTimeMaxNs));
    job->exclusive_equivalent_ns =
        AddSaturated(job->exclusive_equivalent_ns, std::llround(bounded_ns));
    return in_fill_time_ns;
  }

  bool IsOnDeviceOf(const TaskTrace& task, const std::set<size_t>& ranks) const {
    if (!task.units.empty()) {
      return std::any_of(task.units.begin(), task.units.end(),
                         [&ranks](const UnitTrace& unit) { return ranks.contains(unit.rank); });
    }
    return std::any_of(ranks.begin(), ranks.end(), [&](size_t r) {
      return trace_.ranks[r].start == task.start && trace_.ranks[r].device == task.device;
    });
  }

  void AddNotes() {
    std::vector<std::string>& notes = figures_.notes;
    if (figures_.runs.size() > 1) {
      notes.push_back(
          absl::StrCat("figures are over ", figures_.runs.size(), " runs of this main job"));
    }
    if (figures_.runs_left_out > 0) {
      notes.push_back(absl::StrCat(figures_.runs_left_out,
                                   " run(s) of this main job without any unit are left out"));
    }
    const size_t pairs = figures_.slowdown.has_value() ? figures_.slowdown->pairs : 0;
    if (pairs < kPairsMin) {
      notes.push_back(
          absl::StrCat("too few pairs of filled and hold-out iterations for an interval: ", pairs,
                       " of ", kPairsMin));
    }
    std::vector<std::string> without;
    for (const JobFigures& job : figures_.jobs) {
      if (job.units > 0 && !job.has_alone) without.push_back(job.name);
    }
    std::sort(without.begin(), without.end());
    without.erase(std::unique(without.begin(), without.end()), without.end());
    if (!without.empty()) {
      notes.push_back(absl::StrCat("no run alone given for ", absl::StrJoin(without, ", "),
                                   ": their exclusive equivalent is the CPU time they took here"));
    }
    for (const IterationTable& run : figures_.runs) {
      for (size_t r : run.ranks) {
        if (trace_.ranks[r].edges_dropped == 0) continue;
        notes.push_back(absl::StrCat(trace_.ranks[r].device, ": ", trace_.ranks[r].edges_dropped,
                                     " edges were dropped; iterations around them are left out"));
      }
    }
  }

  const Trace& trace_;
  const FiguresOptions& options_;
  const UnitLedger ledger_;
  bool has_fill_time_ = false;
  uint64_t fill_first_ = 0;
  uint64_t fill_last_ = 0;
  std::map<size_t, RankSums> rank_sums_;  // by index into Trace::ranks
  Times fill_time_;
  std::set<std::pair<size_t, uint64_t>> fill_time_rows_;  // rank, iteration
  std::map<BubbleKey, BubbleFigures> bubbles_;
  std::map<BubbleKey, std::vector<double>> lengths_;
  std::map<BubbleKey, std::vector<double>> offsets_;  // from the iteration's begin
  Figures figures_;
};

// The main job to report on when none was named.
std::string ChooseMainJob(const Trace& trace) {
  std::map<std::string, int64_t> units;
  for (const TaskTrace& task : trace.tasks) {
    for (const UnitTrace& unit : task.units) {
      if (unit.rank != kNone) ++units[trace.ranks[unit.rank].main_job];
    }
  }
  std::string chosen;
  int64_t most = 0;
  for (const auto& [name, count] : units) {
    if (count <= most || name.empty()) continue;
    chosen = name;
    most = count;
  }
  for (auto rank = trace.ranks.rbegin(); chosen.empty() && rank != trace.ranks.rend(); ++rank) {
    chosen = rank->main_job;
  }
  return chosen;
}

absl::Status NoSuchMainJob(const Trace& trace, const std::string& name) {
  std::set<std::string> names;
  for (const RankTrace& rank : trace.ranks) {
    if (rank.is_declared && !rank.iterations.empty()) names.insert(rank.main_job);
  }
  if (names.empty()) {
    return absl::NotFoundError(
        "the trace holds no iteration of any main job; attach one and train");
  }
  return absl::NotFoundError(absl::StrCat("no iteration of main job ", name,
                                          " in the trace; it has: ", absl::StrJoin(names, ", ")));
}

}  // namespace

absl::StatusOr<Figures> ComputeFigures(const Trace& trace, const FiguresOptions& options) {
  const std::string main_job = options.main_job.empty() ? ChooseMainJob(trace) : options.main_job;
  std::vector<IterationTable> runs = MakeIterationTables(trace, main_job, options.skip_first);
  std::erase_if(runs, [](const IterationTable& run) { return run.rows.empty(); });
  if (runs.empty()) return NoSuchMainJob(trace, main_job);
  return FiguresBuilder(trace, options).Build(std::move(runs));
}

}  // namespace pipefill
