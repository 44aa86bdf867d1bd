#include "cli/plan/plan_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/job_file.h"
#include "cli/options.h"
#include "cli/paths.h"
#include "cli/plan/fill_forecast.h"
#include "cli/plan/idle_plan.h"
#include "cli/plan/kineto_plan.h"
#include "cli/plan/live_plan.h"
#include "cli/plan/model_options.h"
#include "cli/plan/model_plan.h"
#include "cli/plan/plan_json.h"
#include "cli/plan/plan_page.h"
#include "cli/plan/plan_text.h"
#include "cli/plan/trace_files.h"
#include "cli/share.h"
#include "common/config.h"
#include "common/files.h"
#include "common/plan_stages.h"
#include "common/quantity.h"
#include "common/status.h"
#include "proto/profile.pb.h"
#include "scheduler/convert/profile.h"

namespace pipefill {
namespace {

constexpr char kDefaultBudget[] = "1%";

struct PlanOptions {
  ModelOptions model;
  std::string stages_file;
  std::vector<std::string> traces;
  std::string gap_min;
  std::string job_file;
  std::string profile_file;
  int32_t samples = 0;
  std::string budget;  // empty = kDefaultBudget
  bool wants_all = false;
  std::string html;
  std::string svg;
  OutputFormat format = OutputFormat::kTable;
};

// The job of --job, with the profile of --profile; of that alone nothing else is known.
absl::StatusOr<v1::JobSpec> ReadJob(const PlanOptions& options, const CommandContext& context) {
  v1::JobSpec spec;
  if (!options.job_file.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(PathOf(options.job_file, context)));
    ASSIGN_OR_RETURN(spec, ParseJobFile(text, options.job_file, context.clock.WallNow()));
  }
  if (!options.profile_file.empty()) {
    spec.clear_profile();
    RETURN_IF_ERROR(WithContext(
        ReadJsonFile(PathOf(options.profile_file, context), spec.mutable_profile()), "--profile"));
  }
  if (options.samples > 0) spec.mutable_profile()->set_samples_total(options.samples);
  return spec;
}

// The job to forecast; nullopt if none was named.
absl::StatusOr<std::optional<FillQuestion>> ReadQuestion(const PlanOptions& options,
                                                         const CommandContext& context) {
  if (options.job_file.empty() && options.profile_file.empty()) {
    if (options.samples == 0) return std::nullopt;
    return absl::InvalidArgumentError(
        "--samples is about a fill job; name it with --job FILE or --profile FILE");
  }
  ASSIGN_OR_RETURN(const v1::JobSpec spec, ReadJob(options, context));
  FillQuestion question;
  question.job = spec.name();
  if (question.job.empty()) question.job = options.job_file;
  if (question.job.empty()) question.job = options.profile_file;
  if (spec.memory_bytes() > 0) question.memory_max_bytes = spec.memory_bytes();
  question.profile = scheduler::FromProto(spec.profile());
  return question;
}

absl::StatusOr<IdlePlan> PlanOfFiles(const PlanOptions& options, const CommandContext& context) {
  if (options.model != ModelOptions() || !options.stages_file.empty()) {
    return absl::InvalidArgumentError(
        "--trace: times, memory and stages are for a model; leave them out, or write --pipeline");
  }
  int64_t gap_min_ns = kGapMinNs;
  if (!options.gap_min.empty()) {
    const absl::StatusOr<absl::Duration> gap = ParsePositiveDuration(options.gap_min);
    if (!gap.ok()) return WithContext(gap.status(), "--gap-min");
    gap_min_ns = absl::ToInt64Nanoseconds(*gap);
    if (gap_min_ns <= 0 || *gap > absl::Hours(1)) {
      return absl::InvalidArgumentError("--gap-min: goes from 1ns to 1h");
    }
  }
  std::vector<std::string> paths;
  for (const std::string& trace : options.traces) paths.push_back(PathOf(trace, context));
  return PlanOfTraceFiles(paths, gap_min_ns);
}

absl::StatusOr<IdlePlan> MakePlan(PlanOptions& options, const CommandContext& context) {
  if (options.model.pipeline.empty() == options.traces.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.traces.empty() ? "nothing to plan" : "a model or a trace, not both",
                     "; write either --pipeline 16x8@1f1b --forward 10ms or --trace FILE, or --job "
                     "FILE alone to ask schedulerd"));
  }
  if (!options.traces.empty()) return PlanOfFiles(options, context);
  if (!options.gap_min.empty()) {
    return absl::InvalidArgumentError("--gap-min is about a trace; give one with --trace FILE");
  }
  if (!options.stages_file.empty()) {
    options.model.stages_origin = options.stages_file;
    ASSIGN_OR_RETURN(options.model.stages_text, ReadFile(PathOf(options.stages_file, context)));
  }
  ASSIGN_OR_RETURN(const simulator::PipelineModel model, ModelOf(options.model));
  return PlanOfModel(model);
}

