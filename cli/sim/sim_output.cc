#include "cli/sim/sim_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

std::string Percent(double share) { return absl::StrFormat("%.2f %%", share * 100); }

// Empty while no job is done.
std::string Span(double seconds) { return seconds > 0 ? FormatSpan(absl::Seconds(seconds)) : ""; }

// Of all figures, in the order of the columns.
nlohmann::ordered_json FiguresOf(const SimOutcome& outcome) {
  const simulator::ClusterResult& result = outcome.result;
  nlohmann::ordered_json figures = {{"policy", outcome.policy},
                                    {"seed", outcome.seed},
                                    {"devices", result.devices},
                                    {"bubble_share", result.bubble_share},
                                    {"filled_share", result.filled_share},
                                    {"gain", result.gain},
                                    {"extra_devices", result.extra_devices},
                                    {"overrun_share", result.overrun_share},
                                    {"bubble_mean_s", result.bubble_mean_s},
                                    {"slowdown_max", result.slowdown_max},
                                    {"jobs_submitted", result.jobs_submitted},
                                    {"jobs_completed", result.jobs_completed},
                                    {"completion_mean_s", result.completion_mean_s},
                                    {"completion_p50_s", result.completion_p50_s},
                                    {"completion_p95_s", result.completion_p95_s},
                                    {"last_end_s", result.last_end_s},
                                    {"events", result.events},
                                    {"wall_s", outcome.wall_s}};
  for (const BubbleClass bubble_class : kSimClasses) {
    const auto found = result.classes.find(bubble_class);
    const bool is_there = found != result.classes.end();
    const simulator::ClassFigures of = is_there ? found->second : simulator::ClassFigures();
    figures[Word(bubble_class) + "_bubble_share"] = of.bubble_share;
    figures[Word(bubble_class) + "_filled_share"] = of.filled_share;
  }
  return figures;
}

std::string CsvCell(const std::string& text) {
  if (!absl::StrContains(text, ',') && !absl::StrContains(text, '"')) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

nlohmann::ordered_json TraceJson(const std::vector<simulator::TraceRows>& files) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const simulator::TraceRows& rows : files) {
    nlohmann::ordered_json skipped = nlohmann::ordered_json::object();
    for (size_t i = 0; i < rows.skipped.size(); ++i) {
      if (rows.skipped[i].rows == 0) continue;
      const absl::string_view key = simulator::SkipKey(static_cast<simulator::SkipReason>(i));
      skipped[std::string(key)] = rows.skipped[i].rows;
    }
    all.push_back({{"file", rows.source},
                   {"rows", rows.rows},
                   {"used", rows.used()},
                   {"skipped", std::move(skipped)}});
  }
  return all;
}

// What became of the rows of a trace, and the runs that took them so.
struct SharedRows {
  std::vector<std::string> lines;
  std::vector<SimSetting> settings;  // that all those runs have in common
  size_t runs = 0;
};

std::vector<std::string> RowLines(const SimOutcome& outcome) {
  std::vector<std::string> lines;
  for (const simulator::TraceRows& rows : outcome.trace_rows) {
    lines.push_back(simulator::RowsText(rows));
  }
  return lines;
}

std::vector<SharedRows> ShareRows(const std::vector<SimOutcome>& outcomes) {
  std::vector<SharedRows> all;
  for (const SimOutcome& outcome : outcomes) {
    std::vector<std::string> lines = RowLines(outcome);
    if (lines.empty()) continue;
    auto own = std::find_if(all.begin(), all.end(),
                            [&](const SharedRows& one) { return one.lines == lines; });
    if (own == all.end()) {
      own = all.insert(own, {.lines = std::move(lines), .settings = outcome.settings, .runs = 0});
    }
    ++own->runs;
    std::erase_if(own->settings, [&](const SimSetting& setting) {
      return std::find(outcome.settings.begin(), outcome.settings.end(), setting) ==
             outcome.settings.end();
    });
  }
  return all;
}

}  // namespace

