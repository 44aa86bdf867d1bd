// The configuration of schedulerd with all defaults filled in and all values checked.
//
// Pure.
#ifndef SCHEDULER_SETTINGS_H_
#define SCHEDULER_SETTINGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "planner/policies/by_name.h"
#include "proto/config.pb.h"
#include "scheduler/core/refusal_table.h"
#include "scheduler/core/tenant_table.h"
#include "scheduler/limits.h"

namespace pipefill::scheduler {

struct Settings {
  std::string listen = "127.0.0.1:7700";
  std::string address_file;
  std::string state_dir = "/var/lib/pipefill/schedulerd";
  std::string policy = "fifo";
  int64_t default_memory_bytes = int64_t{1} << 30;
  absl::Duration agent_lease = absl::Seconds(10);
  absl::Duration agent_lost_after = absl::Seconds(15);
  absl::Duration report_period = absl::Seconds(1);
  int64_t jobs_max = 1'000'000;
  int64_t spec_max_bytes = int64_t{64} << 10;
  absl::Duration history_keep = absl::Hours(720);
  int64_t history_jobs_max = 500'000;
  int64_t snapshot_every = 100'000;
  int64_t disk_reserve_bytes = int64_t{16} << 20;
  std::string log_level = "info";
  std::vector<TenantLimits> tenants = {};
  absl::Duration fair_half_life = absl::Hours(1);
  absl::Duration min_runtime = absl::Seconds(30);
  absl::Duration eviction_hold = absl::Seconds(30);
  RefusalLimits refusals = {};
  std::string fallback_policy = "fifo";
  int64_t array_tasks_max = 100'000;
  int64_t array_window = 256;
  int64_t array_history_max = 1'000;
  Limits limits = {};
};

// InvalidArgument; the text begins with the field. `read` reads the scripts that policies name.
absl::StatusOr<Settings> ReadSettings(const v1::SchedulerConfig& config, const ReadText& read);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SETTINGS_H_