bool IsMemoryKnown(const IdlePlan& plan) {
  return std::all_of(plan.devices.begin(), plan.devices.end(), [](const PlanDevice& device) {
    return std::all_of(device.bubbles.begin(), device.bubbles.end(), [](const PlanBubble& bubble) {
      return bubble.memory_free_bytes.has_value();
    });
  });
}

absl::Status WriteFiles(const PlanOptions& options, const CommandContext& context,
                        const IdlePlan& plan, const std::string& fill_text) {
  if (!options.html.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(PathOf(options.html, context), PlanPage(plan, fill_text)));
  }
  if (options.svg.empty()) return absl::OkStatus();
  return WriteFileAtomically(PathOf(options.svg, context), PlanSvg(plan));
}

void PrintNote(const std::string& note, CommandContext& context) {
  context.err << "pipefill: note: " << note << "\n";
}

void PrintText(const PlanOptions& options, CommandContext& context, const IdlePlan& plan,
               const std::string& fill_text) {
  context.out << PlanHeadline(plan) << "\n"
              << TimelineText(plan, context.width) << "\n"
              << BubbleTable(plan, {.wants_all = options.wants_all, .width = context.width})
              << fill_text;
  for (const std::string& note : plan.notes) PrintNote(note, context);
}

// With a job and nothing to plan it on, the cluster that is there is asked.
bool IsLive(const PlanOptions& options) {
  return options.model.pipeline.empty() && options.traces.empty() && !options.job_file.empty();
}

absl::StatusOr<ExitCode> RunLivePlan(const PlanOptions& options, CommandContext& context) {
  const bool is_of_a_plan = options.model != ModelOptions() || !options.stages_file.empty() ||
                            !options.gap_min.empty() || !options.budget.empty() ||
                            !options.html.empty() || !options.svg.empty();
  if (is_of_a_plan) {
    return absl::InvalidArgumentError(
        "--job alone asks schedulerd; times, memory, stages, --gap-min, --budget, --html and --svg "
        "are for a model or a trace: leave them out, or write --pipeline or --trace");
  }
  v1::PlanJobRequest request;
  ASSIGN_OR_RETURN(*request.mutable_spec(), ReadJob(options, context));
  if (options.wants_all) request.set_candidates_max(kPlanStagesMax);
  ASSIGN_OR_RETURN(const std::unique_ptr<SchedulerClient> client,
                   context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::PlanJobResponse plan, client->PlanJob(request));
  if (options.format == OutputFormat::kJson) {
    context.out << LivePlanJson(plan);
    return kExitOk;
  }
  context.out << LivePlanText(plan, context.clock.WallNow(),
                              {.wants_all = options.wants_all, .width = context.width});
  for (const std::string& note : plan.notes()) PrintNote(note, context);
  return kExitOk;
}

absl::StatusOr<ExitCode> RunPlan(PlanOptions& options, CommandContext& context) {
  if (IsLive(options)) return RunLivePlan(options, context);
  const std::string budget = options.budget.empty() ? kDefaultBudget : options.budget;
  ASSIGN_OR_RETURN(const uint32_t budget_ppm, ParsePpm("budget", budget));
  ASSIGN_OR_RETURN(const std::optional<FillQuestion> question, ReadQuestion(options, context));
  ASSIGN_OR_RETURN(IdlePlan plan, MakePlan(options, context));
  std::optional<FillForecast> forecast;
  std::string fill_text;
  if (question.has_value()) {
    ASSIGN_OR_RETURN(forecast, ForecastFill(*question, plan));
    if (!IsMemoryKnown(plan)) {
      plan.notes.push_back("free memory is not known; the forecast takes it to be enough");
    }
    fill_text = FillText(*question, *forecast, plan, budget_ppm);
  }
  RETURN_IF_ERROR(WriteFiles(options, context, plan, fill_text));
  if (options.format == OutputFormat::kJson) {
    const FillAnswer fill = {question.has_value() ? &*question : nullptr,
                             forecast.has_value() ? &*forecast : nullptr, budget_ppm};
    context.out << PlanJson(plan, question.has_value() ? &fill : nullptr);
    return kExitOk;
  }
  PrintText(options, context, plan, fill_text);
  return kExitOk;
}

