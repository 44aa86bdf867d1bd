#include "cli/sim/sim_dimension.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/output.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

struct FieldName {
  const char* field;
  const char* words;
};

constexpr FieldName kFieldNames[] = {
    {"policy", "policy"},
    {"seed", "seed"},
    {"training.backward", "backward of a microbatch on a stage"},
    {"training.fill.overrun_ratio", "overrun promised per unit time"},
    {"training.fill.static_share", "share of each bubble that may be filled"},
    {"training.forward", "forward of a microbatch on a stage"},
    {"training.jitter", "spread of the operations' lengths"},
    {"training.memory_free", "free memory of a device"},
    {"training.pipeline", "pipeline"},
    {"training.replicas", "replicas"},
    {"workload.jobs_at_start", "jobs at the start"},
    {"workload.jobs_per_hour", "jobs an hour"},
    {"workload.trace.speed_up", "speed-up of the trace's arrivals"},
};

std::string WordsOf(const std::string& field) {
  const auto* found = std::find_if(std::begin(kFieldNames), std::end(kFieldNames),
                                   [&](const FieldName& name) { return field == name.field; });
  return found == std::end(kFieldNames) ? field : found->words;
}

// "training.memory_free" -> "memory free": for names that are made of several.
std::string ShortWordsOf(const std::string& field) {
  return absl::StrReplaceAll(field.substr(field.rfind('.') + 1), {{"_", " "}});
}

struct Number {
  double value = 0;
  const char* unit = "";
};

// Plain numbers, times in milliseconds, sizes in GiB.
std::optional<Number> NumberOf(const std::string& text) {
  Number number;
  if (absl::SimpleAtod(text, &number.value)) return number;
  if (const auto duration = ParsePositiveDuration(text); duration.ok()) {
    return Number{absl::ToDoubleMilliseconds(*duration), "ms"};
  }
  if (const auto bytes = ParseBytes(text); bytes.ok()) {
    return Number{static_cast<double>(*bytes) / static_cast<double>(int64_t{1} << 30), "GiB"};
  }
  return std::nullopt;
}

