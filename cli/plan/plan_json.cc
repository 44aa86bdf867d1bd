#include "cli/plan/plan_json.h"

#include <cmath>

#include "cli/json.h"
#include "cli/words.h"

namespace pipefill {
namespace {

Json BubbleOf(const PlanBubble& bubble) {
  Json json = {{"class", Word(bubble.bubble_class)},
               {"ordinal", bubble.ordinal},
               {"offset_ns", bubble.offset_ns},
               {"mean_ns", bubble.mean_ns},
               {"p10_ns", bubble.p10_ns},
               {"p50_ns", bubble.p50_ns},
               {"p90_ns", bubble.p90_ns}};
  if (bubble.memory_free_bytes.has_value()) json["memory_free_bytes"] = *bubble.memory_free_bytes;
  return json;
}

Json DeviceOf(const PlanDevice& device) {
  Json json = {{"name", device.name},
               {"stage", device.stage},
               {"iteration_ns", device.iteration_ns},
               {"bubble_share", device.bubble_share}};
  if (device.memory_peak_bytes.has_value()) json["memory_peak_bytes"] = *device.memory_peak_bytes;
  json["bubbles"] = Json::array();
  for (const PlanBubble& bubble : device.bubbles) json["bubbles"].push_back(BubbleOf(bubble));
  return json;
}

Json IntervalOf(const Interval& interval) {
  Json json;
  if (std::isfinite(interval.mid)) json["mid"] = interval.mid;
  if (std::isfinite(interval.low)) json["low"] = interval.low;
  if (std::isfinite(interval.high)) json["high"] = interval.high;
  return json;
}

Json FillOf(const FillAnswer& fill, const IdlePlan& plan) {
  const FillForecast& forecast = *fill.forecast;
  Json json = {{"job", fill.question->job},
               {"budget_ppm", fill.budget_ppm},
               {"total_samples_per_s", forecast.total_samples_per_s},
               {"worth_devices", forecast.worth_devices}};
  if (forecast.best.has_value()) json["best"] = plan.devices[*forecast.best].name;
  if (forecast.seconds_left.has_value()) json["seconds"] = IntervalOf(*forecast.seconds_left);
  json["devices"] = Json::array();
  for (size_t d = 0; d < forecast.devices.size(); ++d) {
    const DeviceForecast& one = forecast.devices[d];
    Json device = {{"name", plan.devices[d].name}};
    if (one.rate.has_value()) {
      device["samples_per_s"] = IntervalOf(one.rate->samples_per_s);
      device["configuration"] = fill.question->profile.configurations[one.rate->configuration].name;
    } else {
      device["text"] = one.why;
    }
    json["devices"].push_back(device);
  }
  return json;
}

}  // namespace

std::string PlanJson(const IdlePlan& plan, const FillAnswer* fill) {
  Json json = {{"title", plan.title},
               {"source", plan.is_measured ? "trace" : "model"},
               {"iterations", plan.iterations},
               {"iteration_ns", plan.iteration_ns},
               {"bubble_share", plan.bubble_share}};
  json["notes"] = plan.notes;
  json["devices"] = Json::array();
  for (const PlanDevice& device : plan.devices) json["devices"].push_back(DeviceOf(device));
  if (!plan.mean_work.empty()) json["mean_work"] = Json::array();
  for (const MeanWork& work : plan.mean_work) {
    json["mean_work"].push_back({{"stage", work.stage},
                                 {"kind", Word(work.kind)},
                                 {"mean_ns", work.mean_ns},
                                 {"spread", work.spread},
                                 {"count", work.count}});
  }
  if (fill != nullptr) json["fill"] = FillOf(*fill, plan);
  return JsonText(json);
}

}  // namespace pipefill
