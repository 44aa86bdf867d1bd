#include "cli/main_job_summary.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "cli/control_text.h"

namespace pipefill {
namespace {

// How much a person should care.
int UrgencyOf(v1::FillState state) {
  switch (state) {
    case v1::FILL_STATE_FAILURE:
      return 6;
    case v1::FILL_STATE_BACKED_OFF:
      return 5;
    case v1::FILL_STATE_PARKED:
      return 4;
    case v1::FILL_STATE_PAUSED:
      return 3;
    case v1::FILL_STATE_LEARNING:
      return 2;
    case v1::FILL_STATE_FILLING:
      return 1;
    default:
      return 0;
  }
}

bool IsWorse(const v1::FillControl& a, const v1::FillControl& b) {
  const auto rank_of = [](const v1::FillControl& control) {
    const bool has_estimate = HasEstimate(control);
    return std::make_tuple(UrgencyOf(control.state()), has_estimate,
                           has_estimate ? control.slowdown() : 0.0);
  };
  return rank_of(a) > rank_of(b);
}

void Add(const v1::Device& device, MainJobSummary& summary) {
  const v1::MainRank& rank = device.main_rank();
  ++summary.attached;
  summary.ranks = std::max(summary.ranks, rank.ranks());
  summary.tasks += device.resident();
  summary.iterations = std::max(summary.iterations, rank.iterations());
  summary.iteration_p50_ns = std::max(summary.iteration_p50_ns, rank.iteration_p50_ns());
  summary.iteration_ns += rank.iteration_ns();
  summary.bubble_ns += rank.bubble_ns();
  if (!rank.has_control()) return;
  ++summary.states[rank.control().state()];
  if (!summary.control.has_value() || IsWorse(rank.control(), *summary.control)) {
    summary.control = rank.control();
  }
}

}  // namespace

std::map<std::string, MainJobSummary> SummariseMainJobs(const v1::ListDevicesResponse& devices) {
  std::map<std::string, MainJobSummary> summaries;
  for (const v1::Device& device : devices.devices()) {
    if (device.has_main_rank()) Add(device, summaries[device.main_rank().main_job()]);
  }
  return summaries;
}

std::string StateText(const MainJobSummary& summary) {
  if (!summary.control.has_value()) return "";
  const std::string text = StateText(*summary.control);
  if (summary.states.size() < 2) return text;
  const int64_t ranks = summary.states.at(summary.control->state());
  return absl::StrCat(text, " (", ranks, " of ", summary.attached, " ranks)");
}

}  // namespace pipefill
