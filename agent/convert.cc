#include "agent/convert.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "agent/learn/fill_limits.h"
#include "common/variable_name.h"

namespace pipefill {
namespace {

static_assert(static_cast<int>(EndCause::kExited) == v1::END_CAUSE_EXITED);
static_assert(static_cast<int>(EndCause::kSignalled) == v1::END_CAUSE_SIGNALLED);
static_assert(static_cast<int>(EndCause::kOutOfMemory) == v1::END_CAUSE_OUT_OF_MEMORY);
static_assert(static_cast<int>(EndCause::kLaunchFailed) == v1::END_CAUSE_LAUNCH_FAILED);
static_assert(static_cast<int>(EndCause::kCancelled) == v1::END_CAUSE_CANCELLED);
static_assert(static_cast<int>(EndCause::kLost) == v1::END_CAUSE_LOST);
static_assert(static_cast<int>(EndCause::kRefused) == v1::END_CAUSE_REFUSED);
static_assert(static_cast<int>(EndCause::kMaxRuntime) == v1::END_CAUSE_MAX_RUNTIME);
static_assert(static_cast<int>(FillWay::kSdk) == v1::FILL_WAY_SDK);
static_assert(static_cast<int>(FillWay::kProcess) == v1::FILL_WAY_PROCESS);
static_assert(static_cast<int>(FillMode::kOff) == v1::FILL_MODE_OFF);
static_assert(static_cast<int>(FillMode::kReport) == v1::FILL_MODE_REPORT);
static_assert(static_cast<int>(FillMode::kFill) == v1::FILL_MODE_FILL);

bool HasNul(const std::string& text) { return absl::StrContains(text, '\0'); }

absl::Status CheckLaunch(const v1::LaunchAttempt& launch) {
  const v1::JobSpec& spec = launch.spec();
  if (spec.command().empty() || spec.command(0).empty()) {
    return absl::InvalidArgumentError("the job has no command");
  }
  if (spec.memory_bytes() <= 0) {
    return absl::InvalidArgumentError("the job came without a memory cap");
  }
  if (spec.max_runtime_ns() < 0) return absl::InvalidArgumentError("max_runtime is negative");
  if (!spec.workdir().empty() && !absl::StartsWith(spec.workdir(), "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("workdir ", spec.workdir(), " is not an absolute path"));
  }
  bool has_nul = HasNul(spec.workdir()) || HasNul(launch.config());
  for (const std::string& word : spec.command()) has_nul = has_nul || HasNul(word);
  for (const auto& [name, value] : spec.env()) {
    if (!IsVariableName(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("env: \"", name, "\" is no name of a variable"));
    }
    has_nul = has_nul || HasNul(value);
  }
  if (has_nul) return absl::InvalidArgumentError("command, env or workdir has a NUL byte");
  return absl::OkStatus();
}

}  // namespace

AttemptKey FromProto(const v1::AttemptKey& key) {
  return {.job = JobId(key.job_id()),
          .attempt = AttemptNumber(key.attempt()),
          .fence = Fence(key.fence())};
}

v1::AttemptKey ToProto(const AttemptKey& key) {
  v1::AttemptKey proto;
  proto.set_job_id(key.job.value());
  proto.set_attempt(key.attempt.value());
  proto.set_fence(key.fence.value());
  return proto;
}

absl::StatusOr<AttemptSpec> FromProto(const v1::LaunchAttempt& launch) {
  const v1::JobSpec& spec = launch.spec();
  if (const absl::Status status = CheckLaunch(launch); !status.ok()) return status;
  return AttemptSpec{.key = FromProto(launch.key()),
                     .job_name = spec.name(),
                     .device = launch.device(),
                     .command = {spec.command().begin(), spec.command().end()},
                     .env = {spec.env().begin(), spec.env().end()},
                     .config = launch.config(),
                     .workdir = spec.workdir(),
                     .memory_bytes = spec.memory_bytes(),
                     .policy_rank = launch.policy_rank(),
                     .way = spec.way() == v1::FILL_WAY_PROCESS ? FillWay::kProcess : FillWay::kSdk,
                     .job_submitted_unix_ns = launch.job_submitted_unix_ns(),
                     .max_runtime = spec.max_runtime_ns() == 0
                                        ? absl::InfiniteDuration()
                                        : absl::Nanoseconds(spec.max_runtime_ns())};
}

EndCause StopCauseFromProto(v1::EndCause cause) {
  return cause == v1::END_CAUSE_CANCELLED ? EndCause::kCancelled : EndCause::kLost;
}

v1::AttemptEnded ToProto(const AttemptKey& key, const AttemptEnd& end,
                         const v1::FillProgress& progress) {
  v1::AttemptEnded proto;
  *proto.mutable_key() = ToProto(key);
  proto.set_cause(static_cast<v1::EndCause>(end.cause));
  proto.set_exit_code(end.exit_code);
  proto.set_signal(end.signal);
  proto.set_text(end.text);
  *proto.mutable_progress() = progress;
  return proto;
}

MainJobSettings FromProto(const v1::MainJobSettings& settings) {
  MainJobSettings result = {.main_job = settings.main_job(),
                            .mode = std::nullopt,
                            .budget_ppm = settings.budget_ppm(),
                            .is_paused = settings.paused(),
                            .static_share_ppm = settings.static_share_ppm()};
  const bool is_mode =
      settings.mode() >= v1::FILL_MODE_OFF && settings.mode() <= v1::FILL_MODE_FILL;
  if (is_mode) result.mode = static_cast<FillMode>(settings.mode());
  if (result.budget_ppm > kPpm) result.budget_ppm = 0;
  if (result.static_share_ppm > kPpm) result.static_share_ppm = 0;
  return result;
}

void AddProgressBefore(const v1::FillProgress& before, v1::FillProgress* progress) {
  progress->set_units(before.units() + progress->units());
  progress->set_pieces(before.pieces() + progress->pieces());
  progress->set_unit_cpu_ns(before.unit_cpu_ns() + progress->unit_cpu_ns());
  progress->set_unit_cpu_in_bubble_ns(before.unit_cpu_in_bubble_ns() +
                                      progress->unit_cpu_in_bubble_ns());
  progress->set_overrun_ns(before.overrun_ns() + progress->overrun_ns());
  progress->set_bubbles_denied(before.bubbles_denied() + progress->bubbles_denied());
  progress->set_units_overrun(before.units_overrun() + progress->units_overrun());
  progress->set_bubbles_skipped(before.bubbles_skipped() + progress->bubbles_skipped());
  progress->set_overstays(before.overstays() + progress->overstays());
  progress->set_freezes(before.freezes() + progress->freezes());
  progress->set_memory_peak_bytes(
      std::max(before.memory_peak_bytes(), progress->memory_peak_bytes()));
  progress->set_task_cpu_ns(std::max(before.task_cpu_ns(), progress->task_cpu_ns()));
  if (progress->memory_guard().empty()) progress->set_memory_guard(before.memory_guard());
  if (progress->stopped_by().empty()) progress->set_stopped_by(before.stopped_by());
  if (progress->log_error().empty()) progress->set_log_error(before.log_error());
  progress->set_processes_denied(std::max(before.processes_denied(), progress->processes_denied()));
  // Those of the attempt: its task has told them to each agentd.
  progress->set_checkpoints(std::max(before.checkpoints(), progress->checkpoints()));
  progress->set_checkpoint_failures(
      std::max(before.checkpoint_failures(), progress->checkpoint_failures()));
  if (progress->checkpoint_unix_ns() == 0) {
    progress->set_checkpoint_unix_ns(before.checkpoint_unix_ns());
  }
  if (progress->checkpoint_ns() == 0) progress->set_checkpoint_ns(before.checkpoint_ns());
  if (progress->resumed_from().empty()) progress->set_resumed_from(before.resumed_from());
  if (progress->unit_estimate_ns() == 0) progress->set_unit_estimate_ns(before.unit_estimate_ns());
}

v1::MainRank ToProto(const RankRequest& request, pid_t pid, const RankTotals& totals) {
  v1::MainRank rank;
  rank.set_main_job(request.main_job);
  rank.set_rank(request.rank);
  rank.set_ranks(request.ranks);
  rank.set_stage(request.stage);
  rank.set_stages(request.stages);
  rank.set_pid(pid);
  rank.set_mode(static_cast<v1::FillMode>(request.mode));
  rank.set_iterations(totals.iterations);
  rank.set_iteration_p50_ns(totals.iteration_p50_ns);
  rank.set_bubble_ns(totals.bubble_ns);
  rank.set_iteration_ns(totals.iteration_ns);
  rank.set_events_dropped(totals.edges_dropped);
  return rank;
}

}  // namespace pipefill
