// What to expect of a job on its device, from the job's profile, or from what its units took so
// far, and from the bubbles as the device's agent last reported them.
//
// Where units take longer than the profile says, since the main job has used the caches meanwhile,
// the profile's times are lengthened alike. Elastic units are compared by what a piece takes, for
// they have any size; where a task does not tell its pieces, shorter units are taken to have done
// less.
//
// What the plan gives is corrected by what came about in the last seconds, once that is known.
//
// Soft state, made anew for each reader: nothing here decides where a job goes.
//
// Pure.
#ifndef SCHEDULER_CORE_JOB_FORECAST_H_
#define SCHEDULER_CORE_JOB_FORECAST_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/calendar.h"
#include "planner/forecast.h"
#include "scheduler/core/job.h"
#include "scheduler/core/node_table.h"

namespace pipefill::scheduler {

struct JobForecast {
  // Samples of the profile, or units where there is none, per second; all 0 = not known.
  Interval rate;
  std::optional<Interval> seconds_left;  // if the job's total is known
  std::string configuration;             // of the profile; empty = none was chosen
  std::string text;  // one line: where the figures come from, or why there are none
};

// The bubbles of the device that units may start in, each with `memory_free_bytes`, or less where
// the agent says so. nullopt: the node is not known, or no bubble is offered yet.
std::optional<Calendar> CalendarOf(const NodeMap& nodes, const DeviceKey& device,
                                   int64_t memory_free_bytes);

// What the bubbles of the node's device take; nullopt: none is offered yet.
std::optional<BubbleRoom> RoomOf(const Node& node, const DeviceKey& device);

// What the job's profile asks of bubbles. nullptr unless it was measured, of this very content: no
// device must be ruled out for what another job's units took, or by learned times, which were those
// of units that did fit.
std::shared_ptr<const std::vector<UnitNeed>> NeedsOf(const JobProfile& profile);

// The configuration with which the job goes fastest on the device; empty if it has no profile, if
// the device's bubbles are not learned yet, or if no configuration fits them.
std::string ChooseConfiguration(const Job& job, const NodeMap& nodes, const DeviceKey& device);

// What to expect of a job that has done nothing yet, if it started on the device beside
// `neighbours` others.
JobForecast ForecastStart(const Job& job, const NodeMap& nodes, const DeviceKey& device,
                          size_t neighbours);

// nullopt unless the job is starting or running.
std::optional<JobForecast> ForecastJob(const Job& job, const NodeMap& nodes);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_JOB_FORECAST_H_
