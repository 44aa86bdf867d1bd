#include "scheduler/convert/job_plan.h"

#include <cmath>

#include "absl/time/time.h"
#include "scheduler/convert/convert.h"
#include "scheduler/convert/profile.h"

namespace pipefill::scheduler {
namespace {

v1::PlanNeighbour ToProto(const PlanNeighbour& from, absl::Time wall) {
  v1::PlanNeighbour to;
  to.set_job_id(from.job.value());
  to.set_name(from.name);
  to.set_priority(from.priority);
  if (from.seconds_left.has_value() && std::isfinite(*from.seconds_left)) {
    to.set_finish_unix_ns(absl::ToUnixNanos(wall + absl::Seconds(*from.seconds_left)));
  }
  to.set_leaving(from.is_leaving);
  return to;
}

v1::PlanCandidate ToProto(const PlanCandidate& from, absl::Time wall) {
  v1::PlanCandidate to;
  to.set_main_job(from.main_job);
  to.set_stage(from.stage);
  to.set_devices(static_cast<int64_t>(from.devices));
  to.set_devices_free(static_cast<int64_t>(from.devices_free));
  to.set_node(from.device.node);
  to.set_device(from.device.name);
  *to.mutable_forecast() = ToProto(from.forecast, wall);
  to.set_text(from.text);
  for (const PlanNeighbour& neighbour : from.neighbours) {
    *to.add_neighbours() = ToProto(neighbour, wall);
  }
  return to;
}

}  // namespace

v1::PlanJobResponse ToProto(const JobPlan& from, const EventTime& time) {
  v1::PlanJobResponse to;
  *to.mutable_job() = ToProto(from.job, *from.plan, time.now);
  to.mutable_job()->clear_id();
  *to.mutable_job()->mutable_pending() = ToProto(from.detail);
  if (from.device.has_value() || from.evicting.has_value()) {
    to.mutable_job()->clear_pending_reason();
    to.mutable_job()->clear_pending_text();
  }
  if (from.device.has_value()) {
    to.set_node(from.device->node);
    to.set_device(from.device->name);
  }
  if (from.evicting.has_value()) {
    to.set_evicting_node(from.evicting->node);
    to.set_evicting_device(from.evicting->name);
  }
  for (const JobId victim : from.evicted) to.add_evicted_job_ids(victim.value());
  for (const PlanCandidate& candidate : from.candidates) {
    *to.add_candidates() = ToProto(candidate, time.wall);
  }
  to.set_candidates_left_out(static_cast<int64_t>(from.candidates_left_out));
  for (const std::string& note : from.notes) to.add_notes(note);
  return to;
}

}  // namespace pipefill::scheduler
