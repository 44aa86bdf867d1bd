#include "cli/plan/model_options.h"

#include <initializer_list>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "cli/share.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

using simulator::ChunkTimes;
using simulator::PipelineModel;
using simulator::StageMemory;
using simulator::StageTimes;

// Reads `text` into `value`, which keeps what it has if there is none. `name` is for errors.
absl::Status ReadTime(absl::string_view name, const std::string& text, int64_t& value) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<absl::Duration> duration = ParsePositiveDuration(text);
  if (!duration.ok()) return WithContext(duration.status(), name);
  if (*duration > absl::Nanoseconds(simulator::kOperationMaxNs)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", text, " is more than an hour"));
  }
  value = absl::ToInt64Nanoseconds(*duration);
  return absl::OkStatus();
}

absl::Status ReadSize(absl::string_view name, const std::string& text, int64_t& value) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return WithContext(bytes.status(), name);
  value = *bytes;
  return absl::OkStatus();
}

// One stage as it was described; -1: not said.
struct Described {
  int64_t forward_ns = -1;
  int64_t backward_ns = -1;
  int64_t weight_ns = -1;
  int64_t reduction_ns = -1;
  int64_t tail_ns = -1;
  int64_t static_bytes = -1;
  int64_t activation_bytes = -1;
  int64_t kept_bytes = -1;
  int64_t memory_bytes = -1;
};

absl::StatusOr<Described> FromOptions(const ModelOptions& options) {
  Described stage;
  for (const absl::Status& status : std::initializer_list<absl::Status>{
           ReadTime("--forward", options.forward, stage.forward_ns),
           ReadTime("--backward", options.backward, stage.backward_ns),
           ReadTime("--weight-gradient", options.weight_gradient, stage.weight_ns),
           ReadTime("--reduction", options.reduction, stage.reduction_ns),
           ReadTime("--tail", options.tail, stage.tail_ns),
           ReadSize("--static", options.static_bytes, stage.static_bytes),
           ReadSize("--activation", options.activation, stage.activation_bytes),
           ReadSize("--kept", options.kept, stage.kept_bytes),
           ReadSize("--memory", options.memory, stage.memory_bytes)}) {
    RETURN_IF_ERROR(status);
  }
  return stage;
}

// The stages file.

constexpr char kStagesExample[] = R"({"stages": [{"forward": "10ms", "backward": "20ms"}, ...]})";

absl::Status ReadField(const std::string& where, const std::string& name, const std::string& text,
                       Described& stage) {
  const std::map<std::string, int64_t Described::*> times = {
      {"forward", &Described::forward_ns},
      {"backward", &Described::backward_ns},
      {"weight_gradient", &Described::weight_ns},
      {"reduction", &Described::reduction_ns},
      {"tail", &Described::tail_ns}};
  const std::map<std::string, int64_t Described::*> sizes = {
      {"static", &Described::static_bytes},
      {"activation", &Described::activation_bytes},
      {"kept", &Described::kept_bytes},
      {"memory", &Described::memory_bytes}};
  const std::string what = absl::StrCat(where, ".", name);
  if (const auto time = times.find(name); time != times.end()) {
    return ReadTime(what, text, stage.*time->second);
  }
  if (const auto size = sizes.find(name); size != sizes.end()) {
    return ReadSize(what, text, stage.*size->second);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": no such field; there are forward, backward, weight_gradient, ",
                   "reduction, tail, static, activation, kept, memory"));
}

absl::Status ReadStagesFile(const ModelOptions& options, std::vector<Described>& stages) {
  const auto json = nlohmann::json::parse(options.stages_text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.size() != 1 || !json.contains("stages") ||
      !json["stages"].is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.stages_origin, ": no list of stages; write ", kStagesExample));
  }
  if (json["stages"].size() != stages.size()) {
    return absl::InvalidArgumentError(absl::StrCat(options.stages_origin, ": ",
                                                   json["stages"].size(),
                                                   " stages, but --pipeline has ", stages.size()));
  }
  for (size_t s = 0; s < stages.size(); ++s) {
    const std::string where = absl::StrCat(options.stages_origin, ": stages[", s, "]");
    const nlohmann::json& fields = json["stages"][s];
    if (!fields.is_object()) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": not an object; as ", kStagesExample));
    }
    for (const auto& [name, value] : fields.items()) {
      if (!value.is_string()) {
        return absl::InvalidArgumentError(
            absl::StrCat(where, ".", name, ": not a text; write \"10ms\" or \"2GiB\""));
      }
      RETURN_IF_ERROR(ReadField(where, name, value.get<std::string>(), stages[s]));
    }
  }
  return absl::OkStatus();
}

