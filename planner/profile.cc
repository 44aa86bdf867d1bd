#include "planner/profile.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/check.h"

namespace pipefill {
namespace {

constexpr size_t kNameMax = 64;

absl::Status Bad(const std::string& field, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", text));
}

bool IsName(const std::string& name) {
  return !name.empty() && name.size() <= kNameMax &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

absl::Status CheckRange(const std::string& field, int64_t value, int64_t min, int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return Bad(field, absl::StrCat(value, " is not in ", min, "..", max));
}

absl::Status CheckNode(const std::string& field, const ProfileNode& node) {
  for (const absl::Status& status :
       {CheckRange(field + ".time_ns", node.time_ns, 1, kNodeTimeMaxNs),
        CheckRange(field + ".time_p90_ns", node.time_p90_ns, 0, kNodeTimeMaxNs),
        CheckRange(field + ".memory_bytes", node.memory_bytes, 0, INT64_MAX / 4),
        CheckRange(field + ".repeats", node.repeats, 1, kRepeatsMax)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CheckChain(const std::string& field, const std::vector<ProfileNode>& chain) {
  if (chain.empty()) return Bad(field, "is empty; a configuration needs at least one node");
  if (chain.size() > kChainMax) {
    return Bad(field, absl::StrCat("has ", chain.size(), " nodes, at most ", kChainMax,
                                   " are allowed; put equal ones together with repeats"));
  }
  int64_t pass_ns = 0;
  for (size_t i = 0; i < chain.size(); ++i) {
    absl::Status status = CheckNode(absl::StrCat(field, "[", i, "]"), chain[i]);
    if (!status.ok()) return status;
    // No overflow: 3.6e12 * 1e6 = 3.6e18 < 2^62.
    const int64_t node_ns = chain[i].high_ns() * chain[i].repeats;
    if (node_ns > kPassMaxNs - pass_ns) return Bad(field, "takes longer than 36 years");
    pass_ns += node_ns;
  }
  return absl::OkStatus();
}

absl::Status CheckConfiguration(const std::string& field, const Configuration& configuration) {
  if (!IsName(configuration.name)) {
    return Bad(field + ".name", absl::StrCat("\"", configuration.name,
                                             "\" is not 1..64 characters of [A-Za-z0-9._-]"));
  }
  for (const absl::Status& status :
       {CheckRange(field + ".batch_size", configuration.batch_size, 0, kSamplesMax),
        CheckRange(field + ".samples_per_pass", configuration.samples_per_pass, 1, kSamplesMax),
        CheckRange(field + ".resident_bytes", configuration.resident_bytes, 0, INT64_MAX / 4)}) {
    if (!status.ok()) return status;
  }
  return CheckChain(field + ".nodes", configuration.chain);
}

}  // namespace

int64_t Configuration::units_per_pass() const {
  int64_t units = 0;
  for (const ProfileNode& node : chain) units += node.repeats;
  return units;
}

double Configuration::unit_mean_ns() const {
  double pass_ns = 0;
  for (const ProfileNode& node : chain) {
    pass_ns += static_cast<double>(node.time_ns) * static_cast<double>(node.repeats);
  }
  return pass_ns / static_cast<double>(units_per_pass());
}

const Configuration* FillProfile::Find(const std::string& name) const {
  const auto it = std::find_if(configurations.begin(), configurations.end(),
                               [&](const Configuration& known) { return known.name == name; });
  return it == configurations.end() ? nullptr : &*it;
}

absl::Status CheckProfile(const FillProfile& profile) {
  if (profile.configurations.size() > kConfigurationsMax) {
    return Bad("profile.configurations",
               absl::StrCat("has ", profile.configurations.size(), " entries, at most ",
                            kConfigurationsMax, " are allowed"));
  }
  absl::Status status = CheckRange("profile.samples_total", profile.samples_total, 0, kSamplesMax);
  for (size_t i = 0; i < profile.configurations.size() && status.ok(); ++i) {
    const std::string field = absl::StrCat("profile.configurations[", i, "]");
    status = CheckConfiguration(field, profile.configurations[i]);
    const std::string& name = profile.configurations[i].name;
    if (status.ok() && profile.Find(name) != &profile.configurations[i]) {
      return Bad(field + ".name", absl::StrCat("\"", name, "\" is there twice"));
    }
  }
  return status;
}

Configuration LearnedConfiguration(int64_t units, int64_t unit_time_total_ns,
                                   int64_t unit_estimate_ns) {
  CHECK(units > 0);
  Configuration configuration;
  configuration.name = "learned";
  ProfileNode node;
  node.time_ns = std::clamp<int64_t>(unit_time_total_ns / units, 1, kNodeTimeMaxNs);
  node.time_p90_ns = std::clamp<int64_t>(unit_estimate_ns, 0, kNodeTimeMaxNs);
  configuration.chain = {node};
  return configuration;
}

Configuration Slowed(Configuration configuration, double factor) {
  CHECK(factor > 0);
  for (ProfileNode& node : configuration.chain) {
    for (int64_t* time_ns : {&node.time_ns, &node.time_p90_ns}) {
      const double slowed_ns = static_cast<double>(*time_ns) * factor;
      *time_ns = static_cast<int64_t>(std::min(slowed_ns, static_cast<double>(kNodeTimeMaxNs)));
    }
    node.time_ns = std::max<int64_t>(1, node.time_ns);
  }
  return configuration;
}

}  // namespace pipefill
