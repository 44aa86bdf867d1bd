#include "cli/json.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "cli/array_text.h"
#include "cli/control_text.h"
#include "cli/words.h"

namespace pipefill {
namespace {

// Leaves out what nobody has set.
void SetUnlessZero(Json& json, const char* name, int64_t value) {
  if (value != 0) json[name] = value;
}

void SetUnlessEmpty(Json& json, const char* name, const std::string& value) {
  if (!value.empty()) json[name] = value;
}

Json ProgressJson(const v1::FillProgress& progress) {
  Json json;
  json["units"] = progress.units();
  SetUnlessZero(json, "pieces", progress.pieces());
  json["unit_cpu_ns"] = progress.unit_cpu_ns();
  json["unit_cpu_in_bubble_ns"] = progress.unit_cpu_in_bubble_ns();
  json["overrun_ns"] = progress.overrun_ns();
  json["bubbles_denied"] = progress.bubbles_denied();
  json["unit_estimate_ns"] = progress.unit_estimate_ns();
  json["memory_peak_bytes"] = progress.memory_peak_bytes();
  json["task_cpu_ns"] = progress.task_cpu_ns();
  json["units_overrun"] = progress.units_overrun();
  json["bubbles_skipped"] = progress.bubbles_skipped();
  json["overstays"] = progress.overstays();
  json["freezes"] = progress.freezes();
  SetUnlessEmpty(json, "memory_guard", progress.memory_guard());
  SetUnlessEmpty(json, "stopped_by", progress.stopped_by());
  SetUnlessEmpty(json, "log_error", progress.log_error());
  SetUnlessZero(json, "processes_denied", progress.processes_denied());
  json["checkpoints"] = progress.checkpoints();
  json["checkpoint_failures"] = progress.checkpoint_failures();
  json["checkpoint_ns"] = progress.checkpoint_ns();
  json["checkpoint_unix_ns"] = progress.checkpoint_unix_ns();
  SetUnlessEmpty(json, "resumed_from", progress.resumed_from());
  return json;
}

Json AttemptJson(const v1::Attempt& attempt) {
  Json json;
  json["number"] = attempt.number();
  json["fence"] = attempt.fence();
  json["node"] = attempt.node();
  json["device"] = attempt.device();
  json["state"] = Word(attempt.state());
  if (attempt.state() == v1::ATTEMPT_STATE_ENDED) {
    json["end_cause"] = Word(attempt.end_cause());
    if (attempt.end_cause() == v1::END_CAUSE_EXITED) json["exit_code"] = attempt.exit_code();
    if (attempt.end_cause() == v1::END_CAUSE_SIGNALLED) json["signal"] = attempt.signal();
    SetUnlessEmpty(json, "end_text", attempt.end_text());
  }
  SetUnlessZero(json, "placed_unix_ns", attempt.placed_unix_ns());
  SetUnlessZero(json, "started_unix_ns", attempt.started_unix_ns());
  SetUnlessZero(json, "ended_unix_ns", attempt.ended_unix_ns());
  SetUnlessEmpty(json, "configuration", attempt.configuration());
  if (attempt.has_progress()) json["progress"] = ProgressJson(attempt.progress());
  return json;
}

Json StepJson(const v1::JobStep& step) {
  Json json;
  json["unix_ns"] = step.unix_ns();
  json["what"] = Word(step.kind());
  json["who"] = Word(step.actor());
  SetUnlessEmpty(json, "node", step.node());
  SetUnlessZero(json, "attempt", step.attempt());
  SetUnlessEmpty(json, "text", step.text());
  return json;
}

// Its array and what it depends on.
void AddTies(const v1::Job& job, Json* json) {
  if (job.has_array()) {
    const v1::ArrayStatus& status = job.array();
    (*json)["array"] = {{"indexes", FormatArray(job.spec().array())},
                        {"tasks", status.tasks()},
                        {"succeeded", status.succeeded()},
                        {"failed", status.failed()},
                        {"cancelled", status.cancelled()},
                        {"running", status.running()},
                        {"waiting", status.waiting()},
                        {"later", status.later()}};
  }
  if (job.array_id() != 0) {
    (*json)["array_id"] = job.array_id();
    (*json)["array_index"] = job.array_index();
  }
  for (const v1::Dependency& dependency : job.spec().dependencies()) {
    (*json)["dependencies"].push_back(
        {{"job_id", dependency.job_id()}, {"condition", Word(dependency.condition())}});
  }
}

Json ControlJson(const v1::FillControl& control) {
  Json json;
  json["state"] = Word(control.state());
  SetUnlessEmpty(json, "text", control.text());
  json["overrun_ratio"] = control.overrun_ratio();
  if (HasEstimate(control)) {
    json["slowdown"] = control.slowdown();
    if (HasInterval(control)) {
      json["slowdown_low"] = control.slowdown_low();
      json["slowdown_high"] = control.slowdown_high();
    }
  }
  json["hold_outs"] = control.hold_outs();
  json["filled"] = control.filled();
  json["budget_ppm"] = control.budget_ppm();
  json["back_offs"] = control.back_offs();
  SetUnlessZero(json, "retry_in_ns", control.retry_in_ns());
  return json;
}

}  // namespace

Json PendingJson(const v1::PendingDetail& pending) {
  Json json;
  json["rule"] = pending.rule();
  json["need_bytes"] = pending.need_bytes();
  json["have_bytes"] = pending.have_bytes();
  if (!pending.nearest_node().empty()) {
    json["nearest"] = DeviceName(pending.nearest_node(), pending.nearest_device());
  }
  SetUnlessZero(json, "place", pending.place());
  json["waiting"] = pending.waiting();
  json["help"] = Json::array();
  for (const std::string& line : pending.help()) json["help"].push_back(line);
  return json;
}

Json ForecastJson(const v1::Forecast& forecast) {
  Json json;
  if (forecast.rate() > 0) {
    json["rate"] = forecast.rate();
    json["rate_low"] = forecast.rate_low();
    json["rate_high"] = forecast.rate_high();
  }
  SetUnlessZero(json, "finish_unix_ns", forecast.finish_unix_ns());
  SetUnlessZero(json, "finish_earliest_unix_ns", forecast.finish_earliest_unix_ns());
  SetUnlessZero(json, "finish_latest_unix_ns", forecast.finish_latest_unix_ns());
  SetUnlessEmpty(json, "configuration", forecast.configuration());
  SetUnlessEmpty(json, "text", forecast.text());
  return json;
}

Json JobJson(const v1::Job& job) {
  Json json;
  json["id"] = job.id();
  json["name"] = JobName(job);
  json["state"] = Word(job.state());
  if (job.state() == v1::JOB_STATE_PENDING) {
    json["pending_reason"] = Word(job.pending_reason());
    json["pending_text"] = job.pending_text();
    if (job.has_pending()) json["pending"] = PendingJson(job.pending());
  }
  json["cancel_requested"] = job.cancel_requested();
  json["held"] = job.held();
  if (IsTerminal(job.state())) json["end_cause"] = Word(job.end_cause());
  SetUnlessEmpty(json, "end_text", job.end_text());
  json["command"] = Json::array();
  for (const std::string& word : job.spec().command()) json["command"].push_back(word);
  json["env"] = Json::object();
  const std::map<std::string, std::string> env(job.spec().env().begin(), job.spec().env().end());
  for (const auto& [name, value] : env) json["env"][name] = value;
  SetUnlessEmpty(json, "workdir", job.spec().workdir());
  SetUnlessZero(json, "memory_bytes", job.spec().memory_bytes());
  if (job.memory_bytes() > job.spec().memory_bytes()) {
    json["memory_raised_bytes"] = job.memory_bytes();
  }
  json["way"] = job.spec().way() == v1::FILL_WAY_PROCESS ? "process" : "sdk";
  json["retries"] = job.spec().retries();
  SetUnlessEmpty(json, "profile_source", job.profile_source());
  json["priority"] = job.spec().priority();
  SetUnlessEmpty(json, "tenant", job.spec().tenant());
  SetUnlessZero(json, "deadline_unix_ns", job.spec().deadline_unix_ns());
  SetUnlessZero(json, "start_before_unix_ns", job.spec().start_before_unix_ns());
  json["labels"] = Json::object();
  const std::map<std::string, std::string> labels(job.spec().labels().begin(),
                                                  job.spec().labels().end());
  for (const auto& [key, value] : labels) json["labels"][key] = value;
  json["min_runtime_ns"] = job.spec().min_runtime_ns();
  SetUnlessZero(json, "max_runtime_ns", job.spec().max_runtime_ns());
  json["evictable"] = !job.spec().not_evictable();
  SetUnlessZero(json, "submitted_unix_ns", job.submitted_unix_ns());
  SetUnlessZero(json, "ended_unix_ns", job.ended_unix_ns());
  json["attempts"] = Json::array();
  for (const v1::Attempt& attempt : job.attempts())
    json["attempts"].push_back(AttemptJson(attempt));
  if (job.has_forecast()) json["forecast"] = ForecastJson(job.forecast());
  if (!job.history().empty()) json["history"] = Json::array();
  for (const v1::JobStep& step : job.history()) json["history"].push_back(StepJson(step));
  AddTies(job, &json);
  return json;
}

Json DeviceJson(const v1::Device& device) {
  Json json;
  json["node"] = device.node();
  json["name"] = device.name();
  json["backend"] = device.backend();
  json["detail"] = device.detail();
  json["memory_bytes"] = device.memory_bytes();
  json["memory_free_bytes"] = device.memory_free_bytes();
  json["resident"] = device.resident();
  json["resident_limit"] = device.resident_limit();
  if (device.has_main_rank()) json["main_rank"] = MainRankJson(device.main_rank());
  return json;
}

Json MainRankJson(const v1::MainRank& rank) {
  Json json;
  json["main_job"] = rank.main_job();
  json["rank"] = rank.rank();
  json["ranks"] = rank.ranks();
  json["stage"] = rank.stage();
  json["stages"] = rank.stages();
  json["pid"] = rank.pid();
  json["mode"] = Word(rank.mode());
  json["iterations"] = rank.iterations();
  json["iteration_p50_ns"] = rank.iteration_p50_ns();
  json["bubble_ns"] = rank.bubble_ns();
  json["iteration_ns"] = rank.iteration_ns();
  json["events_dropped"] = rank.events_dropped();
  if (rank.has_control()) json["control"] = ControlJson(rank.control());
  return json;
}

Json MainSettingsJson(const v1::MainJobSettings& settings) {
  Json json;
  json["main_job"] = settings.main_job();
  if (settings.mode() != v1::FILL_MODE_UNSPECIFIED) json["mode"] = Word(settings.mode());
  SetUnlessZero(json, "budget_ppm", settings.budget_ppm());
  json["paused"] = settings.paused();
  SetUnlessZero(json, "static_share_ppm", settings.static_share_ppm());
  return json;
}

Json BubbleJson(const v1::BubbleStats& bubble) {
  Json json;
  json["node"] = bubble.node();
  json["device"] = bubble.device();
  json["main_job"] = bubble.main_job();
  json["rank"] = bubble.rank();
  json["stage"] = bubble.stage();
  json["class"] = Word(bubble.bubble_class());
  json["ordinal"] = bubble.ordinal();
  json["count"] = bubble.count();
  json["p10_ns"] = bubble.p10_ns();
  json["p50_ns"] = bubble.p50_ns();
  json["p90_ns"] = bubble.p90_ns();
  json["memory_free_bytes"] = bubble.memory_free_bytes();
  json["bubble_ns"] = bubble.bubble_ns();
  json["offered_ns"] = bubble.offered_ns();
  json["filled_ns"] = bubble.filled_ns();
  json["overrun_ns"] = bubble.overrun_ns();
  json["units"] = bubble.units();
  json["overruns"] = bubble.overruns();
  json["guard_ns"] = bubble.guard_ns();
  json["offer"] = Word(bubble.offer());
  SetUnlessZero(json, "earliest_start_ns", bubble.earliest_start_ns());
  // A unit of `unit_ns` may start until `latest_start_ns` after the bubble's begin; -1 = not at
  // all.
  json["latest_starts"] = Json::array();
  const int entries = std::min(bubble.unit_ns_size(), bubble.latest_start_ns_size());
  for (int i = 0; i < entries; ++i) {
    json["latest_starts"].push_back(
        {{"unit_ns", bubble.unit_ns(i)}, {"latest_start_ns", bubble.latest_start_ns(i)}});
  }
  return json;
}

Json StatusJson(const v1::GetStatusResponse& status) {
  Json json;
  json["version"] = status.version();
  json["policy"] = status.policy();
  json["jobs_pending"] = status.jobs_pending();
  json["jobs_held"] = status.jobs_held();
  json["jobs_running"] = status.jobs_running();
  json["jobs_ended"] = status.jobs_ended();
  json["arrays"] = status.arrays();
  json["nodes"] = Json::array();
  for (const std::string& node : status.nodes()) json["nodes"].push_back(node);
  SetUnlessEmpty(json, "policy_error", status.policy_error());
  json["quarantines"] = Json::array();
  for (const v1::NodeQuarantine& quarantine : status.quarantines()) {
    json["quarantines"].push_back({{"node", quarantine.node()},
                                   {"text", quarantine.text()},
                                   {"left_ns", quarantine.left_ns()}});
  }
  json["tenants"] = Json::array();
  for (const v1::TenantStatus& tenant : status.tenants()) {
    json["tenants"].push_back({{"name", tenant.name()},
                               {"weight", tenant.weight()},
                               {"used_seconds", tenant.used_seconds()},
                               {"resident", tenant.resident()},
                               {"resident_max", tenant.resident_max()},
                               {"pending", tenant.pending()},
                               {"pending_max", tenant.pending_max()},
                               {"borrow", tenant.borrow()}});
  }
  json["history_keep_seconds"] = status.history_keep_seconds();
  json["history_jobs_max"] = status.history_jobs_max();
  json["journal_records"] = status.journal_records();
  json["snapshot_unix_ns"] = status.snapshot_unix_ns();
  json["refusing"] = status.refusing_text();
  json["limits"] = Json::array();
  for (const v1::LimitStatus& limit : status.limits()) {
    json["limits"].push_back(
        {{"name", limit.name()}, {"used", limit.used()}, {"max", limit.max()}});
  }
  return json;
}

std::string JsonText(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pipefill
