// Outcomes that nothing was simulated for, for tests.
//
// Pure.
#ifndef CLI_SIM_TESTING_MADE_UP_OUTCOMES_H_
#define CLI_SIM_TESTING_MADE_UP_OUTCOMES_H_

#include <string>
#include <utility>
#include <vector>

#include "cli/sim/sim_run.h"

namespace pipefill {

// A small training run and one class of jobs, "embed"; 64 devices, half of their time idle, 60 % of
// it filled, 10 of 12 jobs done in 1 to 10 hours.
inline SimOutcome MadeUpOutcome() {
  SimOutcome outcome;
  outcome.policy = "fifo";
  outcome.training.pipeline.shape = {
      .schedule = simulator::Schedule::kGpipe, .stages = 2, .microbatches = 2, .chunks = 1};
  simulator::StageTimes stage;
  stage.chunks = {{.forward_ns = 10'000'000,
                   .backward_input_ns = 10'000'000,
                   .backward_weight_ns = 10'000'000}};
  outcome.training.pipeline.times.stages.assign(2, stage);
  simulator::JobClass job_class;
  job_class.name = "embed";
  Configuration configuration;
  configuration.name = "default";
  configuration.chain = {{.time_ns = 1'000'000}};
  job_class.profile.configurations = {configuration};
  outcome.classes = {job_class};
  outcome.horizon = absl::Hours(24);
  simulator::ClusterResult& result = outcome.result;
  result.devices = 64;
  result.bubble_share = 0.5;
  result.filled_share = 0.6;
  result.gain = 0.3;
  result.bubble_mean_s = 0.02;
  result.classes = {{BubbleClass::kHead, {.bubble_share = 0.1, .filled_share = 0.4}},
                    {BubbleClass::kTail, {.bubble_share = 0.4, .filled_share = 0.65}}};
  result.jobs_submitted = 12;
  result.jobs_completed = 10;
  result.completion_mean_s = 4 * 3600;
  result.last_end_s = 10 * 3600;
  for (size_t i = 0; i < simulator::kCompletionQuantiles; ++i) {
    result.completion_quantiles_s.push_back(3600 * (1 + 0.09 * static_cast<double>(i)));
  }
  result.lanes = {
      {.device = "r0000-s000/gpu0",
       .stage = 0,
       .spans = {{.job = JobId(7), .job_class = "embed", .begin_s = 0, .end_s = 7200}}}};
  return outcome;
}

// One outcome per combination of the sweeps' values, the last one changing fastest.
inline std::vector<SimOutcome> MadeUpOutcomes(const std::vector<SimSweep>& sweeps) {
  std::vector<SimOutcome> all = {MadeUpOutcome()};
  for (const SimSweep& sweep : sweeps) {
    std::vector<SimOutcome> more;
    for (const SimOutcome& outcome : all) {
      for (const std::vector<std::string>& value : sweep.values) {
        more.push_back(outcome);
        for (size_t i = 0; i < value.size(); ++i) {
          more.back().settings.emplace_back(sweep.fields[i], value[i]);
        }
      }
    }
    all = std::move(more);
  }
  return all;
}

}  // namespace pipefill

#endif  // CLI_SIM_TESTING_MADE_UP_OUTCOMES_H_
