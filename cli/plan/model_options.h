// The pipeline that a user describes on the command line, as input of the model.
//
// Pure.
#ifndef CLI_PLAN_MODEL_OPTIONS_H_
#define CLI_PLAN_MODEL_OPTIONS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "simulator/pipeline/pipeline_model.h"

namespace pipefill {

// As typed; an empty one was not given.
struct ModelOptions {
  std::string pipeline;  // "16x8@1f1b"
  int32_t chunks = 0;    // 0: what the schedule needs
  // Of one microbatch on a whole stage: its chunks share them.
  std::string forward;
  std::string backward;         // both gradients; default: twice the forward
  std::string weight_gradient;  // part of the backward; default: half of it
  std::string transfer;         // between neighbouring stages
  std::string reduction;        // between the last backward and the optimizer's step
  std::string tail;             // the optimizer's step
  bool waits_for_all = false;   // the step waits for all stages
  std::string jitter;           // "5%"
  uint64_t seed = 1;
  std::string straggler;      // "3:1.5": stage 3 takes one and a half times as long
  std::string memory;         // of the device
  std::string static_bytes;   // what the main job holds all the time
  std::string activation;     // of one microbatch in one chunk
  std::string kept;           // of it, between input and weight gradient; default: all
  std::string stages_text;    // content of the stages file; goes over the options above
  std::string stages_origin;  // its name, for errors

  friend bool operator==(const ModelOptions&, const ModelOptions&) = default;
};

// InvalidArgument, naming the option or the place in the stages file.
absl::StatusOr<simulator::PipelineModel> ModelOf(const ModelOptions& options);

}  // namespace pipefill

#endif  // CLI_PLAN_MODEL_OPTIONS_H_
