#include "cli/report/page_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/json.h"
#include "cli/report/timeline.h"
#include "cli/report/unit_ledger.h"

namespace pipefill {
namespace {

int64_t Us(int64_t ns) { return ns / 1000; }

// Appends begins as distances.
class FlatArray {
 public:
  void Begin(int64_t begin_ns) {
    json_.push_back(Us(begin_ns) - before_us_);
    before_us_ = Us(begin_ns);
  }
  template <typename Integer>
  void Add(Integer value) {
    json_.push_back(value);
  }
  Json Take() { return std::move(json_); }

 private:
  Json json_ = Json::array();
  int64_t before_us_ = 0;
};

Json DeviceJsonOf(const TimelineDevice& device) {
  FlatArray iterations;
  for (const TimelineIteration& iteration : device.iterations) {
    iterations.Add(iteration.number);
    iterations.Begin(iteration.begin_ns);
    iterations.Add(Us(iteration.end_ns) - Us(iteration.begin_ns));
    iterations.Add(iteration.is_held_out ? 1 : 0);
  }
  FlatArray work;
  for (const TimelineWork& item : device.work) {
    work.Begin(item.begin_ns);
    work.Add(Us(item.end_ns) - Us(item.begin_ns));
    work.Add(static_cast<int>(item.kind));
  }
  FlatArray bubbles;
  for (const TimelineBubble& bubble : device.bubbles) {
    bubbles.Begin(bubble.begin_ns);
    bubbles.Add(Us(bubble.end_ns) - Us(bubble.begin_ns));
    bubbles.Add(bubble.name);
    bubbles.Add(Us(bubble.filled_ns));
  }
  FlatArray units;
  for (const TimelineUnit& unit : device.units) {
    units.Begin(unit.begin_ns);
    units.Add(Us(unit.inside_end_ns) - Us(unit.begin_ns));
    units.Add(Us(unit.end_ns) - Us(unit.inside_end_ns));
    units.Add(Us(unit.overrun_ns));
    units.Add(Us(unit.cpu_ns));
    units.Add(unit.job);
  }
  Json json;
  json["name"] = device.name;
  json["rank"] = device.rank;
  json["stage"] = device.stage;
  json["iterations"] = iterations.Take();
  json["work"] = work.Take();
  json["bubbles"] = bubbles.Take();
  json["units"] = units.Take();
  return json;
}

class RowWriter {
 public:
  RowWriter(const Trace& trace, const IterationTable& run, int64_t origin_unix_ns)
      : trace_(trace), run_(run), origin_unix_ns_(origin_unix_ns), ledger_(trace) {}

  void Write(size_t stride, Json* json) const {
    Json rows = Json::array();
    for (size_t i = 0; i < run_.rows.size(); i += stride) AddRow(run_.rows[i], &rows);
    (*json)["rows"] = std::move(rows);
    (*json)["row_width"] = 4 + run_.ranks.size();
    (*json)["row_stride"] = stride;
    (*json)["row_count"] = run_.rows.size();
  }

 private:
  void AddRow(const IterationRow& row, Json* rows) const {
    const IterationPart& first = row.parts.front();
    const RankTrace& rank = trace_.ranks[first.rank];
    const int64_t begin_ns = rank.iterations[first.iteration].begin_ns;
    rows->push_back(row.number);
    rows->push_back(Us(UnixNs(trace_.starts[rank.start], begin_ns) - origin_unix_ns_));
    rows->push_back(static_cast<int64_t>(row.time_ns / 1000));
    rows->push_back((row.is_held_out ? 1 : 0) + (row.use == IterationUse::kCounted ? 2 : 0));
    for (size_t r : run_.ranks) rows->push_back(FilledPermille(row, r));
  }

  int64_t FilledPermille(const IterationRow& row, size_t r) const {
    for (const IterationPart& part : row.parts) {
      if (part.rank != r) continue;
      const Iteration& iteration = trace_.ranks[r].iterations[part.iteration];
      double bubble_ns = 0;
      double filled_ns = 0;
      for (size_t b = iteration.bubbles_begin; b < iteration.bubbles_end; ++b) {
        const Bubble& bubble = trace_.ranks[r].bubbles[b];
        bubble_ns += static_cast<double>(bubble.end_ns - bubble.begin_ns);
        filled_ns += static_cast<double>(ledger_.entry(r, b).in_bubble_ns);
      }
      if (bubble_ns <= 0) return -1;
      return static_cast<int64_t>(std::min(filled_ns / bubble_ns, 9.999) * 1000);
    }
    return -1;
  }

  const Trace& trace_;
  const IterationTable& run_;
  const int64_t origin_unix_ns_;
  const UnitLedger ledger_;
};

}  // namespace

std::string PageData(const Trace& trace, const Figures& figures) {
  const IterationTable& run = RunToDraw(figures);
  const RowRange rows = RowsWithin(trace, run, kPageShapesMax);
  const Timeline timeline = MakeTimeline(trace, figures, rows);
  const Timeline view = MakeTimeline(trace, figures, RepresentativeRows(run, 6, 3));
  Json json;
  json["names"] = timeline.bubble_names;
  json["jobs"] = Json::array();
  for (const TimelineJob& job : timeline.jobs) {
    json["jobs"].push_back({{"id", job.id}, {"name", job.name}});
  }
  json["devices"] = Json::array();
  for (const TimelineDevice& device : timeline.devices) {
    json["devices"].push_back(DeviceJsonOf(device));
  }
  json["shown"] = {{"first", rows.begin < rows.end ? run.rows[rows.begin].number : 0},
                   {"last", rows.begin < rows.end ? run.rows[rows.end - 1].number : 0},
                   {"is_all", rows.end - rows.begin == run.rows.size()}};
  json["view"] = {Us(view.begin_ns()), Us(view.end_ns())};
  RowWriter(trace, run, timeline.origin_unix_ns)
      .Write((run.rows.size() + kPageRowsMax - 1) / kPageRowsMax, &json);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pipefill
