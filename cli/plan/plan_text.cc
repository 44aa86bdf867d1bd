#include "cli/plan/plan_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "cli/output.h"
#include "cli/share.h"
#include "cli/words.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

constexpr size_t kDevicesDrawn = 32;

std::string FormatNs(int64_t ns) { return pipefill::FormatDuration(absl::Nanoseconds(ns)); }

std::string ShareText(double share) { return absl::StrFormat("%.1f %%", share * 100); }

// Bubbles of one class of one device, or a single one.
struct BubbleRow {
  std::string name;
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t p10_ns = INT64_MAX;
  int64_t p90_ns = 0;
  std::optional<int64_t> memory_free_bytes;  // the least
};

void AddTo(BubbleRow& row, const PlanBubble& bubble) {
  ++row.count;
  row.total_ns += bubble.mean_ns;
  row.p10_ns = std::min(row.p10_ns, bubble.p10_ns);
  row.p90_ns = std::max(row.p90_ns, bubble.p90_ns);
  if (!bubble.memory_free_bytes.has_value()) return;
  row.memory_free_bytes =
      std::min(*bubble.memory_free_bytes, row.memory_free_bytes.value_or(INT64_MAX));
}

std::vector<BubbleRow> RowsOf(const PlanDevice& device, bool wants_all) {
  std::vector<BubbleRow> rows;
  std::map<BubbleClass, size_t> by_class;
  for (const PlanBubble& bubble : device.bubbles) {
    const auto [place, is_new] = by_class.try_emplace(bubble.bubble_class, rows.size());
    if (is_new || wants_all) {
      rows.push_back({.name = wants_all
                                  ? absl::StrCat(Word(bubble.bubble_class), " ", bubble.ordinal)
                                  : Word(bubble.bubble_class),
                      .memory_free_bytes = std::nullopt});
    }
    AddTo(wants_all ? rows.back() : rows[place->second], bubble);
  }
  return rows;
}

// "12 ms", or "9.8 ms .. 14 ms" where lengths differ.
std::string LengthText(const BubbleRow& row) {
  const std::string low = FormatNs(row.p10_ns);
  const std::string high = FormatNs(row.p90_ns);
  return low == high ? low : absl::StrCat(low, " .. ", high);
}

std::string DeviceWord(const IdlePlan& plan) { return plan.is_measured ? "DEVICE" : "STAGE"; }

std::string DeviceLabel(const IdlePlan& plan, const PlanDevice& device) {
  return plan.is_measured ? OneLine(device.name) : absl::StrCat(device.stage);
}

// What fills most of each of `columns` pieces of [0, span_ns); '.' is idle.
std::string Columns(const PlanDevice& device, int64_t span_ns, size_t columns) {
  std::string text(columns, '.');
  const double column_ns = static_cast<double>(span_ns) / static_cast<double>(columns);
  size_t next = 0;  // first work that may reach into the column
  for (size_t c = 0; c < columns; ++c) {
    const double begin = static_cast<double>(c) * column_ns;
    const double end = begin + column_ns;
    std::map<char, double> covered;
    while (next < device.work.size() && static_cast<double>(device.work[next].end_ns) <= begin)
      ++next;
    for (size_t w = next; w < device.work.size(); ++w) {
      const PlanWork& work = device.work[w];
      if (static_cast<double>(work.begin_ns) >= end) break;
      covered[Letter(work.kind)] += std::min(end, static_cast<double>(work.end_ns)) -
                                    std::max(begin, static_cast<double>(work.begin_ns));
    }
    double busy = 0;
    for (const auto& [letter, ns] : covered) busy += ns;
    if (busy * 2 < column_ns) continue;
    text[c] = std::max_element(covered.begin(), covered.end(), [](const auto& a, const auto& b) {
                return a.second < b.second;
              })->first;
  }
  return text;
}

std::string Legend(const IdlePlan& plan) {
  std::set<PlanWorkKind> kinds;
  for (const PlanDevice& device : plan.devices) {
    for (const PlanWork& work : device.work) kinds.insert(work.kind);
  }
  std::string legend;
  for (const PlanWorkKind kind : kinds) {
    const std::string word = kind == PlanWorkKind::kWeight ? "weight gradient"
                             : kind == PlanWorkKind::kOther
                                 ? (kinds.size() == 1 ? "work" : "other work")
                                 : Word(kind);
    absl::StrAppend(&legend, std::string(1, Letter(kind)), " ", word, "  ");
  }
  return absl::StrCat(legend, ". idle");
}

std::string IntervalText(const Interval& rate) {
  return absl::StrFormat("%.4g samples/s, between %.4g and %.4g", rate.mid, rate.low, rate.high);
}

std::string SecondsText(double seconds) {
  return std::isfinite(seconds) ? FormatSpan(absl::Seconds(seconds)) : "never";
}

