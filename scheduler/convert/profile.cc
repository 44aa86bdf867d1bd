#include "scheduler/convert/profile.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace pipefill::scheduler {
namespace {

// A finish further off than this is not told.
constexpr double kFarSeconds = 100 * 365.0 * 86'400;

MemorySaving FromProto(v1::MemorySaving from) {
  switch (from) {
    case v1::MEMORY_SAVING_CHECKPOINTING:
      return MemorySaving::kCheckpointing;
    case v1::MEMORY_SAVING_OFFLOAD:
      return MemorySaving::kOffload;
    default:
      return MemorySaving::kPlain;
  }
}

v1::MemorySaving ToProto(MemorySaving from) {
  switch (from) {
    case MemorySaving::kPlain:
      return v1::MEMORY_SAVING_PLAIN;
    case MemorySaving::kCheckpointing:
      return v1::MEMORY_SAVING_CHECKPOINTING;
    case MemorySaving::kOffload:
      break;
  }
  return v1::MEMORY_SAVING_OFFLOAD;
}

const char* Word(MemorySaving saving) {
  switch (saving) {
    case MemorySaving::kPlain:
      return "plain";
    case MemorySaving::kCheckpointing:
      return "checkpointing";
    case MemorySaving::kOffload:
      break;
  }
  return "offload";
}

int64_t OneIfZero(int64_t value) { return value == 0 ? 1 : value; }

Configuration FromProto(const v1::FillConfiguration& from) {
  Configuration to;
  to.name = from.name();
  to.batch_size = from.batch_size();
  to.memory_saving = FromProto(from.memory_saving());
  to.samples_per_pass = OneIfZero(from.samples_per_pass());
  to.resident_bytes = from.resident_bytes();
  to.chain.reserve(static_cast<size_t>(from.nodes_size()));
  for (const v1::ProfileNode& node : from.nodes()) {
    to.chain.push_back({.time_ns = node.time_ns(),
                        .time_p90_ns = node.time_p90_ns(),
                        .memory_bytes = node.memory_bytes(),
                        .repeats = OneIfZero(node.repeats())});
  }
  return to;
}

// 0, which means "not known", unless it is a time that people can plan with.
int64_t FinishUnixNs(absl::Time now, double seconds) {
  if (!(seconds >= 0 && seconds < kFarSeconds)) return 0;
  return absl::ToUnixNanos(now + absl::Seconds(seconds));
}

}  // namespace

FillProfile FromProto(const v1::FillProfile& from) {
  FillProfile to;
  to.samples_total = from.samples_total();
  for (const v1::FillConfiguration& configuration : from.configurations()) {
    to.configurations.push_back(FromProto(configuration));
  }
  return to;
}

v1::FillProfile ToProto(const FillProfile& from) {
  v1::FillProfile to;
  to.set_samples_total(from.samples_total);
  for (const Configuration& configuration : from.configurations) {
    v1::FillConfiguration* added = to.add_configurations();
    added->set_name(configuration.name);
    added->set_batch_size(configuration.batch_size);
    added->set_memory_saving(ToProto(configuration.memory_saving));
    added->set_samples_per_pass(configuration.samples_per_pass);
    added->set_resident_bytes(configuration.resident_bytes);
    for (const ProfileNode& node : configuration.chain) {
      v1::ProfileNode* added_node = added->add_nodes();
      added_node->set_time_ns(node.time_ns);
      added_node->set_time_p90_ns(node.time_p90_ns);
      added_node->set_memory_bytes(node.memory_bytes);
      added_node->set_repeats(node.repeats);
    }
  }
  return to;
}

v1::Forecast ToProto(const JobForecast& from, absl::Time now) {
  v1::Forecast to;
  to.set_rate(from.rate.mid);
  to.set_rate_low(from.rate.low);
  to.set_rate_high(from.rate.high);
  if (from.seconds_left.has_value()) {
    to.set_finish_unix_ns(FinishUnixNs(now, from.seconds_left->mid));
    to.set_finish_earliest_unix_ns(FinishUnixNs(now, from.seconds_left->low));
    to.set_finish_latest_unix_ns(FinishUnixNs(now, from.seconds_left->high));
  }
  to.set_configuration(from.configuration);
  to.set_text(from.text);
  return to;
}

std::string ConfigText(const Configuration& configuration) {
  return absl::StrCat(R"({"name":")", configuration.name, R"(","batch_size":)",
                      configuration.batch_size, R"(,"memory_saving":")",
                      Word(configuration.memory_saving), "\"}");
}

}  // namespace pipefill::scheduler