void AddText(CLI::App& command, const char* name, const char* meaning, const char* type,
             std::string& value) {
  command.add_option(name, value, meaning)->type_name(type);
}

void AddModelOptions(CLI::App& command, ModelOptions& model) {
  AddText(command, "--pipeline", "Stages x microbatches @ schedule, as 16x8@1f1b", "PxM@NAME",
          model.pipeline);
  AddNumberOption(command, {"--chunks", "Of each stage, for interleaved; default: 2"},
                  &model.chunks);
  AddText(command, "--forward", "Of one microbatch on one stage", "TIME", model.forward);
  AddText(command, "--backward", "Both gradients; default: twice the forward", "TIME",
          model.backward);
  AddText(command, "--weight-gradient", "Part of the backward; default: half", "TIME",
          model.weight_gradient);
  AddText(command, "--transfer", "From a stage to the next one", "TIME", model.transfer);
  AddText(command, "--reduction", "Of gradients over replicas, before the tail", "TIME",
          model.reduction);
  AddText(command, "--tail", "The optimizer's step", "TIME", model.tail);
  command.add_flag("--global-norm", model.waits_for_all, "The step waits for all stages");
  AddText(command, "--jitter", "Spread of the times, as 5%", "SHARE", model.jitter);
  command.add_option("--seed", model.seed, "Of the jitter; default: 1")->type_name("N");
  AddText(command, "--straggler", "Stage 3 takes 1.5 times as long: 3:1.5", "STAGE:FACTOR",
          model.straggler);
  AddText(command, "--memory", "Of a device, as 80GiB", "SIZE", model.memory);
  AddText(command, "--static", "Weights, gradients, optimizer state of a stage", "SIZE",
          model.static_bytes);
  AddText(command, "--activation", "Of one microbatch in one chunk", "SIZE", model.activation);
  AddText(command, "--kept", "Of it, until the weight gradient; default: all", "SIZE", model.kept);
}

}  // namespace

void AddPlanCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* command =
      parent.add_subcommand("plan", "What a training run leaves idle, and what a job gains");
  AddModelOptions(*command, options->model);
  AddText(*command, "--stages-file", "Times of each stage by itself (JSON)", "FILE",
          options->stages_file);
  command->add_option("--trace", options->traces, "Of a real run instead; one file per rank")
      ->allow_extra_args(false)
      ->type_name("FILE");
  AddText(*command, "--gap-min", "Shorter pauses are work; default: 500us", "TIME",
          options->gap_min);
  AddText(*command, "--job", "Forecast this job file's job; alone: in the cluster", "FILE",
          options->job_file);
  AddText(*command, "--profile", "The same, of what 'pipefill profile' wrote", "FILE",
          options->profile_file);
  AddNumberOption(*command, {"--samples", "Samples the job has to do"}, &options->samples);
  AddText(*command, "--budget", "What filling may cost; default: 1%", "SHARE", options->budget);
  command->add_flag("--all", options->wants_all, "Every bubble, or stage, as a row");
  AddText(*command, "--html", "Write the plan as a page with a timeline", "FILE", options->html);
  AddText(*command, "--svg", "Write the timeline as a picture", "FILE", options->svg);
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  command->footer(
      "Schedules: gpipe, 1f1b, interleaved, zb-h1, zb-v. Nothing is started:\n"
      "  pipefill plan --pipeline 16x8@1f1b --forward 10ms --profile embed.profile.json\n"
      "A trace is what the PyTorch profiler exported (.json or .json.gz), or what agentd\n"
      "recorded, a file or its folder. With neither of both schedulerd is asked where and\n"
      "when the job would run now; nothing is submitted:\n"
      "  pipefill plan --job embed.json");
  commands.Add(
      {command, [options](CommandContext& context) { return RunPlan(*options, context); }});
}

}  // namespace pipefill
