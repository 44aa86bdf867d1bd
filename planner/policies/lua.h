// A policy of a site's own: a Lua 5.4 script that defines
//
//   function job(j) return ... end       -- 1 to 4 numbers; the larger ones go first
//   function device(d) return ... end    -- may be missing
//
// The fields of j and d, and how to write one: docs/how-to/policy.md.
//
// The script has arithmetic, math (without chance), and the simplest functions of strings and
// tables: nothing that reads or writes anything, loads code, catches errors, or could run on in C.
// A call may take kStepsMax steps and allocate kBytesMax. A script that breaks a limit, fails, or
// does not return the same number of finite numbers each time has failed for good: error() says
// where, and what follows scores 0.
//
// Thread-compatible.
#ifndef PLANNER_POLICIES_LUA_H_
#define PLANNER_POLICIES_LUA_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "planner/policy.h"
#include "planner/snapshot.h"

namespace pipefill {

class LuaPolicy : public Policy {
 public:
  static constexpr int kStepsMax = 10'000;
  static constexpr size_t kBytesMax = size_t{1} << 20;

  // InvalidArgument with `origin` and line: `text` is no script, or defines no function `job`.
  static absl::StatusOr<std::unique_ptr<Policy>> Load(const std::string& text,
                                                      const std::string& origin);
  ~LuaPolicy() override;

  std::string name() const override;
  Score ScoreJob(const PendingJob& job, const TenantSnapshot& tenant) const override;
  Score ScoreDevice(const DeviceSnapshot& device) const override;
  absl::Status error() const override;

 private:
  struct Script;
  explicit LuaPolicy(std::unique_ptr<Script> script);

  const std::unique_ptr<Script> script_;
};

}  // namespace pipefill

#endif  // PLANNER_POLICIES_LUA_H_
