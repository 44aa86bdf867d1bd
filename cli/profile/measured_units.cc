#include "cli/profile/measured_units.h"

#include <algorithm>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "cli/json.h"
#include "cli/output.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

constexpr absl::string_view kFirstLine = "pipefill-units 1";

// A size with less than this part of the most frequent one's units was no choice of the profiler.
constexpr int64_t kRareParts = 10;

// The number behind `name`= in the words of a line; false if there is none.
template <typename Number>
bool TakeNumber(const std::vector<absl::string_view>& words, absl::string_view name,
                Number* number) {
  for (absl::string_view word : words) {
    const bool is_it = absl::ConsumePrefix(&word, name) && absl::ConsumePrefix(&word, "=");
    if (is_it) return absl::SimpleAtoi(word, number);
  }
  return false;
}

bool ParseLine(absl::string_view line, MeasuredUnits* units) {
  const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
  return words[0] == "unit" && TakeNumber(words, "label", &units->label) &&
         TakeNumber(words, "size", &units->size) && TakeNumber(words, "count", &units->count) &&
         TakeNumber(words, "total_ns", &units->total_ns) &&
         TakeNumber(words, "p50_ns", &units->p50_ns) &&
         TakeNumber(words, "p90_ns", &units->p90_ns) &&
         TakeNumber(words, "max_ns", &units->max_ns) && units->count > 0 && units->total_ns >= 0;
}

void AddNode(const MeasuredUnits& units, int64_t repeats, v1::FillConfiguration* configuration) {
  v1::ProfileNode* node = configuration->add_nodes();
  node->set_time_ns(std::max<int64_t>(1, units.mean_ns()));
  node->set_time_p90_ns(units.p90_ns);
  node->set_repeats(repeats);
}

std::vector<MeasuredUnits> Elastic(const MeasuredRun& run) {
  std::map<uint32_t, int64_t> counts;
  for (const MeasuredUnits& units : run.units) {
    if (units.size > 0) counts[units.label] += units.count;
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<MeasuredUnits> elastic;
  int64_t count_max = 0;
  for (const MeasuredUnits& units : run.units) {
    if (units.size == 0 || units.label != most->first) continue;
    elastic.push_back(units);
    count_max = std::max(count_max, units.count);
  }
  // Not the rests at the end of the work.
  elastic.erase(std::remove_if(elastic.begin(), elastic.end(),
                               [&](const MeasuredUnits& units) {
                                 return units.count * kRareParts < count_max;
                               }),
                elastic.end());
  std::sort(elastic.begin(), elastic.end(),
            [](const MeasuredUnits& a, const MeasuredUnits& b) { return a.size < b.size; });
  return elastic;
}

v1::FillConfiguration ElasticConfiguration(const MeasuredUnits& units, const MeasuredRun& run) {
  v1::FillConfiguration configuration;
  const int64_t size = units.size;
  configuration.set_name(run.batch_size > 0 ? absl::StrCat("batch", run.batch_size)
                                            : absl::StrCat("n", size));
  configuration.set_batch_size(run.batch_size > 0 ? run.batch_size : size);
  configuration.set_samples_per_pass(size);
  configuration.set_resident_bytes(run.memory_peak_bytes);
  AddNode(units, 1, &configuration);
  return configuration;
}

v1::FillConfiguration StepConfiguration(const MeasuredRun& run) {
  v1::FillConfiguration configuration;
  configuration.set_name(run.batch_size > 0 ? absl::StrCat("batch", run.batch_size) : "default");
  configuration.set_batch_size(run.batch_size);
  configuration.set_resident_bytes(run.memory_peak_bytes);
  int64_t rarest = INT64_MAX;
  for (const MeasuredUnits& units : run.units) rarest = std::min(rarest, units.count);
  int64_t units_per_pass = 0;
  for (const MeasuredUnits& units : run.units) {
    // At most what the planner takes as repeats of one node.
    const int64_t repeats = std::clamp<int64_t>((units.count + rarest / 2) / rarest, 1, 1'000'000);
    AddNode(units, repeats, &configuration);
    units_per_pass += repeats;
  }
  configuration.set_samples_per_pass(units_per_pass * std::max<int64_t>(1, run.batch_size));
  return configuration;
}

std::string TimeText(int64_t ns) { return pipefill::FormatDuration(absl::Nanoseconds(ns)); }

std::string KindText(const MeasuredRun& run, const MeasuredUnits& units) {
  std::string text = absl::StrCat("label ", units.label);
  if (units.size > 0) absl::StrAppend(&text, ", n ", units.size);
  if (run.batch_size > 0) absl::StrAppend(&text, ", batch ", run.batch_size);
  return text;
}

Json ConfigurationJson(const v1::FillConfiguration& configuration) {
  Json json;
  json["name"] = configuration.name();
  json["batch_size"] = configuration.batch_size();
  json["samples_per_pass"] = configuration.samples_per_pass();
  json["resident_bytes"] = configuration.resident_bytes();
  json["nodes"] = Json::array();
  for (const v1::ProfileNode& node : configuration.nodes()) {
    json["nodes"].push_back({{"time_ns", node.time_ns()},
                             {"time_p90_ns", node.time_p90_ns()},
                             {"repeats", node.repeats()}});
  }
  return json;
}

}  // namespace