// All of the same unit, or none.
std::optional<std::vector<Number>> NumbersOf(const SimSweep& sweep) {
  std::vector<Number> numbers;
  for (const std::vector<std::string>& value : sweep.values) {
    const std::optional<Number> number = NumberOf(value.front());
    if (!number.has_value()) return std::nullopt;
    if (!numbers.empty() && std::string(number->unit) != numbers.front().unit) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

// Steps between runs that are neighbours in each dimension.
std::vector<size_t> StridesOf(const std::vector<size_t>& counts) {
  std::vector<size_t> strides(counts.size(), 1);
  for (size_t d = counts.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * counts[d - 1];
  return strides;
}

std::vector<size_t> CountsOf(const std::vector<Dimension>& dimensions) {
  std::vector<size_t> counts;
  for (const Dimension& dimension : dimensions) counts.push_back(dimension.labels.size());
  return counts;
}

// Whether each value of the sweep has one number of devices, whatever else is swept over, and no
// other value has the same.
bool HasOwnSizes(const SimSweep& sweep, const std::vector<SimOutcome>& outcomes, size_t stride) {
  std::vector<int64_t> devices(sweep.values.size(), 0);
  for (size_t run = 0; run < outcomes.size(); ++run) {
    int64_t& of_value = devices[run / stride % devices.size()];
    const int64_t count = outcomes[run].result.devices;
    if (of_value != 0 && of_value != count) return false;
    of_value = count;
  }
  std::sort(devices.begin(), devices.end());
  return std::adjacent_find(devices.begin(), devices.end()) == devices.end();
}

// Sizes as labels where each belongs to one value; numbers with what they are of.
void NameSizes(const SimSweep& sweep, bool has_own_sizes, Dimension& dimension) {
  const bool is_bare_number = sweep.fields.size() == 1 && NumbersOf(sweep).has_value();
  for (size_t i = 0; i < dimension.labels.size(); ++i) {
    std::string& label = dimension.labels[i];
    if (has_own_sizes) {
      label = Plural(static_cast<int64_t>(dimension.numbers[i]), "device");
    } else if (is_bare_number) {
      label = absl::StrCat(ShortWordsOf(dimension.field), " ", label);
    }
  }
}

Dimension DimensionOf(const SimSweep& sweep, const std::vector<SimOutcome>& outcomes,
                      size_t stride) {
  Dimension dimension;
  dimension.field = sweep.fields.front();
  dimension.title = WordsOf(dimension.field);
  std::vector<double> devices;
  for (size_t i = 0; i < sweep.values.size(); ++i) {
    dimension.labels.push_back(absl::StrJoin(sweep.values[i], " "));
    devices.push_back(static_cast<double>(outcomes[i * stride].result.devices));
  }
  const bool is_size = *std::min_element(devices.begin(), devices.end()) <
                       *std::max_element(devices.begin(), devices.end());
  if (is_size) {
    dimension.kind = DimensionKind::kSize;
    dimension.title = "number of devices";
    dimension.numbers = std::move(devices);
    NameSizes(sweep, HasOwnSizes(sweep, outcomes, stride), dimension);
  } else if (dimension.field == "policy") {
    dimension.kind = DimensionKind::kPolicy;
  } else if (const auto numbers = NumbersOf(sweep); numbers.has_value()) {
    dimension.kind = DimensionKind::kNumber;
    for (const Number& number : *numbers) dimension.numbers.push_back(number.value);
    const std::string unit = numbers->front().unit;
    if (!unit.empty()) absl::StrAppend(&dimension.title, ", ", unit);
  }
  return dimension;
}

// The values of a run, those of dimension `left_out` left out.
std::string NameOf(const std::vector<Dimension>& dimensions, size_t run, size_t left_out) {
  const std::vector<size_t> strides = StridesOf(CountsOf(dimensions));
  std::vector<std::string> parts;
  for (size_t d = 0; d < dimensions.size(); ++d) {
    if (d == left_out) continue;
    const Dimension& dimension = dimensions[d];
    const std::string& label = dimension.labels[run / strides[d] % dimension.labels.size()];
    const bool needs_title = dimension.kind == DimensionKind::kNumber;
    parts.push_back(needs_title ? absl::StrCat(ShortWordsOf(dimension.field), " ", label) : label);
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace

std::vector<Dimension> DimensionsOf(const std::vector<SimSweep>& sweeps,
                                    const std::vector<SimOutcome>& outcomes) {
  std::vector<size_t> counts;
  for (const SimSweep& sweep : sweeps) counts.push_back(sweep.values.size());
  const std::vector<size_t> strides = StridesOf(counts);
  std::vector<Dimension> dimensions;
  for (size_t d = 0; d < sweeps.size(); ++d) {
    if (counts[d] < 2) continue;
    dimensions.push_back(DimensionOf(sweeps[d], outcomes, strides[d]));
  }
  return dimensions;
}

std::vector<RunSeries> SeriesAlong(const std::vector<Dimension>& dimensions, size_t along) {
  const std::vector<size_t> counts = CountsOf(dimensions);
  const std::vector<size_t> strides = StridesOf(counts);
  const size_t runs = strides.front() * counts.front();
  std::vector<RunSeries> all;
  for (size_t first = 0; first < runs; ++first) {
    if (first / strides[along] % counts[along] != 0) continue;
    RunSeries series{.name = NameOf(dimensions, first, along), .runs = {}};
    for (size_t i = 0; i < counts[along]; ++i) series.runs.push_back(first + i * strides[along]);
    all.push_back(std::move(series));
  }
  return all;
}

std::string RunName(const std::vector<Dimension>& dimensions, size_t run) {
  return NameOf(dimensions, run, dimensions.size());
}

}  // namespace pipefill