// Fills in what follows from the rest.
absl::Status Complete(size_t number, Described& stage) {
  if (stage.forward_ns < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("no time of a forward for stage ", number,
                     "; give --forward 10ms, or --stages-file FILE with a time for each stage"));
  }
  if (stage.backward_ns < 0) stage.backward_ns = 2 * stage.forward_ns;
  if (stage.weight_ns < 0) stage.weight_ns = stage.backward_ns / 2;
  if (stage.weight_ns > stage.backward_ns) {
    return absl::InvalidArgumentError(
        absl::StrCat("the weight gradient of stage ", number,
                     " takes longer than the backward, which it is a part of"));
  }
  return absl::OkStatus();
}

StageTimes TimesOf(const Described& stage, int chunks) {
  const ChunkTimes chunk = {.forward_ns = stage.forward_ns / chunks,
                            .backward_input_ns = (stage.backward_ns - stage.weight_ns) / chunks,
                            .backward_weight_ns = stage.weight_ns / chunks};
  StageTimes times;
  times.chunks.assign(static_cast<size_t>(chunks), chunk);
  times.reduction_ns = std::max<int64_t>(0, stage.reduction_ns);
  times.optimizer_ns = std::max<int64_t>(0, stage.tail_ns);
  return times;
}

absl::Status AddStraggler(const std::string& text, PipelineModel& model) {
  if (text.empty()) return absl::OkStatus();
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(':', 1));
  size_t stage = 0;
  double slowness = 0;
  const bool is_read = absl::SimpleAtoi(parts.first, &stage) &&
                       absl::SimpleAtod(parts.second, &slowness) && slowness > 0 &&
                       slowness <= 1000;
  if (!is_read || stage >= model.times.stages.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--straggler: not a stage and a factor: ", text, "; write for example 3:1.5"));
  }
  model.times.stages[stage].slowness = slowness;
  return absl::OkStatus();
}

absl::Status AddMemory(const std::vector<Described>& stages, PipelineModel& model) {
  bool is_said = false;
  bool is_known = true;
  std::vector<StageMemory> memory;
  for (const Described& stage : stages) {
    is_said |= stage.static_bytes >= 0 || stage.activation_bytes >= 0 || stage.kept_bytes >= 0;
    is_known &= stage.memory_bytes >= 0;
    const int64_t activation = std::max<int64_t>(0, stage.activation_bytes);
    memory.push_back(
        {.device_bytes = stage.memory_bytes,
         .static_bytes = std::max<int64_t>(0, stage.static_bytes),
         .per_chunk = {.activation = activation,
                       .kept_for_weight = stage.kept_bytes >= 0 ? stage.kept_bytes : activation}});
  }
  if (is_said && !is_known) {
    return absl::InvalidArgumentError(
        "--static, --activation and --kept say nothing without the size of the device; give "
        "--memory 80GiB too");
  }
  if (is_known) model.memory = std::move(memory);
  return absl::OkStatus();
}

absl::Status AddJitter(const ModelOptions& options, PipelineModel& model) {
  model.times.jitter.seed = options.seed;
  if (options.jitter.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const uint32_t ppm, ParsePpm("jitter", options.jitter));
  model.times.jitter.share = ppm / 1e6;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PipelineModel> ModelOf(const ModelOptions& options) {
  PipelineModel model;
  absl::StatusOr<simulator::PipelineShape> shape =
      simulator::ParsePipeline(options.pipeline, options.chunks);
  if (!shape.ok()) return WithContext(shape.status(), "--pipeline");
  model.shape = *shape;
  ASSIGN_OR_RETURN(const Described described, FromOptions(options));
  std::vector<Described> stages(static_cast<size_t>(model.shape.stages), described);
  if (!options.stages_origin.empty()) RETURN_IF_ERROR(ReadStagesFile(options, stages));
  for (size_t s = 0; s < stages.size(); ++s) {
    RETURN_IF_ERROR(Complete(s, stages[s]));
    model.times.stages.push_back(TimesOf(stages[s], model.shape.chunks));
    model.times.has_optimizer |= stages[s].tail_ns >= 0 || stages[s].reduction_ns >= 0;
  }
  if (options.waits_for_all && !model.times.has_optimizer) {
    return absl::InvalidArgumentError(
        "--global-norm is about the optimizer's step; give its time with --tail 5ms");
  }
  model.times.waits_for_all = options.waits_for_all;
  RETURN_IF_ERROR(ReadTime("--transfer", options.transfer, model.times.transfer_ns));
  RETURN_IF_ERROR(AddStraggler(options.straggler, model));
  RETURN_IF_ERROR(AddMemory(stages, model));
  RETURN_IF_ERROR(AddJitter(options, model));
  return model;
}

}  // namespace pipefill
