#include "scheduler/settings.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/quantity.h"
#include "common/status.h"
#include "planner/policies/by_name.h"
#include "scheduler/core/array.h"

namespace pipefill::scheduler {
namespace {

absl::Status Bad(absl::string_view field, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": ", text));
}

absl::Status TakeText(const std::string& from, std::string* to) {
  if (!from.empty()) *to = from;
  return absl::OkStatus();
}

absl::Status ReadBytes(absl::string_view field, const std::string& from, int64_t* to) {
  if (from.empty()) return absl::OkStatus();
  const absl::StatusOr<int64_t> bytes = ParseBytes(from);
  if (!bytes.ok()) return Bad(field, bytes.status().message());
  if (*bytes == 0) return Bad(field, "must be more than 0");
  *to = *bytes;
  return absl::OkStatus();
}

absl::Status ReadDuration(absl::string_view field, const std::string& from, absl::Duration* to) {
  if (from.empty()) return absl::OkStatus();
  const absl::StatusOr<absl::Duration> duration = ParsePositiveDuration(from);
  if (!duration.ok()) return Bad(field, duration.status().message());
  if (*duration == absl::ZeroDuration()) return Bad(field, "must be more than 0");
  *to = *duration;
  return absl::OkStatus();
}

// Without TLS only this machine may come in.
absl::Status CheckListen(const std::string& listen) {
  const size_t colon = listen.rfind(':');
  int port = -1;
  if (colon == std::string::npos || !absl::SimpleAtoi(listen.substr(colon + 1), &port) ||
      port < 0 || port > 65535) {
    return Bad("listen", absl::StrCat("\"", listen, "\" is not HOST:PORT, like 127.0.0.1:7700"));
  }
  const std::string host = listen.substr(0, colon);
  if (host == "localhost" || host == "[::1]" || absl::StartsWith(host, "127.")) {
    return absl::OkStatus();
  }
  return Bad("listen",
             absl::StrCat("\"", host, "\" is not a loopback address, and this version has ",
                          "no TLS; use 127.0.0.1"));
}

// With reports every second, three may be late before anything comes of it; with rarer ones, one by
// kReportSlack.
constexpr absl::Duration kSilenceMin = absl::Seconds(3);
constexpr int64_t kMessageLeast = int64_t{64} << 10;
constexpr int64_t kMessageMost = int64_t{64} << 20;
constexpr int64_t kCountMost = 10'000'000;
constexpr absl::Duration kReportSlack = absl::Seconds(1);
constexpr absl::Duration kReportPeriodMax = absl::Minutes(1);

absl::Status CheckTimes(const Settings& settings) {
  if (settings.report_period < absl::Seconds(1) || settings.report_period > kReportPeriodMax) {
    return Bad("report_period",
               absl::StrCat(pipefill::FormatDuration(settings.report_period), " is not 1s..1m"));
  }
  if (settings.agent_lease < kSilenceMin) {
    return Bad("agent_lease", absl::StrCat(pipefill::FormatDuration(settings.agent_lease),
                                           " is less than 3s, which is too little for a busy "
                                           "network"));
  }
  // At three quarters of its lease an agent tells its tasks to save (SchedulerContact).
  const bool is_rare = settings.report_period > settings.agent_lease / 3;
  if (is_rare && settings.agent_lease * 3 / 4 < settings.report_period + kReportSlack) {
    return Bad("agent_lease",
               absl::StrCat(pipefill::FormatDuration(settings.agent_lease),
                            " is too little for reports every ",
                            pipefill::FormatDuration(settings.report_period),
                            ": three quarters of it must be a second more than that"));
  }
  const absl::Duration least = std::max(kSilenceMin, settings.report_period + kReportSlack);
  if (settings.agent_lost_after - settings.agent_lease >= least) return absl::OkStatus();
  return Bad("agent_lost_after",
             absl::StrCat(pipefill::FormatDuration(settings.agent_lost_after), " must be at least ",
                          pipefill::FormatDuration(least), " more than agent_lease, ",
                          pipefill::FormatDuration(settings.agent_lease), ", with reports every ",
                          pipefill::FormatDuration(settings.report_period),
                          ": an agent parks its tasks before they are placed elsewhere"));
}

absl::Status ReadCount(absl::string_view field, int64_t from, int64_t* to) {
  if (from < 0) return Bad(field, "must be more than 0");
  if (from > 0) *to = from;
  return absl::OkStatus();
}