std::string RateTable(const FillQuestion& question, const FillForecast& forecast,
                      const IdlePlan& plan) {
  Table table({{DeviceWord(plan), plan.is_measured ? Align::kLeft : Align::kRight},
               {"SAMPLES/S", Align::kRight},
               {"LOW", Align::kRight},
               {"HIGH", Align::kRight},
               {"CONFIGURATION", Align::kLeft, /*can_shrink=*/true}});
  for (size_t d = 0; d < plan.devices.size(); ++d) {
    const DeviceForecast& one = forecast.devices[d];
    const std::string label = DeviceLabel(plan, plan.devices[d]);
    if (!one.rate.has_value()) {
      table.AddRow({label, "none", "", "", one.why});
      continue;
    }
    const Interval& rate = one.rate->samples_per_s;
    table.AddRow({label, absl::StrFormat("%.4g", rate.mid), absl::StrFormat("%.4g", rate.low),
                  absl::StrFormat("%.4g", rate.high),
                  question.profile.configurations[one.rate->configuration].name});
  }
  return table.Text();
}

}  // namespace

std::string PlanHeadline(const IdlePlan& plan) {
  const std::string source =
      plan.is_measured ? absl::StrCat("measured in ", plan.iterations) : std::string("model");
  return absl::StrCat(plan.title, "\niteration ", FormatNs(plan.iteration_ns), ", ",
                      ShareText(plan.bubble_share), " of it idle (", source, ")\n");
}

std::string BubbleTable(const IdlePlan& plan, const TableStyle& style) {
  Table table({{DeviceWord(plan), plan.is_measured ? Align::kLeft : Align::kRight},
               {"BUBBLE"},
               {"COUNT", Align::kRight},
               {"LENGTH", Align::kRight},
               {"TOTAL", Align::kRight},
               {"SHARE", Align::kRight},
               {"FREE MEMORY", Align::kRight}});
  for (const PlanDevice& device : plan.devices) {
    for (const BubbleRow& row : RowsOf(device, style.wants_all)) {
      const double iteration_ns = std::max<double>(1, static_cast<double>(device.iteration_ns));
      table.AddRow({DeviceLabel(plan, device), row.name, absl::StrCat(row.count), LengthText(row),
                    FormatNs(row.total_ns),
                    ShareText(static_cast<double>(row.total_ns) / iteration_ns),
                    row.memory_free_bytes.has_value() ? FormatBytes(*row.memory_free_bytes) : ""});
    }
  }
  return table.is_empty() ? "nothing is idle\n" : table.Text(style.width);
}

std::string TimelineText(const IdlePlan& plan, size_t width) {
  size_t label_width = 0;
  int64_t span_ns = 1;
  const size_t drawn = std::min(plan.devices.size(), kDevicesDrawn);
  for (size_t d = 0; d < drawn; ++d) {
    label_width = std::max(label_width, plan.devices[d].name.size());
    span_ns = std::max(span_ns, plan.devices[d].iteration_ns);
    for (const PlanWork& work : plan.devices[d].work) span_ns = std::max(span_ns, work.end_ns);
  }
  label_width = std::min<size_t>(label_width, 20);
  const size_t columns = std::max<size_t>(20, width) - label_width - 1;
  std::string text;
  for (size_t d = 0; d < drawn; ++d) {
    const PlanDevice& device = plan.devices[d];
    absl::StrAppend(&text, FitTo(OneLine(device.name), label_width), " ",
                    Columns(device, span_ns, columns), "\n");
  }
  if (drawn < plan.devices.size()) {
    absl::StrAppend(&text, plan.devices.size() - drawn, " more are not drawn\n");
  }
  absl::StrAppend(&text, std::string(label_width + 1, ' '), "0 to ", FormatNs(span_ns), "; ",
                  Legend(plan), "\n");
  return text;
}

std::string FillText(const FillQuestion& question, const FillForecast& forecast,
                     const IdlePlan& plan, uint32_t budget_ppm) {
  std::string text = absl::StrCat("\n", RateTable(question, forecast, plan), "\n");
  Facts facts;
  facts.Add("job", OneLine(question.job));
  if (forecast.best.has_value()) {
    const PlanDevice& best = plan.devices[*forecast.best];
    facts.Add("best",
              absl::StrCat(OneLine(best.name), ", ",
                           IntervalText(forecast.devices[*forecast.best].rate->samples_per_s)));
    if (forecast.seconds_left.has_value()) {
      facts.Add("done there", absl::StrCat("in ", SecondsText(forecast.seconds_left->mid),
                                           ", at least ", SecondsText(forecast.seconds_left->low),
                                           ", at most ", SecondsText(forecast.seconds_left->high)));
    }
    facts.Add(
        "one on each",
        absl::StrFormat("%.4g samples/s, worth %.3g of %d devices of their own",
                        forecast.total_samples_per_s, forecast.worth_devices, plan.devices.size()));
  }
  const double budget_ns = budget_ppm / 1e6 * static_cast<double>(plan.iteration_ns);
  facts.Add("budget", absl::StrCat("the main job gets at most ", FormatPpm(budget_ppm), " slower: ",
                                   FormatNs(static_cast<int64_t>(budget_ns)), " an iteration"));
  return absl::StrCat(text, facts.Text());
}

}  // namespace pipefill
