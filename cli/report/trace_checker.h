// Checks that a recorded run kept the promises of pipefill. Takes nothing on trust: every rule is
// checked against the edges and units themselves.
//
//   unit_in_window       the bubble that the gate saw exists on the unit's rank (same signal word,
//                        slot, begin; and its iteration, or one that began while it was open), and
//                        the unit started in it: not before its begin, and not later than the
//                        latest start that the gate had read
//   unit_before_end      the signal word was the same after the gate had taken the start time, and
//                        the start is no later than the bubble's end plus kVisibilitySlackNs
//   no_unit_in_hold_out  no unit started in a held-out iteration; units of failures may
//   failure_units        units that started because the rank stood still did so between the begin
//                        of that failure and its end plus kVisibilitySlackNs
//   overrun_promise      per bubble id of a rank, and over all: the overrun of its units is what
//   was
//                        promised, or less, within stated tolerances (overrun_promise.h)
//   one_turn             of two tasks on one device none starts a unit while a unit of the other is
//                        in progress, until that has outlived its bubble by kOverstayNs; from then
//                        on agentd may have frozen it and given its turn away: counted
//   units_in_order       units of one task follow each other and never overlap
//   memory_below_cap     no memory sample lies above its task's cap; samples shortly before the
//                        task was ended for just that are the cap at work, and only counted
//   attempt_ends_once    no attempt ends twice; one that has not ended is not checked
//   one_live_attempt     attempts of a job do not overlap in time, and their fences grow
//   job_ends_once        with the scheduler's job list: ids are unique, every job that ran is
//                        known, a terminal job has no live attempt, and a succeeded one has
//                        exactly one attempt that exited with 0, its last
//
// Why slack: a rank reads its clock and then stores the signal word. If it is taken off its core
// in between, gates see the bubble end later than the edge says. kVisibilitySlackNs covers a time
// slice of the kernel; what needed it is counted.
//
// A task reads the clock for a unit's end before it gives its turn back, and for a unit's start
// after it has got it; kTurnSlackNs covers clocks of two cores that are not quite equal.
//
// A rule is "not fully checked" where records are missing: dropped edges or units, the older part
// of a long trace, clocks of different nodes. That is said, never passed over.
//
// Pure.
#ifndef CLI_REPORT_TRACE_CHECKER_H_
#define CLI_REPORT_TRACE_CHECKER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/report/trace.h"

namespace pipefill {

enum class Rule {
  kUnitInWindow,
  kUnitBeforeEnd,
  kNoUnitInHoldOut,
  kFailureUnits,
  kOverrunPromise,
  kUnitsInOrder,
  kOneTurn,
  kMemoryBelowCap,
  kAttemptEndsOnce,
  kOneLiveAttempt,
  kJobEndsOnce,
};
inline constexpr size_t kRules = 11;
// "unit_in_window", ...
const char* RuleName(Rule rule);

inline constexpr int64_t kVisibilitySlackNs = 2'000'000;
// The shortest grace of agentd before it freezes a task whose unit outlived its bubble.
inline constexpr int64_t kOverstayNs = 5'000'000;
inline constexpr int64_t kTurnSlackNs = 20'000;
// A sample above the cap this long before an end by out-of-memory is the cap at work.
inline constexpr int64_t kMemoryEnforcedNs = 2'000'000'000;
// How far clocks of different nodes may be apart: less overlap of attempts there proves nothing.
inline constexpr int64_t kNodeClockSlackNs = 1'000'000'000;
// Of one rule; further ones are only counted.
inline constexpr size_t kViolationsKept = 100;

// What the scheduler says about a job.
struct JobRecord {
  int64_t id = 0;
  std::string state;  // "SUCCEEDED", ...
  bool is_terminal = false;
  bool is_succeeded = false;
  int64_t attempts = 0;
  int64_t attempts_live = 0;       // placed and not ended
  int64_t attempts_succeeded = 0;  // exited with 0
  bool last_succeeded = false;
};

struct CheckOptions {
  // Absent: kJobEndsOnce is not checked.
  std::optional<std::vector<JobRecord>> jobs;
  // The run is over: a job that has not ended is a violation, else it is not checked.
  bool all_jobs_ended = false;
};

struct Violation {
  Rule rule = Rule::kUnitInWindow;
  int64_t time_ns = 0;  // on the node's clock; 0 if the rule has none
  // "unit_in_window: job 3 attempt 1 unit 17 at 812.4 ms: ..."; times count from the agent's start.
  std::string text;
};

struct RuleResult {
  int64_t checked = 0;
  int64_t violations = 0;
  int64_t unchecked = 0;                       // things the rule could not be applied to
  std::vector<std::string> unchecked_reasons;  // one line each, with numbers
};

struct CheckResult {
  std::array<RuleResult, kRules> rules;  // by Rule
  std::vector<Violation> violations;     // in the order of rules, at most kViolationsKept each
  int64_t units_within_slack = 0;        // started after the recorded end, within the slack
  // Overlapped a unit of another task of the device that had outlived its bubble.
  int64_t units_of_two_tasks = 0;
  int64_t samples_enforced = 0;  // above the cap, right before the end for it

  const RuleResult& of(Rule rule) const { return rules[static_cast<size_t>(rule)]; }
  int64_t violation_count() const;
};

CheckResult CheckTrace(const Trace& trace, const CheckOptions& options);

}  // namespace pipefill

#endif  // CLI_REPORT_TRACE_CHECKER_H_