absl::Status ReadStore(const v1::SchedulerConfig& config, Settings* settings) {
  RETURN_IF_ERROR(ReadCount("jobs_max", config.jobs_max(), &settings->jobs_max));
  // A small store keeps as much of it for history as the default does.
  settings->history_jobs_max = std::min(settings->history_jobs_max, settings->jobs_max / 2);
  RETURN_IF_ERROR(
      ReadCount("history_jobs_max", config.history_jobs_max(), &settings->history_jobs_max));
  RETURN_IF_ERROR(ReadCount("snapshot_every", config.snapshot_every(), &settings->snapshot_every));
  RETURN_IF_ERROR(ReadDuration("history_keep", config.history_keep(), &settings->history_keep));
  RETURN_IF_ERROR(ReadBytes("disk_reserve", config.disk_reserve(), &settings->disk_reserve_bytes));
  if (settings->history_jobs_max < settings->jobs_max) return absl::OkStatus();
  return Bad("history_jobs_max",
             absl::StrCat(settings->history_jobs_max, " leaves no room for new jobs in jobs_max, ",
                          settings->jobs_max));
}

absl::Status ReadArrays(const v1::SchedulerConfig& config, Settings* settings) {
  RETURN_IF_ERROR(
      ReadCount("array_tasks_max", config.array_tasks_max(), &settings->array_tasks_max));
  RETURN_IF_ERROR(ReadCount("array_window", config.array_window(), &settings->array_window));
  RETURN_IF_ERROR(
      ReadCount("array_history_max", config.array_history_max(), &settings->array_history_max));
  if (settings->array_tasks_max <= kArrayTasksCap) return absl::OkStatus();
  return Bad("array_tasks_max", absl::StrCat("is at most ", kArrayTasksCap));
}

absl::Status ReadLimits(const v1::SchedulerConfig& config, Limits* limits) {
  RETURN_IF_ERROR(ReadBytes("message_max", config.message_max(), &limits->message_max_bytes));
  if (limits->message_max_bytes < kMessageLeast || limits->message_max_bytes > kMessageMost) {
    return Bad("message_max", "is not in 64KiB..64MiB");
  }
  const std::tuple<absl::string_view, int64_t, int64_t*> counts[] = {
      {"requests_max", config.requests_max(), &limits->requests_max},
      {"waits_max", config.waits_max(), &limits->waits_max},
      {"watchers_max", config.watchers_max(), &limits->watchers_max},
      {"watchers_per_peer_max", config.watchers_per_peer_max(), &limits->watchers_per_peer_max},
      {"agents_max", config.agents_max(), &limits->agents_max},
      {"backups_max", config.backups_max(), &limits->backups_max},
      {"page_max", config.page_max(), &limits->page_max},
      {"ids_max", config.ids_max(), &limits->ids_max},
      {"questions_max", config.questions_max(), &limits->questions_max},
      {"watch_log_max", config.watch_log_max(), &limits->watch_log_max},
  };
  for (const auto& [field, from, to] : counts) {
    RETURN_IF_ERROR(ReadCount(field, from, to));
    if (*to > kCountMost) return Bad(field, absl::StrCat("is more than ", kCountMost));
  }
  if (limits->ids_max <= limits->requests_max) return absl::OkStatus();
  return Bad("ids_max", absl::StrCat(limits->ids_max, " jobs of one call would never have room in ",
                                     "requests_max, ", limits->requests_max));
}

absl::Status CheckLogLevel(const std::string& level) {
  if (level == "error" || level == "warn" || level == "info" || level == "debug") {
    return absl::OkStatus();
  }
  return Bad("log_level", absl::StrCat("\"", level, "\" is not error, warn, info or debug"));
}

bool IsTenantName(const std::string& name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  });
}

