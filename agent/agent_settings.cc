#include "agent/agent_settings.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/pages/handshake.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr absl::Duration kDrainPeriodMin = absl::Milliseconds(1);
// A quarter of the time after which gates take agentd for dead.
constexpr absl::Duration kDrainPeriodMax = absl::Milliseconds(250);
constexpr int kSamplesMax = 4096;
// Of threads of a numeric library, and of what a script starts.
constexpr int32_t kProcessesMaxMin = 16;
// Iterations with frequent hold-outs, and how many times rarer they are afterwards.
constexpr uint64_t kEarlyIterations = 1024;
constexpr uint32_t kLateFactor = 4;

std::string TextOr(const std::string& text, absl::string_view fallback) {
  return text.empty() ? std::string(fallback) : text;
}

bool IsLogLevel(const std::string& text) {
  return text == "error" || text == "warn" || text == "info" || text == "debug";
}

absl::StatusOr<int64_t> BytesOf(absl::string_view field, const std::string& text,
                                absl::string_view fallback) {
  absl::StatusOr<int64_t> bytes = ParseBytes(TextOr(text, fallback));
  if (!bytes.ok()) return WithContext(bytes.status(), field);
  return *bytes;
}

absl::StatusOr<absl::Duration> DurationOf(absl::string_view field, const std::string& text,
                                          absl::string_view fallback) {
  absl::StatusOr<absl::Duration> duration = ParsePositiveDuration(TextOr(text, fallback));
  if (!duration.ok()) return WithContext(duration.status(), field);
  return *duration;
}

absl::StatusOr<PredictorOptions> ReadPredictor(const v1::PredictorConfig& config) {
  PredictorOptions options;
  if (config.overrun_ratio() != 0) options.overrun_ratio = config.overrun_ratio();
  if (!(options.overrun_ratio > 0 && options.overrun_ratio < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "predictor.overrun_ratio: ", options.overrun_ratio, " is not between 0 and 1"));
  }
  if (config.samples_max() < 0 || config.samples_max() > kSamplesMax) {
    return absl::InvalidArgumentError(absl::StrCat("predictor.samples_max: ", config.samples_max(),
                                                   " is not in 1 to ", kSamplesMax));
  }
  if (config.samples_max() != 0) options.samples_max = static_cast<size_t>(config.samples_max());
  if (config.samples_min() < 0 || static_cast<size_t>(config.samples_min()) > options.samples_max) {
    return absl::InvalidArgumentError(absl::StrCat("predictor.samples_min: ", config.samples_min(),
                                                   " is not in 1 to samples_max, which is ",
                                                   options.samples_max));
  }
  options.samples_min = config.samples_min() == 0
                            ? std::min(options.samples_min, options.samples_max)
                            : static_cast<size_t>(config.samples_min());
  ASSIGN_OR_RETURN(options.bubble_min,
                   DurationOf("predictor.bubble_min", config.bubble_min(), "100us"));
  return options;
}

absl::Status CheckRatios(const ControllerOptions& options, double start) {
  if (!(0 < options.overrun_ratio_min && options.overrun_ratio_min <= options.overrun_ratio_max &&
        options.overrun_ratio_max < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "controller.overrun_ratio_min=", options.overrun_ratio_min,
        " overrun_ratio_max=", options.overrun_ratio_max, "; they must grow, between 0 and 1"));
  }
  if (start < options.overrun_ratio_min || start > options.overrun_ratio_max) {
    return absl::InvalidArgumentError(absl::StrCat(
        "predictor.overrun_ratio: ", start, " is not in controller.overrun_ratio_min to _max, ",
        options.overrun_ratio_min, " to ", options.overrun_ratio_max));
  }
  return absl::OkStatus();
}

// `start` is the overrun ratio that the controller starts with.
absl::StatusOr<ControllerOptions> ReadController(const v1::ControllerConfig& config, double start) {
  ControllerOptions options;
  if (config.budget_ppm() > kPpm) {
    return absl::InvalidArgumentError(absl::StrCat("controller.budget_ppm: ", config.budget_ppm(),
                                                   " is more than the whole, ", kPpm));
  }
  if (config.budget_ppm() != 0) options.budget_ppm = config.budget_ppm();
  if (config.overrun_ratio_min() != 0) options.overrun_ratio_min = config.overrun_ratio_min();
  if (config.overrun_ratio_max() != 0) options.overrun_ratio_max = config.overrun_ratio_max();
  RETURN_IF_ERROR(CheckRatios(options, start));
  ASSIGN_OR_RETURN(options.back_off_min,
                   DurationOf("controller.back_off_min", config.back_off_min(), "30s"));
  ASSIGN_OR_RETURN(options.back_off_max,
                   DurationOf("controller.back_off_max", config.back_off_max(), "30m"));
  if (options.back_off_min <= absl::ZeroDuration() || options.back_off_max < options.back_off_min) {
    return absl::InvalidArgumentError(
        absl::StrCat("controller.back_off_min=", pipefill::FormatDuration(options.back_off_min),
                     " back_off_max=", pipefill::FormatDuration(options.back_off_max),
                     "; they must grow, from more than 0"));
  }
  return options;
}

absl::StatusOr<FailureOptions> ReadFailure(const v1::FailureConfig& config) {
  FailureOptions options;
  ASSIGN_OR_RETURN(options.after, DurationOf("failure.after", config.after(), "5s"));
  ASSIGN_OR_RETURN(options.unit_max, DurationOf("failure.unit_max", config.unit_max(), "20ms"));
  if (options.unit_max <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "failure.unit_max: no unit could ever start; failure.after \"0s\" turns failure bubbles "
        "off");
  }
  return options;
}