std::vector<std::string> TraceLines(const std::vector<SimOutcome>& outcomes) {
  std::vector<std::string> all;
  const std::vector<SharedRows> shared = ShareRows(outcomes);
  for (const SharedRows& one : shared) {
    std::string label;
    if (one.runs < outcomes.size()) {
      label = one.settings.empty() ? Plural(static_cast<int64_t>(one.runs), "run")
                                   : absl::StrJoin(one.settings, " ", absl::PairFormatter("="));
      absl::StrAppend(&label, ": ");
    }
    for (const std::string& line : one.lines) all.push_back(absl::StrCat(label, line));
  }
  return all;
}

std::string SimTable(const std::vector<SimOutcome>& outcomes, size_t width) {
  std::vector<Column> columns;
  for (const SimSetting& setting : outcomes.front().settings) {
    const size_t dot = setting.first.rfind('.');
    columns.push_back({dot == std::string::npos ? setting.first : setting.first.substr(dot + 1),
                       Align::kLeft, /*can_shrink=*/true});
  }
  for (const char* title :
       {"DEVICES", "IDLE", "FILLED", "GAIN", "WORTH", "SLOWER", "DONE", "MEAN", "P95"}) {
    columns.push_back({title, Align::kRight});
  }
  Table table(columns);
  for (const SimOutcome& outcome : outcomes) {
    const simulator::ClusterResult& result = outcome.result;
    std::vector<std::string> cells;
    for (const SimSetting& setting : outcome.settings) cells.push_back(setting.second);
    cells.insert(cells.end(),
                 {FormatCount(result.devices), Percent(result.bubble_share),
                  Percent(result.filled_share), Percent(result.gain),
                  absl::StrFormat("%.0f", result.extra_devices), Percent(result.slowdown_max),
                  absl::StrCat(result.jobs_completed, "/", result.jobs_submitted),
                  Span(result.completion_mean_s), Span(result.completion_p95_s)});
    table.AddRow(std::move(cells));
  }
  return table.Text(width);
}

std::string SimJson(const v1::Scenario& scenario, const std::vector<SimOutcome>& outcomes) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const SimOutcome& outcome : outcomes) {
    nlohmann::ordered_json settings = nlohmann::ordered_json::object();
    for (const SimSetting& setting : outcome.settings) settings[setting.first] = setting.second;
    nlohmann::ordered_json run = {{"settings", std::move(settings)}};
    run.update(FiguresOf(outcome));
    if (!outcome.trace_rows.empty()) run["trace"] = TraceJson(outcome.trace_rows);
    runs.push_back(std::move(run));
  }
  const nlohmann::ordered_json all = {
      {"scenario", scenario.name()}, {"about", scenario.about()}, {"runs", std::move(runs)}};
  return all.dump(2) + "\n";
}

std::string SimCsv(const std::vector<SimOutcome>& outcomes) {
  std::string text;
  for (const SimSetting& setting : outcomes.front().settings) {
    absl::StrAppend(&text, setting.first, ",");
  }
  std::string titles;
  const nlohmann::ordered_json first = FiguresOf(outcomes.front());
  for (const auto& [name, value] : first.items()) {
    absl::StrAppend(&titles, titles.empty() ? "" : ",", name);
  }
  absl::StrAppend(&text, titles, "\n");
  for (const SimOutcome& outcome : outcomes) {
    for (const SimSetting& setting : outcome.settings) {
      absl::StrAppend(&text, CsvCell(setting.second), ",");
    }
    std::string line;
    const nlohmann::ordered_json figures = FiguresOf(outcome);
    for (const auto& [name, value] : figures.items()) {
      absl::StrAppend(&line, line.empty() ? "" : ",",
                      value.is_string() ? CsvCell(value.get<std::string>()) : value.dump());
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string ReplayText(const SimCommandLine& line) {
  std::string text = absl::StrCat("pipefill sim ", ShellText({line.file}));
  if (line.seed > 0) absl::StrAppend(&text, " --seed ", line.seed);
  for (const std::string& set : line.sets) absl::StrAppend(&text, " --set ", ShellText({set}));
  for (const std::string& sweep : line.sweeps) {
    absl::StrAppend(&text, " --sweep ", ShellText({sweep}));
  }
  return text;
}

}  // namespace pipefill
