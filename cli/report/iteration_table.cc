#include "cli/report/iteration_table.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "client/pages/hold_out.h"
#include "common/median.h"

namespace pipefill {
namespace {

// When a task was what, on the clock of its node.
struct TaskSpan {
  int64_t launched_ns = 0;
  int64_t ready_ns = 0;  // first unit, or end; at most kStartUpMaxNs after launched_ns
  int64_t left_ns = 0;
  bool has_units = false;
};

TaskSpan SpanOf(const Trace& trace, const TaskTrace& task) {
  TaskSpan span;
  span.launched_ns = task.launched_ns;
  span.has_units = !task.units.empty();
  const int64_t start_up_end_ns = task.launched_ns + kStartUpMaxNs;
  if (!span.has_units) {
    const bool has_end = !task.ends.empty();
    span.ready_ns = has_end ? std::min(task.ends.front().now_ns, start_up_end_ns) : start_up_end_ns;
    return span;
  }
  span.ready_ns = std::min(task.units.front().start_ns, start_up_end_ns);
  span.left_ns = task.ends.empty() ? trace.starts[task.start].last_ns : task.units.back().end_ns;
  return span;
}

int64_t EndOf(const Trace& trace, const RankTrace& rank) {
  return rank.detached_ns.value_or(trace.starts[rank.start].last_ns);
}

// Ranks of `main_job` in groups whose attachments overlap in wall time.
std::vector<std::vector<size_t>> GroupRanks(const Trace& trace, const std::string& main_job) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < trace.ranks.size(); ++i) {
    if (trace.ranks[i].is_declared && trace.ranks[i].main_job == main_job) indices.push_back(i);
  }
  const auto begin_of = [&trace](size_t i) {
    return UnixNs(trace.starts[trace.ranks[i].start], trace.ranks[i].attached_ns);
  };
  std::stable_sort(indices.begin(), indices.end(),
                   [&](size_t a, size_t b) { return begin_of(a) < begin_of(b); });
  std::vector<std::vector<size_t>> groups;
  int64_t group_end_ns = 0;
  for (size_t i : indices) {
    const RankTrace& rank = trace.ranks[i];
    const int64_t end_ns = UnixNs(trace.starts[rank.start], EndOf(trace, rank));
    if (groups.empty() || begin_of(i) >= group_end_ns) {
      groups.emplace_back();
      group_end_ns = end_ns;
    }
    groups.back().push_back(i);
    group_end_ns = std::max(group_end_ns, end_ns);
  }
  for (std::vector<size_t>& group : groups) {
    std::stable_sort(group.begin(), group.end(), [&trace](size_t a, size_t b) {
      return trace.ranks[a].rank < trace.ranks[b].rank;
    });
  }
  return groups;
}

class TableBuilder {
 public:
  TableBuilder(const Trace& trace, std::vector<size_t> ranks) : trace_(trace) {
    table_.main_job = trace.ranks[ranks.front()].main_job;
    table_.hold_out = trace.starts[trace.ranks[ranks.front()].start].hold_out;
    table_.ranks = std::move(ranks);
    for (const TaskTrace& task : trace.tasks) spans_.push_back(SpanOf(trace, task));
  }

  IterationTable Build(int skip_first) {
    CollectParts();
    FindFilledNumbers();
    int begun = 0;
    for (auto& [number, row] : rows_) {
      row.number = number;
      row.is_held_out = IsHeldOut(table_.hold_out, number);
      row.use = UseOf(row, begun++ < skip_first);
      if (row.use != IterationUse::kNotWhole) row.time_ns = MeanTime(row);
      table_.rows.push_back(std::move(row));
    }
    return std::move(table_);
  }

 private:
  void CollectParts() {
    std::set<int32_t> numbers;
    for (size_t r : table_.ranks) {
      const RankTrace& rank = trace_.ranks[r];
      numbers.insert(rank.rank);
      for (size_t i = 0; i < rank.iterations.size(); ++i) {
        rows_[rank.iterations[i].number].parts.push_back(PartOf(r, i));
      }
    }
    ranks_expected_ = numbers.size();
  }

  IterationPart PartOf(size_t r, size_t i) const {
    IterationPart part{.rank = r, .iteration = i};
    const RankTrace& rank = trace_.ranks[r];
    const Iteration& iteration = rank.iterations[i];
    for (size_t t = 0; t < trace_.tasks.size(); ++t) {
      if (trace_.tasks[t].start != rank.start || trace_.tasks[t].device != rank.device) continue;
      const TaskSpan& span = spans_[t];
      part.is_start_up |= span.launched_ns < iteration.end_ns && iteration.begin_ns < span.ready_ns;
      part.has_task |=
          span.has_units && span.ready_ns <= iteration.begin_ns && iteration.end_ns <= span.left_ns;
    }
    return part;
  }