absl::StatusOr<HoldOut> ReadHoldOut(const v1::HoldOutConfig& config) {
  HoldOut hold_out;
  if (config.block_iterations() != 0) hold_out.block_iterations = config.block_iterations();
  if (config.has_one_in()) hold_out.one_in = config.one_in();
  hold_out.early_iterations =
      config.has_early_iterations() ? config.early_iterations() : kEarlyIterations;
  hold_out.one_in_late =
      config.has_one_in_late() ? config.one_in_late() : kLateFactor * hold_out.one_in;
  const bool is_multiple = hold_out.one_in != 0 && hold_out.one_in_late % hold_out.one_in == 0;
  if (hold_out.one_in_late != 0 && !is_multiple) {
    return absl::InvalidArgumentError(
        absl::StrCat("hold_out.one_in_late=", hold_out.one_in_late,
                     "; it must be a multiple of one_in=", hold_out.one_in, ", or 0"));
  }
  return hold_out;
}

absl::Status ReadCheckpoints(const v1::AgentConfig& config, AgentSettings* settings) {
  settings->checkpoint_dir =
      TextOr(config.checkpoint_dir(), absl::StrCat(settings->state_dir, "/checkpoints"));
  ASSIGN_OR_RETURN(settings->checkpoint_every_min,
                   DurationOf("checkpoint_every_min", config.checkpoint_every_min(), "10s"));
  ASSIGN_OR_RETURN(settings->checkpoint_every_max,
                   DurationOf("checkpoint_every_max", config.checkpoint_every_max(), "10m"));
  if (settings->checkpoint_every_max >= settings->checkpoint_every_min) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "checkpoint_every_min=", pipefill::FormatDuration(settings->checkpoint_every_min),
      " checkpoint_every_max=", pipefill::FormatDuration(settings->checkpoint_every_max),
      "; they must grow"));
}

absl::Status ReadLadder(const v1::AgentConfig& config, TaskLimits* limits) {
  if (config.processes_max() != 0) limits->processes_max = config.processes_max();
  if (limits->processes_max < kProcessesMaxMin) {
    return absl::InvalidArgumentError(absl::StrCat("processes_max: ", limits->processes_max,
                                                   " is less than ", kProcessesMaxMin,
                                                   ", which a task needs at least"));
  }
  const v1::LadderConfig& ladder = config.ladder();
  const auto read = [](absl::string_view field, const std::string& text,
                       absl::Duration* duration) -> absl::Status {
    if (text.empty()) return absl::OkStatus();
    ASSIGN_OR_RETURN(*duration, DurationOf(field, text, ""));
    if (*duration > absl::ZeroDuration()) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(field, ": it must be more than 0"));
  };
  RETURN_IF_ERROR(read("ladder.start_cpu_max", ladder.start_cpu_max(), &limits->start_cpu_max));
  RETURN_IF_ERROR(read("ladder.freeze_after", ladder.freeze_after(), &limits->freeze_after));
  RETURN_IF_ERROR(read("ladder.freeze_between_after", ladder.freeze_between_after(),
                       &limits->freeze_between_after));
  RETURN_IF_ERROR(read("ladder.stuck_after", ladder.stuck_after(), &limits->stuck_after));
  RETURN_IF_ERROR(read("ladder.stopped_after", ladder.stopped_after(), &limits->stopped_after));
  return read("ladder.kill_after", ladder.kill_after(), &limits->kill_after);
}

}  // namespace

absl::StatusOr<AgentSettings> ReadSettings(const v1::AgentConfig& config,
                                           const std::string& host_name) {
  AgentSettings settings;
  settings.node = TextOr(config.node(), host_name);
  settings.scheduler = TextOr(config.scheduler(), "127.0.0.1:7700");
  settings.socket = TextOr(config.socket(), kDefaultSocket);
  settings.socket_group = config.socket_group();
  settings.keep_tasks_at_stop = config.keep_tasks_at_stop();
  settings.state_dir = TextOr(config.state_dir(), "/var/lib/pipefill/agentd");
  settings.python_path = config.python_path();
  RETURN_IF_ERROR(ReadCheckpoints(config, &settings));
  settings.log_level = TextOr(config.log_level(), "info");
  if (!IsLogLevel(settings.log_level)) {
    return absl::InvalidArgumentError(absl::StrCat("log_level: ", settings.log_level,
                                                   " is unknown; use error, warn, info or debug"));
  }
  ASSIGN_OR_RETURN(settings.predictor, ReadPredictor(config.predictor()));
  ASSIGN_OR_RETURN(settings.controller,
                   ReadController(config.controller(), settings.predictor.overrun_ratio));
  ASSIGN_OR_RETURN(settings.failure, ReadFailure(config.failure()));
  ASSIGN_OR_RETURN(settings.window.hold_out, ReadHoldOut(config.hold_out()));
  ASSIGN_OR_RETURN(settings.window.spin, DurationOf("gate.spin", config.gate().spin(), "0us"));
  settings.window.unit_ns = settings.predictor.unit_ns;
  ASSIGN_OR_RETURN(settings.trace_max_bytes, BytesOf("trace_max", config.trace_max(), "256MiB"));
  ASSIGN_OR_RETURN(settings.log_max_bytes, BytesOf("log_max", config.log_max(), "64MiB"));
  settings.process_gate = config.process_gate();
  RETURN_IF_ERROR(ReadLadder(config, &settings.task_limits));
  ASSIGN_OR_RETURN(settings.drain_period,
                   DurationOf("drain_period", config.drain_period(), "10ms"));
  if (settings.drain_period < kDrainPeriodMin || settings.drain_period > kDrainPeriodMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("drain_period: ", pipefill::FormatDuration(settings.drain_period),
                     " is not in 1 ms to 250 ms"));
  }
  return settings;
}

}  // namespace pipefill
