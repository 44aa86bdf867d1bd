// A site's own script: whatever it is, scores are finite and of one length, calls end, and a script
// that has failed stays so.
#include <cmath>
#include <optional>

#include "common/check.h"
#include "planner/policies/lua.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {
namespace {

class ScoreRule {
 public:
  void Check(const Score& score) {
    for (double entry : score) CHECK(std::isfinite(entry));
    if (length_.has_value()) CHECK(score.size() == *length_);
    length_ = score.size();
  }

 private:
  std::optional<size_t> length_;
};

}  // namespace

bool TakeInput(absl::string_view input) {
  const std::string text(input);
  const absl::StatusOr<std::unique_ptr<Policy>> policy = LuaPolicy::Load(text, "site.lua");
  const absl::StatusOr<std::unique_ptr<Policy>> same = LuaPolicy::Load(text, "site.lua");
  CHECK(policy.status() == same.status());
  if (!policy.ok()) return false;
  ScoreRule of_jobs;
  ScoreRule of_devices;
  PendingJob job{.id = JobId(1), .memory_bytes = 100, .not_before = std::nullopt};
  DeviceSnapshot device{.key = {"a", "cpu0"},
                        .memory_bytes = 100,
                        .memory_free_bytes = 30,
                        .resident = 1,
                        .resident_limit = 2,
                        .main_job = MainJobUse::kFilled};
  for (int i = 0; i < 3; ++i) {
    const bool had_failed = !(*policy)->error().ok();
    const Score score = (*policy)->ScoreJob(job, {});
    of_jobs.Check(score);
    CHECK(score == (*same)->ScoreJob(job, {}));
    of_devices.Check((*policy)->ScoreDevice(device));
    (*same)->ScoreDevice(device);
    if (had_failed) CHECK(!(*policy)->error().ok());
    job.id = JobId(job.id.value() + 1);
    job.seconds_left = i * 10.5;
    device.resident = 0;
  }
  return (*policy)->error().ok();
}

std::vector<std::string> Seeds() {
  return {"function job(j) return -(j.seconds_left or 1e9), j.priority end",
          "local weight = {a = 2, b = 1}\n"
          "function job(j)\n"
          "  local w = weight[j.tenant] or 0\n"
          "  for i = 1, 3 do w = w + i * j.memory_bytes end\n"
          "  if j.deadline ~= nil then w = w / 2 end\n"
          "  return w, string.len(j.tenant), math.floor(w)\n"
          "end\n"
          "function device(d) return d.bubble_share - d.filled_share, #d.node end",
          "function job(j) local t = {3, 1, 2} table.sort(t) return t[1] .. '' == '1' and 1 or 0 "
          "end"};
}

}  // namespace pipefill