absl::StatusOr<std::vector<MeasuredUnits>> ParseMeasuredUnits(absl::string_view text) {
  std::vector<MeasuredUnits> all;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    ++number;
    if (number == 1 && line == kFirstLine) continue;
    MeasuredUnits units;
    if (number == 1 || !ParseLine(line, &units)) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": not what this version writes: ", OneLine(line)));
    }
    all.push_back(units);
  }
  return all;
}

std::vector<v1::FillConfiguration> ConfigurationsOf(const MeasuredRun& run) {
  if (run.units.empty()) return {};
  const bool is_elastic = std::any_of(run.units.begin(), run.units.end(),
                                      [](const MeasuredUnits& units) { return units.size > 0; });
  if (!is_elastic) return {StepConfiguration(run)};
  const std::vector<MeasuredUnits> elastic = Elastic(run);
  if (run.batch_size > 0) return {ElasticConfiguration(elastic.back(), run)};
  std::vector<v1::FillConfiguration> configurations;
  for (const MeasuredUnits& units : elastic) {
    configurations.push_back(ElasticConfiguration(units, run));
  }
  return configurations;
}

std::string UnitTable(const std::vector<MeasuredRun>& runs) {
  Table table({{"UNITS OF"},
               {"COUNT", Align::kRight},
               {"MEAN", Align::kRight},
               {"P50", Align::kRight},
               {"P90", Align::kRight},
               {"MAX", Align::kRight},
               {"PER SECOND", Align::kRight}});
  for (const MeasuredRun& run : runs) {
    for (const MeasuredUnits& units : run.units) {
      const double per_s =
          std::max<double>(1, units.size) / static_cast<double>(units.mean_ns()) * 1e9;
      table.AddRow({KindText(run, units), FormatCount(units.count), TimeText(units.mean_ns()),
                    TimeText(units.p50_ns), TimeText(units.p90_ns), TimeText(units.max_ns),
                    units.mean_ns() > 0 ? absl::StrFormat("%.4g", per_s) : ""});
    }
  }
  return table.Text();
}

std::string ProfileJsonText(const v1::FillProfile& profile) {
  Json json;
  json["configurations"] = Json::array();
  for (const v1::FillConfiguration& configuration : profile.configurations()) {
    json["configurations"].push_back(ConfigurationJson(configuration));
  }
  if (profile.samples_total() > 0) json["samples_total"] = profile.samples_total();
  return JsonText(json);
}

}  // namespace pipefill