absl::Status ReadTenants(const v1::SchedulerConfig& config, std::vector<TenantLimits>* tenants) {
  for (const v1::TenantConfig& from : config.tenants()) {
    if (!IsTenantName(from.name())) {
      return Bad("tenants.name",
                 absl::StrCat("\"", from.name(), "\" is not 1..64 characters of [A-Za-z0-9._-]"));
    }
    const bool is_known = std::any_of(tenants->begin(), tenants->end(),
                                      [&](const auto& known) { return known.name == from.name(); });
    if (is_known) return Bad("tenants.name", absl::StrCat("\"", from.name(), "\" is there twice"));
    if (!std::isfinite(from.weight()) || from.weight() < 0) {
      return Bad("tenants.weight", absl::StrCat("of ", from.name(), " must be more than 0"));
    }
    if (from.resident_max() < 0 || from.pending_max() < 0) {
      return Bad("tenants", absl::StrCat(from.name(), " has a limit below 0"));
    }
    tenants->push_back({.name = from.name(),
                        .weight = from.weight() == 0 ? 1 : from.weight(),
                        .resident_max = from.resident_max(),
                        .pending_max = from.pending_max(),
                        .may_borrow = from.borrow()});
  }
  return absl::OkStatus();
}

absl::Status ReadPlanning(const v1::SchedulerConfig& config, Settings* settings) {
  RETURN_IF_ERROR(ReadTenants(config, &settings->tenants));
  RETURN_IF_ERROR(
      ReadDuration("fair_half_life", config.fair_half_life(), &settings->fair_half_life));
  RETURN_IF_ERROR(ReadDuration("eviction_hold", config.eviction_hold(), &settings->eviction_hold));
  RETURN_IF_ERROR(
      ReadDuration("refusals_window", config.refusals_window(), &settings->refusals.window));
  RETURN_IF_ERROR(ReadDuration("quarantine", config.quarantine(), &settings->refusals.quarantine));
  if (config.refusals_max() < 0) return Bad("refusals_max", "must be more than 0");
  if (config.refusals_max() > 0) settings->refusals.refusals_max = config.refusals_max();
  if (config.min_runtime().empty()) return absl::OkStatus();
  // "0s" is a choice.
  const absl::StatusOr<absl::Duration> least = ParsePositiveDuration(config.min_runtime());
  if (!least.ok()) return Bad("min_runtime", least.status().message());
  settings->min_runtime = *least;
  return absl::OkStatus();
}

absl::Status CheckPolicies(const Settings& settings, const ReadText& read) {
  const auto policy = MakePolicyByName(settings.policy, read);
  if (!policy.ok()) return Bad("policy", policy.status().message());
  if (absl::StrContains(settings.fallback_policy, "lua:")) {
    return Bad("fallback_policy", "must not be a script: it plans when one has failed");
  }
  const auto fallback = MakePolicyByName(settings.fallback_policy, read);
  if (!fallback.ok()) return Bad("fallback_policy", fallback.status().message());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Settings> ReadSettings(const v1::SchedulerConfig& config, const ReadText& read) {
  Settings settings;
  RETURN_IF_ERROR(TakeText(config.listen(), &settings.listen));
  RETURN_IF_ERROR(TakeText(config.address_file(), &settings.address_file));
  RETURN_IF_ERROR(TakeText(config.state_dir(), &settings.state_dir));
  RETURN_IF_ERROR(TakeText(config.policy(), &settings.policy));
  RETURN_IF_ERROR(TakeText(config.log_level(), &settings.log_level));
  RETURN_IF_ERROR(
      ReadBytes("default_memory", config.default_memory(), &settings.default_memory_bytes));
  RETURN_IF_ERROR(ReadBytes("spec_max", config.spec_max(), &settings.spec_max_bytes));
  RETURN_IF_ERROR(ReadDuration("agent_lease", config.agent_lease(), &settings.agent_lease));
  RETURN_IF_ERROR(
      ReadDuration("agent_lost_after", config.agent_lost_after(), &settings.agent_lost_after));
  RETURN_IF_ERROR(ReadDuration("report_period", config.report_period(), &settings.report_period));
  RETURN_IF_ERROR(ReadStore(config, &settings));
  RETURN_IF_ERROR(ReadArrays(config, &settings));
  RETURN_IF_ERROR(ReadLimits(config, &settings.limits));
  if (settings.spec_max_bytes > settings.limits.message_max_bytes / 2) {
    return Bad("spec_max", "is at most half of message_max");
  }
  RETURN_IF_ERROR(CheckListen(settings.listen));
  RETURN_IF_ERROR(CheckTimes(settings));
  RETURN_IF_ERROR(CheckLogLevel(settings.log_level));
  RETURN_IF_ERROR(TakeText(config.fallback_policy(), &settings.fallback_policy));
  RETURN_IF_ERROR(ReadPlanning(config, &settings));
  RETURN_IF_ERROR(CheckPolicies(settings, read));
  return settings;
}

}  // namespace pipefill::scheduler
