#include "scheduler/log_event.h"

#include "absl/strings/string_view.h"
#include "common/log.h"
#include "common/quantity.h"
#include "scheduler/core/explain.h"

namespace pipefill::scheduler {
namespace {

absl::string_view ModeName(FillMode mode) {
  switch (mode) {
    case FillMode::kUnknown:
      return "as-attached";
    case FillMode::kOff:
      return "off";
    case FillMode::kReport:
      return "report";
    case FillMode::kFill:
      return "fill";
  }
  return "";
}

void Log(const JobSubmitted& e) {
  spdlog::info("job_submitted job={} name={} memory={}", e.job, e.spec.name,
               FormatBytes(e.spec.memory_bytes));
}

void Log(const CancelRequested& e) {
  spdlog::info("job_cancel_requested job={} why=\"{}\"", e.job, e.reason);
}

void Log(const JobHeld& e) { spdlog::info("job_held job={} why=\"{}\"", e.job, e.reason); }

void Log(const JobReleased& e) { spdlog::info("job_released job={} why=\"{}\"", e.job, e.reason); }

void Log(const RequeueRequested& e) {
  spdlog::info("job_requeue_requested job={} why=\"{}\"", e.job, e.reason);
}

void Log(const StartExpired& e) { spdlog::info("job_start_expired job={}", e.job); }

void Log(const MoveRequested& e) {
  spdlog::info("job_move_requested job={} node={} device={}", e.job, e.to.node, e.to.name);
}

void Log(const EvictionRequested& e) {
  spdlog::info("eviction_requested job={} attempt={} for={}", e.victim.job, e.victim.attempt,
               e.beneficiary);
}

void Log(const AttemptPlaced& e) {
  spdlog::info("job_placed job={} attempt={} fence={} node={} device={}", e.attempt.job,
               e.attempt.attempt, e.attempt.fence, e.device.node, e.device.name);
}

void Log(const AttemptStarted& e) {
  spdlog::info("attempt_started job={} attempt={}", e.attempt.job, e.attempt.attempt);
}

void Log(const AttemptEnded& e) {
  spdlog::info("attempt_ended job={} attempt={} how=\"{}\" units={}", e.attempt.job,
               e.attempt.attempt, ExplainEnd(e.end), e.progress.units);
  if (e.larger_memory_bytes > 0) {
    spdlog::info("job_asks_for_more job={} memory={}", e.attempt.job,
                 FormatBytes(e.larger_memory_bytes));
  }
}

void Log(const MainJobUpdated& e) {
  spdlog::info("main_job_updated main_job={} mode={} budget_ppm={} paused={} static_share_ppm={}",
               e.settings.main_job, ModeName(e.settings.mode), e.settings.budget_ppm,
               e.settings.is_paused, e.settings.static_share_ppm);
}

void Log(const HistoryDropped& e) {
  spdlog::info("history_dropped jobs={} first={} last={}", e.jobs.size(), e.jobs.front(),
               e.jobs.back());
}

void Log(const ArrayAdmitted& e) {
  spdlog::info("array_admitted job={} first={} end={}", e.array, e.first, e.end);
}

void Log(const AgentRegistered& e) {
  spdlog::info("agent_registered node={} version={} devices={} live_attempts={}", e.node, e.version,
               e.devices.size(), e.live_attempts.size());
}

void Log(const AgentReported& e) {
  spdlog::debug("agent_reported session={} devices={}", e.session, e.devices.size());
}

void Log(const AgentDisconnected& e) { spdlog::info("agent_disconnected session={}", e.session); }

void Log(const AgentLost& e) {
  spdlog::warn("agent_lost node={}; its attempts go to other devices", e.node);
}

}  // namespace

void LogEvent(const Event& event) {
  std::visit([](const auto& happened) { Log(happened); }, event);
}

}  // namespace pipefill::scheduler