  void FindFilledNumbers() {
    const std::set<size_t> ranks(table_.ranks.begin(), table_.ranks.end());
    for (const TaskTrace& task : trace_.tasks) {
      for (const UnitTrace& unit : task.units) {
        if (!ranks.contains(unit.rank)) continue;
        filled_first_ = table_.has_units ? std::min(filled_first_, unit.iteration) : unit.iteration;
        filled_last_ = table_.has_units ? std::max(filled_last_, unit.iteration) : unit.iteration;
        table_.has_units = true;
      }
    }
  }

  IterationUse UseOf(const IterationRow& row, bool is_first) const {
    const auto is_whole = [this](const IterationPart& part) {
      return trace_.ranks[part.rank].iterations[part.iteration].is_whole;
    };
    if (row.parts.size() != ranks_expected_ ||
        !std::all_of(row.parts.begin(), row.parts.end(), is_whole)) {
      return IterationUse::kNotWhole;
    }
    const auto stood_still = [this](const IterationPart& part) { return StoodStill(part); };
    if (std::any_of(row.parts.begin(), row.parts.end(), stood_still)) {
      return IterationUse::kStoodStill;
    }
    if (is_first) return IterationUse::kFirst;
    if (!table_.has_units) return IterationUse::kNoTask;
    if (row.number < filled_first_) return IterationUse::kBeforeFill;
    if (row.number > filled_last_) return IterationUse::kAfterFill;
    const auto is_start_up = [](const IterationPart& part) { return part.is_start_up; };
    if (std::any_of(row.parts.begin(), row.parts.end(), is_start_up)) return IterationUse::kStartUp;
    const auto has_task = [](const IterationPart& part) { return part.has_task; };
    const bool has_any = std::any_of(row.parts.begin(), row.parts.end(), has_task);
    return has_any ? IterationUse::kCounted : IterationUse::kNoTask;
  }

  bool StoodStill(const IterationPart& part) const {
    const RankTrace& rank = trace_.ranks[part.rank];
    const Iteration& iteration = rank.iterations[part.iteration];
    return std::any_of(rank.failures.begin(), rank.failures.end(), [&](const Failure& failure) {
      return failure.begin_ns < iteration.end_ns && iteration.begin_ns < failure.end_ns;
    });
  }

  double MeanTime(const IterationRow& row) const {
    double sum_ns = 0;
    for (const IterationPart& part : row.parts) {
      const Iteration& iteration = trace_.ranks[part.rank].iterations[part.iteration];
      sum_ns += static_cast<double>(iteration.end_ns - iteration.begin_ns);
    }
    return sum_ns / static_cast<double>(row.parts.size());
  }

  const Trace& trace_;
  std::vector<TaskSpan> spans_;  // of Trace::tasks
  std::map<uint64_t, IterationRow> rows_;
  size_t ranks_expected_ = 0;
  uint64_t filled_first_ = 0;
  uint64_t filled_last_ = 0;
  IterationTable table_;
};

double Mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::vector<IterationTable> MakeIterationTables(const Trace& trace, const std::string& main_job,
                                                int skip_first) {
  std::vector<IterationTable> tables;
  for (std::vector<size_t>& group : GroupRanks(trace, main_job)) {
    tables.push_back(TableBuilder(trace, std::move(group)).Build(skip_first));
  }
  return tables;
}

std::vector<IterationPair> PairNeighbours(const IterationTable& table) {
  const HoldOut& hold_out = table.hold_out;
  if (hold_out.one_in < 2) return {};
  struct Group {
    std::vector<double> filled;
    std::vector<double> held_out;
  };
  std::map<uint64_t, Group> groups;
  for (const IterationRow& row : table.rows) {
    if (row.use != IterationUse::kCounted || row.time_ns <= 0) continue;
    const bool is_wash_out = hold_out.block_iterations >= kBlockWithWashOut &&
                             row.number % hold_out.block_iterations == 0;
    if (is_wash_out) continue;
    const uint64_t block = row.number / hold_out.block_iterations;
    const uint64_t group = block / hold_out.one_in;
    const uint64_t held_out_block = HashGroup(group) % hold_out.one_in;
    const uint64_t own_block = block % hold_out.one_in;
    const uint64_t distance =
        std::max(held_out_block, own_block) - std::min(held_out_block, own_block);
    if (row.is_held_out) {
      groups[group].held_out.push_back(row.time_ns);
    } else if (distance <= kNeighbourBlocks) {
      groups[group].filled.push_back(row.time_ns);
    }
  }
  std::vector<IterationPair> pairs;
  for (const auto& [number, group] : groups) {
    if (group.filled.empty() || group.held_out.empty()) continue;
    pairs.push_back({.filled_median_ns = Median(group.filled),
                     .held_out_median_ns = Median(group.held_out),
                     .filled_mean_ns = Mean(group.filled),
                     .held_out_mean_ns = Mean(group.held_out)});
  }
  return pairs;
}

}  // namespace pipefill
