// Values for tests of the core: only what matters to a test is named there.
//
// Pure.
#ifndef SCHEDULER_TESTING_BUILDERS_H_
#define SCHEDULER_TESTING_BUILDERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/instant.h"
#include "scheduler/core/cluster_state.h"
#include "scheduler/core/event.h"

namespace pipefill::scheduler {

inline constexpr int64_t kMiB = int64_t{1} << 20;

inline Instant AtSecond(double seconds) {
  return Instant::FromNs(static_cast<int64_t>(seconds * 1e9));
}

inline EventTime TimeAt(double seconds) {
  return {AtSecond(seconds), absl::FromUnixSeconds(1'700'000'000) + absl::Seconds(seconds)};
}

inline JobSpec SpecThatNeeds(int64_t memory_bytes, int32_t retries = 0) {
  JobSpec spec;
  spec.name = "embed";
  spec.command = {"python3", "embed.py"};
  spec.memory_bytes = memory_bytes;
  spec.retries = retries;
  return spec;
}

// With a main job whose bubbles may be filled.
inline Device FilledDevice(const std::string& node, const std::string& name, int seats = 1,
                           int64_t memory_bytes = 1024 * kMiB) {
  Device device;
  device.key = {node, name};
  device.backend = "cpu";
  device.memory_bytes = memory_bytes;
  device.memory_free_bytes = memory_bytes;
  device.resident_limit = seats;
  device.main_rank.emplace();
  device.main_rank->main_job = "gpt";
  device.main_rank->mode = FillMode::kFill;
  return device;
}

inline AgentRegistered HelloFrom(const std::string& node, uint64_t session,
                                 std::vector<Device> devices) {
  AgentRegistered hello;
  hello.session = SessionId(session);
  hello.node = node;
  hello.boot_id = "boot-1";
  hello.version = "test";
  hello.devices = std::move(devices);
  return hello;
}

inline AgentReported ReportFrom(uint64_t session, std::vector<Device> devices) {
  AgentReported report;
  report.session = SessionId(session);
  report.devices = std::move(devices);
  return report;
}

inline MainJobSettings PausedMainJob(const std::string& main_job) {
  MainJobSettings settings;
  settings.main_job = main_job;
  settings.is_paused = true;
  return settings;
}

inline AttemptEnded ExitOf(const AttemptKey& attempt, int32_t exit_code) {
  AttemptEnded ended;
  ended.attempt = attempt;
  ended.end.cause = EndCause::kExited;
  ended.end.exit_code = exit_code;
  return ended;
}

inline AttemptEnded EndOf(const AttemptKey& attempt, EndCause cause) {
  AttemptEnded ended;
  ended.attempt = attempt;
  ended.end.cause = cause;
  return ended;
}

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_TESTING_BUILDERS_H_
