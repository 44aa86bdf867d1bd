#include "cli/report/report_json.h"

#include <cmath>
#include <optional>

#include "cli/json.h"
#include "cli/report/control_course.h"
#include "cli/report/timeline.h"

namespace pipefill {
namespace {

Json NumberOrNull(std::optional<double> value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json NsOrNull(std::optional<double> ns) {
  return ns.has_value() ? Json(std::llround(*ns)) : Json(nullptr);
}

const char* UseName(IterationUse use) {
  switch (use) {
    case IterationUse::kCounted:
      return "compared";
    case IterationUse::kNotWhole:
      return "not_whole";
    case IterationUse::kStoodStill:
      return "stood_still";
    case IterationUse::kFirst:
      return "first";
    case IterationUse::kBeforeFill:
      return "before_fill";
    case IterationUse::kAfterFill:
      return "after_fill";
    case IterationUse::kStartUp:
      return "start_up";
    case IterationUse::kNoTask:
      return "no_task";
  }
  return "unknown";
}

// `name`, `name`_lo95 and `name`_hi95.
void AddEstimate(const std::string& name, const std::optional<RatioEstimate>& estimate,
                 Json* json) {
  const bool has_interval = estimate.has_value() && estimate->interval.has_value();
  (*json)[name] = estimate.has_value() ? Json(estimate->change) : Json(nullptr);
  (*json)[name + "_lo95"] = has_interval ? Json(estimate->interval->lo) : Json(nullptr);
  (*json)[name + "_hi95"] = has_interval ? Json(estimate->interval->hi) : Json(nullptr);
}

Json JobJsonOf(const JobFigures& job) {
  Json json;
  json["job"] = job.job_id;
  json["name"] = job.name;
  json["units"] = job.units;
  json["unit_cpu_ns"] = job.unit_cpu_ns;
  json["in_bubble_cpu_ns"] = job.in_bubble_cpu_ns;
  json["exclusive_equivalent_ns"] = job.exclusive_equivalent_ns;
  json["is_alone_measured"] = job.has_alone;
  json["devices"] = job.devices;
  json["attempts"] = job.attempts;
  json["memory_peak_bytes"] = job.memory_peak_bytes;
  json["memory_cap_bytes"] = job.memory_cap_bytes;
  json["is_ended"] = job.is_ended;
  return json;
}

Json BubbleJsonOf(const BubbleFigures& bubble) {
  Json json;
  json["node"] = bubble.node;
  json["device"] = bubble.device;
  json["rank"] = bubble.rank;
  json["stage"] = bubble.stage;
  json["bubble"] = BubbleText(bubble.name);
  json["count"] = bubble.count;
  json["p10_ns"] = std::llround(bubble.p10_ns);
  json["p50_ns"] = std::llround(bubble.p50_ns);
  json["p90_ns"] = std::llround(bubble.p90_ns);
  json["bubble_ns"] = bubble.bubble_ns;
  json["open_count"] = bubble.open_count;
  json["used_count"] = bubble.used_count;
  json["open_ns"] = bubble.open_ns;
  json["offered_ns"] = bubble.offered_ns;
  json["filled_ns"] = bubble.filled_ns;
  json["overrun_ns"] = bubble.overrun_ns;
  return json;
}

Json DeviceJsonOf(const DeviceFigures& device) {
  Json json;
  json["node"] = device.node;
  json["device"] = device.device;
  json["rank"] = device.rank;
  json["stage"] = device.stage;
  json["bubble_ratio"] = NumberOrNull(device.bubble_ratio);
  json["bubble_filled"] = NumberOrNull(device.bubble_filled);
  json["overrun_ratio"] = NumberOrNull(device.overrun_ratio);
  return json;
}

void AddChecks(const CheckResult& check, Json* json) {
  (*json)["violations"] = Json::array();
  for (const Violation& violation : check.violations) {
    (*json)["violations"].push_back(violation.text);
  }
  (*json)["violation_count"] = check.violation_count();
  Json checked;
  Json not_checked;
  Json reasons;
  for (size_t i = 0; i < kRules; ++i) {
    const char* name = RuleName(static_cast<Rule>(i));
    checked[name] = check.rules[i].checked;
    not_checked[name] = check.rules[i].unchecked;
    reasons[name] = check.rules[i].unchecked_reasons;
  }
  (*json)["checked"] = checked;
  (*json)["not_checked"] = not_checked;
  (*json)["not_checked_reasons"] = reasons;
  (*json)["units_within_slack"] = check.units_within_slack;
  (*json)["units_of_two_tasks"] = check.units_of_two_tasks;
  (*json)["samples_enforced"] = check.samples_enforced;
}

void AddFigures(const Figures& figures, Json* json) {
  (*json)["main_job"] = figures.main_job;
  (*json)["bubble_ratio"] = NumberOrNull(figures.bubble_ratio);
  (*json)["bubble_filled"] = NumberOrNull(figures.bubble_filled);
  (*json)["bubble_filled_all"] = NumberOrNull(figures.bubble_filled_all);
  (*json)["overrun_ratio"] = NumberOrNull(figures.overrun_ratio);
  AddEstimate("slowdown", figures.slowdown, json);
  (*json)["slowdown_pairs"] = figures.slowdown.has_value() ? figures.slowdown->pairs : 0;
  AddEstimate("slowdown_mean", figures.slowdown_mean, json);
  (*json)["iteration_filled_p50_ns"] = NsOrNull(figures.iteration_filled_p50_ns);
  (*json)["iteration_unfilled_p50_ns"] = NsOrNull(figures.iteration_unfilled_p50_ns);
  (*json)["start_up_change"] = NumberOrNull(figures.start_up_change);
  (*json)["recovered_device_share"] = NumberOrNull(figures.recovered_device_share);
  Json iterations;
  for (const auto& [use, count] : figures.iterations) iterations[UseName(use)] = count;
  (*json)["iterations"] = iterations;
}

Json PointJsonOf(const ControlCourse& course, const ControlPoint& point) {
  Json json;
  json["at_ns"] = point.now_ns - course.begin_ns;
  json["state"] = point.state;
  json["text"] = point.text;
  json["overrun_ratio"] = point.overrun_ratio;
  json["slowdown"] = NumberOrNull(point.slowdown);
  json["slowdown_lo95"] = NumberOrNull(point.slowdown_low);
  json["slowdown_hi95"] = NumberOrNull(point.slowdown_high);
  json["budget"] = point.budget;
  return json;
}

Json CourseJsonOf(const ControlCourse& course) {
  Json json;
  json["node"] = course.node;
  json["rank"] = course.rank;
  json["back_offs"] = course.back_offs;
  json["state_ns"] = Json::object();
  for (const auto& [state, ns] : course.state_ns) json["state_ns"][state] = ns;
  json["points"] = Json::array();
  for (const ControlPoint& point : course.points) {
    json["points"].push_back(PointJsonOf(course, point));
  }
  return json;
}

}  // namespace

std::string ReportJson(const Trace& trace, const Figures& figures, const CheckResult& check) {
  Json json;
  AddFigures(figures, &json);
  json["jobs"] = Json::array();
  for (const JobFigures& job : figures.jobs) json["jobs"].push_back(JobJsonOf(job));
  AddChecks(check, &json);
  json["devices"] = Json::array();
  for (const DeviceFigures& device : figures.devices)
    json["devices"].push_back(DeviceJsonOf(device));
  json["bubbles"] = Json::array();
  for (const BubbleFigures& bubble : figures.bubbles)
    json["bubbles"].push_back(BubbleJsonOf(bubble));
  json["control"] = Json::array();
  for (const ControlCourse& course : ControlCourses(trace, RunToDraw(figures))) {
    json["control"].push_back(CourseJsonOf(course));
  }
  json["notes"] = figures.notes;
  json["trace"] = {{"records", trace.counts.records},
                   {"unknown", trace.counts.unknown},
                   {"malformed", trace.counts.malformed},
                   {"torn_bytes", trace.counts.torn_bytes}};
  return JsonText(json);
}

}  // namespace pipefill
