#include "cli/report/trace_checker.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/report/overrun_promise.h"
#include "cli/report/unit_ledger.h"
#include "client/pages/hold_out.h"

namespace pipefill {
namespace {

std::string Ms(int64_t ns) { return absl::StrFormat("%.3f ms", static_cast<double>(ns) / 1e6); }

class Checker {
 public:
  Checker(const Trace& trace, const CheckOptions& options)
      : trace_(trace), options_(options), ledger_(trace) {}

  CheckResult Check() {
    for (const TaskTrace& task : trace_.tasks) {
      for (size_t i = 0; i < task.units.size(); ++i) CheckUnit(task, i);
      CheckOrder(task);
      CheckMemory(task);
    }
    CheckAttempts();
    CheckJobs();
    CheckPromises();
    CheckTurns();
    AddReasons();
    std::stable_sort(result_.violations.begin(), result_.violations.end(),
                     [](const Violation& a, const Violation& b) { return a.rule < b.rule; });
    return std::move(result_);
  }

 private:
  RuleResult& of(Rule rule) { return result_.rules[static_cast<size_t>(rule)]; }

  void Violate(Rule rule, int64_t time_ns, const std::string& text) {
    if (++of(rule).violations > static_cast<int64_t>(kViolationsKept)) return;
    result_.violations.push_back(
        {.rule = rule, .time_ns = time_ns, .text = absl::StrCat(RuleName(rule), ": ", text)});
  }

  void LeaveUnchecked(Rule rule, const std::string& reason, int64_t count = 1) {
    of(rule).unchecked += count;
    reasons_[{rule, reason}] += count;
  }

  std::string At(size_t start, int64_t ns) const {
    return absl::StrCat("at ", Ms(ns - trace_.starts[start].start_ns));
  }

  std::string UnitText(const TaskTrace& task, size_t i) const {
    return absl::StrCat("job ", task.job_id, " attempt ", task.attempt, " on ", task.device,
                        ": unit ", i + 1, " ", At(task.start, task.units[i].start_ns));
  }

  void CheckUnit(const TaskTrace& task, size_t i) {
    const UnitTrace& unit = task.units[i];
    if (unit.rank == kNone) {
      LeaveUnchecked(Rule::kUnitInWindow, "units of a main rank that the trace does not know");
      LeaveUnchecked(Rule::kUnitBeforeEnd, "units of a main rank that the trace does not know");
      LeaveUnchecked(Rule::kNoUnitInHoldOut, "units of a main rank that the trace does not know");
      return;
    }
    const RankTrace& rank = trace_.ranks[unit.rank];
    if (unit.is_of_failure()) return CheckFailureUnit(task, i);
    ++of(Rule::kNoUnitInHoldOut).checked;
    if (IsHeldOut(trace_.starts[rank.start].hold_out, unit.iteration)) {
      Violate(Rule::kNoUnitInHoldOut, unit.start_ns,
              absl::StrCat(UnitText(task, i), ": iteration ", unit.iteration, " is held out"));
    }
    const size_t bubble = ledger_.BubbleOf(unit);
    if (bubble == kNone) return CheckUnmatchedUnit(task, i);
    CheckWindow(task, i, rank.bubbles[bubble]);
    CheckEnd(task, i, rank.bubbles[bubble]);
  }

  void CheckFailureUnit(const TaskTrace& task, size_t i) {
    const UnitTrace& unit = task.units[i];
    const RankTrace& rank = trace_.ranks[unit.rank];
    const size_t index = ledger_.FailureOf(unit);
    if (index == kNone && unit.bubble_begin_ns < rank.first_edge_ns) {
      LeaveUnchecked(Rule::kFailureUnits, "units of failures from before the trace");
      return;
    }
    ++of(Rule::kFailureUnits).checked;
    std::string fault;
    if (index == kNone) {
      fault = absl::StrCat("rank ", rank.rank, " did not stand still ",
                           At(rank.start, unit.bubble_begin_ns), " with signal word ", unit.seq);
    } else if (unit.seq_after != unit.seq) {
      fault = absl::StrCat("the signal word went from ", unit.seq, " to ", unit.seq_after,
                           " while its gate decided, and it started all the same");
    } else if (unit.start_ns < rank.failures[index].begin_ns) {
      fault = absl::StrCat("starts ", Ms(rank.failures[index].begin_ns - unit.start_ns),
                           " before the failure");
    } else if (unit.start_ns > rank.failures[index].end_ns + kVisibilitySlackNs) {
      fault = absl::StrCat("starts ", Ms(unit.start_ns - rank.failures[index].end_ns),
                           " after the main job moved again");
    }
    if (!fault.empty()) {
      Violate(Rule::kFailureUnits, unit.start_ns, absl::StrCat(UnitText(task, i), ": ", fault));
    }
  }

  // The trace has no such bubble: a fault, unless the edge may be missing.
  void CheckUnmatchedUnit(const TaskTrace& task, size_t i) {
    const UnitTrace& unit = task.units[i];
    const RankTrace& rank = trace_.ranks[unit.rank];
    const bool is_covered = rank.edges_dropped == 0 && unit.bubble_begin_ns >= rank.first_edge_ns &&
                            unit.bubble_begin_ns <= rank.last_edge_ns;
    LeaveUnchecked(Rule::kUnitBeforeEnd, "units whose bubble the trace does not hold");
    if (!is_covered) {
      LeaveUnchecked(Rule::kUnitInWindow,
                     "units whose bubble may have been among edges that the trace lost");
      return;
    }
    ++of(Rule::kUnitInWindow).checked;
    Violate(Rule::kUnitInWindow, unit.start_ns,
            absl::StrCat(UnitText(task, i), ": no bubble of rank ", rank.rank, " with signal word ",
                         unit.seq, " begins ", At(rank.start, unit.bubble_begin_ns)));
  }

  // The bubble was still open when the unit's iteration had begun: a tail and the next head in one.
  bool IsEntered(const UnitTrace& unit, const Bubble& bubble) const {
    const std::vector<Iteration>& iterations = trace_.ranks[unit.rank].iterations;
    auto entered = std::upper_bound(
        iterations.begin(), iterations.end(), bubble.begin_ns,
        [](int64_t ns, const Iteration& iteration) { return ns < iteration.begin_ns; });
    const int64_t last_ns = std::min(unit.start_ns, bubble.end_ns);
    for (; entered != iterations.end() && entered->begin_ns <= last_ns; ++entered) {
      if (entered->number == unit.iteration) return true;
    }
    return false;
  }

  void CheckWindow(const TaskTrace& task, size_t i, const Bubble& bubble) {
    const UnitTrace& unit = task.units[i];
    ++of(Rule::kUnitInWindow).checked;
    std::string fault;
    const int64_t offset_ns = unit.start_ns - bubble.begin_ns;
    if (unit.slot != bubble.slot) {
      fault = absl::StrCat("names slot ", unit.slot, ", its bubble has slot ", bubble.slot);
    } else if (unit.iteration != bubble.iteration && !IsEntered(unit, bubble)) {
      fault = absl::StrCat("names iteration ", unit.iteration, ", its bubble is of iteration ",
                           bubble.iteration);
    } else if (offset_ns < 0) {
      fault = absl::StrCat("starts ", Ms(-offset_ns), " before its bubble");
    } else if (offset_ns > unit.latest_start_ns) {
      fault =
          absl::StrCat("starts ", Ms(offset_ns), " into its bubble, later than the latest start ",
                       Ms(unit.latest_start_ns));
    }
    if (!fault.empty()) {
      Violate(Rule::kUnitInWindow, unit.start_ns, absl::StrCat(UnitText(task, i), ": ", fault));
    }
  }

  void CheckEnd(const TaskTrace& task, size_t i, const Bubble& bubble) {
    const UnitTrace& unit = task.units[i];
    ++of(Rule::kUnitBeforeEnd).checked;
    if (unit.seq_after != unit.seq) {
      Violate(Rule::kUnitBeforeEnd, unit.start_ns,
              absl::StrCat(UnitText(task, i), ": the signal word went from ", unit.seq, " to ",
                           unit.seq_after, " while its gate decided, and it started all the same"));
      return;
    }
    if (!bubble.is_closed) {
      LeaveUnchecked(Rule::kUnitBeforeEnd, "units whose bubble's end was dropped");
      --of(Rule::kUnitBeforeEnd).checked;
      return;
    }
    const int64_t late_ns = unit.start_ns - bubble.end_ns;
    if (late_ns <= 0) return;
    if (late_ns <= kVisibilitySlackNs) {
      ++result_.units_within_slack;
      return;
    }
    Violate(Rule::kUnitBeforeEnd, unit.start_ns,
            absl::StrCat(UnitText(task, i), ": starts ", Ms(late_ns), " after its bubble's end"));
  }

  void CheckOrder(const TaskTrace& task) {
    for (size_t i = 1; i < task.units.size(); ++i) {
      ++of(Rule::kUnitsInOrder).checked;
      const int64_t overlap_ns = task.units[i - 1].end_ns - task.units[i].start_ns;
      if (overlap_ns <= 0) continue;
      Violate(Rule::kUnitsInOrder, task.units[i].start_ns,
              absl::StrCat(UnitText(task, i), ": starts ", Ms(overlap_ns),
                           " before the end of the unit before it"));
    }
    if (task.units_dropped > 0) {
      LeaveUnchecked(Rule::kUnitsInOrder, "units were dropped", task.units_dropped);
      LeaveUnchecked(Rule::kUnitInWindow, "units were dropped", task.units_dropped);
      LeaveUnchecked(Rule::kUnitBeforeEnd, "units were dropped", task.units_dropped);
      LeaveUnchecked(Rule::kNoUnitInHoldOut, "units were dropped", task.units_dropped);
      LeaveUnchecked(Rule::kOverrunPromise, "units were dropped", task.units_dropped);
      LeaveUnchecked(Rule::kOneTurn, "units were dropped", task.units_dropped);
    }
  }

  void CheckMemory(const TaskTrace& task) {
    if (task.memory_bytes == 0) {
      LeaveUnchecked(Rule::kMemoryBelowCap, "samples of tasks without a known cap",
                     static_cast<int64_t>(task.samples.size()));
      return;
    }
    for (const TaskSampleTrace& sample : task.samples) {
      ++of(Rule::kMemoryBelowCap).checked;
      if (sample.memory_bytes <= task.memory_bytes) continue;
      const bool is_enforced = !task.ends.empty() && task.ends.front().cause == "out of memory" &&
                               task.ends.front().now_ns - sample.now_ns <= kMemoryEnforcedNs;
      if (is_enforced) {
        ++result_.samples_enforced;
        continue;
      }
      Violate(Rule::kMemoryBelowCap, sample.now_ns,
              absl::StrCat("job ", task.job_id, " attempt ", task.attempt, " on ", task.device, " ",
                           At(task.start, sample.now_ns), ": ", sample.memory_bytes, " bytes, cap ",
                           task.memory_bytes));
    }
  }

  // All tasks of one attempt together.
  struct AttemptTrace {
    uint64_t fence = 0;
    std::string node;
    int64_t begin_unix_ns = std::numeric_limits<int64_t>::max();
    int64_t end_unix_ns = 0;
    bool has_end = false;
  };

  void CheckAttempts() {
    std::map<int64_t, std::map<int32_t, AttemptTrace>> jobs;
    for (const TaskTrace& task : trace_.tasks) {
      if (!task.is_declared) {
        LeaveUnchecked(Rule::kAttemptEndsOnce, "tasks whose attachment the trace does not hold");
        LeaveUnchecked(Rule::kOneLiveAttempt, "tasks whose attachment the trace does not hold");
        continue;
      }
      CheckTaskEnds(task);
      AddToAttempt(task, &jobs[task.job_id][task.attempt]);
    }
    for (const auto& [job_id, attempts] : jobs) CheckAttemptsOfJob(job_id, attempts);
  }

  void CheckTaskEnds(const TaskTrace& task) {
    if (task.ends.empty()) {
      LeaveUnchecked(Rule::kAttemptEndsOnce, "attempts that had not ended when the trace does");
      return;
    }
    ++of(Rule::kAttemptEndsOnce).checked;
    if (task.ends.size() == 1) return;
    Violate(
        Rule::kAttemptEndsOnce, task.ends[1].now_ns,
        absl::StrCat("job ", task.job_id, " attempt ", task.attempt, ": ended ", task.ends.size(),
                     " times, as ", task.ends[0].cause, " ", At(task.start, task.ends[0].now_ns),
                     " and as ", task.ends[1].cause, " ", At(task.start, task.ends[1].now_ns)));
  }

  void AddToAttempt(const TaskTrace& task, AttemptTrace* attempt) const {
    const AgentStart& start = trace_.starts[task.start];
    const int64_t end_ns = task.ends.empty() ? start.last_ns : task.ends.back().now_ns;
    attempt->fence = std::max(attempt->fence, task.fence);
    attempt->node = start.node;
    attempt->begin_unix_ns = std::min(attempt->begin_unix_ns, UnixNs(start, task.launched_ns));
    attempt->end_unix_ns = std::max(attempt->end_unix_ns, UnixNs(start, end_ns));
  }

  void CheckAttemptsOfJob(int64_t job_id, const std::map<int32_t, AttemptTrace>& attempts) {
    const AttemptTrace* before = nullptr;
    int32_t before_number = 0;
    for (const auto& [number, attempt] : attempts) {
      ++of(Rule::kOneLiveAttempt).checked;
      if (before != nullptr) {
        const int64_t slack_ns = before->node == attempt.node ? 0 : kNodeClockSlackNs;
        const int64_t overlap_ns = before->end_unix_ns - attempt.begin_unix_ns;
        const std::string names =
            absl::StrCat("job ", job_id, ": attempts ", before_number, " and ", number);
        if (overlap_ns > slack_ns) {
          Violate(Rule::kOneLiveAttempt, 0,
                  absl::StrCat(names, " were live together for ", Ms(overlap_ns)));
        }
        if (attempt.fence <= before->fence) {
          Violate(Rule::kOneLiveAttempt, 0,
                  absl::StrCat(names, " have fences ", before->fence, " and ", attempt.fence,
                               ", which do not grow"));
        }
      }
      before = &attempt;
      before_number = number;
    }
  }

  void CheckJobs() {
    if (!options_.jobs.has_value()) {
      LeaveUnchecked(Rule::kJobEndsOnce, "the scheduler's job list was not given", 0);
      return;
    }
    std::map<int64_t, int64_t> listed;  // attempts by id
    for (const JobRecord& job : *options_.jobs) {
      if (!listed.emplace(job.id, job.attempts).second) {
        Violate(Rule::kJobEndsOnce, 0, absl::StrCat("job ", job.id, " is listed twice"));
      }
      CheckJob(job);
    }
    std::set<int64_t> seen;
    for (const TaskTrace& task : trace_.tasks) {
      if (!task.is_declared || !seen.insert(task.job_id).second) continue;
      if (listed.contains(task.job_id)) continue;
      ++of(Rule::kJobEndsOnce).checked;
      Violate(Rule::kJobEndsOnce, task.launched_ns,
              absl::StrCat("job ", task.job_id, " ran on ", task.device,
                           " but the scheduler does not know it"));
    }
  }

  void CheckJob(const JobRecord& job) {
    if (!job.is_terminal && !options_.all_jobs_ended) {
      LeaveUnchecked(Rule::kJobEndsOnce, "jobs that have not ended yet");
      return;
    }
    ++of(Rule::kJobEndsOnce).checked;
    std::string fault;
    if (!job.is_terminal) {
      fault = absl::StrCat("has not ended: it is ", job.state);
    } else if (job.attempts_live > 0) {
      fault = absl::StrCat("is ", job.state, " with ", job.attempts_live, " live attempt(s)");
    } else if (job.is_succeeded && (job.attempts_succeeded != 1 || !job.last_succeeded)) {
      fault = absl::StrCat("is ", job.state, ", but ", job.attempts_succeeded,
                           " of its attempts exited with 0",
                           job.last_succeeded ? "" : ", not the last");
    } else if (!job.is_succeeded && job.attempts_succeeded > 0) {
      fault = absl::StrCat("is ", job.state, ", but an attempt exited with 0");
    }
    if (!fault.empty()) Violate(Rule::kJobEndsOnce, 0, absl::StrCat("job ", job.id, " ", fault));
  }

  void CheckPromises() {
    for (const PromiseSum& sum : SumPromises(trace_, ledger_)) {
      if (!sum.is_enough()) {
        LeaveUnchecked(Rule::kOverrunPromise,
                       absl::StrCat("units of bubble ids with fewer than ", kPromiseUnitsMin,
                                    " units or ", kPromiseBubblesMin, " bubbles"),
                       sum.rank == kNone ? 0 : sum.units);
        continue;
      }
      ++of(Rule::kOverrunPromise).checked;
      if (sum.is_kept()) continue;
      std::string whose = "all bubbles";
      if (sum.rank != kNone) {
        const RankTrace& rank = trace_.ranks[sum.rank];
        whose = absl::StrCat(BubbleText(sum.name), " of rank ", rank.rank, " on ", rank.device);
      }
      Violate(Rule::kOverrunPromise, 0,
              absl::StrFormat("%s: %d units in %d bubbles overran by %.3f ms; promised were %.3f "
                              "ms, and %g standard errors are %.3f ms",
                              whose, sum.units, sum.bubbles, sum.overrun_ns / 1e6,
                              sum.promised_ns / 1e6, kPromiseErrors,
                              kPromiseErrors * sum.error_ns / 1e6));
    }
  }

  // A unit of a device, as others must respect it.
  struct Turn {
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    int64_t owed_until_ns = 0;  // agentd freezes its task no earlier
    size_t task = 0;            // index into Trace::tasks
    size_t unit = 0;
    friend auto operator<=>(const Turn&, const Turn&) = default;
  };

  void CheckTurns() {
    std::map<std::pair<size_t, std::string>, std::vector<Turn>> devices;
    for (size_t t = 0; t < trace_.tasks.size(); ++t) {
      const TaskTrace& task = trace_.tasks[t];
      for (size_t i = 0; i < task.units.size(); ++i) {
        devices[{task.start, task.device}].push_back(TurnOf(t, i));
      }
    }
    for (auto& [device, turns] : devices) {
      std::sort(turns.begin(), turns.end());
      CheckTurnsOf(turns);
    }
  }

  Turn TurnOf(size_t t, size_t i) const {
    const UnitTrace& unit = trace_.tasks[t].units[i];
    const size_t bubble = ledger_.BubbleOf(unit);
    const size_t failure = ledger_.FailureOf(unit);
    int64_t until_ns = unit.bubble_begin_ns;
    if (bubble != kNone) until_ns = trace_.ranks[unit.rank].bubbles[bubble].end_ns;
    if (failure != kNone) until_ns = trace_.ranks[unit.rank].failures[failure].end_ns;
    return {.start_ns = unit.start_ns,
            .end_ns = unit.end_ns,
            .owed_until_ns = until_ns + kOverstayNs,
            .task = t,
            .unit = i};
  }

  // REQUIRES: sorted by start.
  void CheckTurnsOf(const std::vector<Turn>& turns) {
    std::map<size_t, Turn> last_by_task;
    for (const Turn& turn : turns) {
      // Starts grow: what has ended by now overlaps nothing that comes.
      std::erase_if(last_by_task, [&](const auto& entry) {
        return entry.second.end_ns - kTurnSlackNs <= turn.start_ns;
      });
      for (const auto& [t, other] : last_by_task) {
        if (t == turn.task) continue;
        if (turn.start_ns <= other.owed_until_ns) {
          ViolateTurn(turn, other);
        } else {
          ++result_.units_of_two_tasks;
        }
        break;
      }
      ++of(Rule::kOneTurn).checked;
      const auto [own, is_new] = last_by_task.try_emplace(turn.task, turn);
      if (!is_new && own->second.end_ns < turn.end_ns) own->second = turn;
    }
  }

  void ViolateTurn(const Turn& turn, const Turn& other) {
    const TaskTrace& owner = trace_.tasks[other.task];
    Violate(Rule::kOneTurn, turn.start_ns,
            absl::StrCat(UnitText(trace_.tasks[turn.task], turn.unit), ": starts ",
                         Ms(other.end_ns - turn.start_ns), " before the end of unit ",
                         other.unit + 1, " of job ", owner.job_id, " attempt ", owner.attempt));
  }

  void AddReasons() {
    const auto malformed = trace_.counts.malformed;
    for (const auto& [key, count] : reasons_) {
      of(key.first).unchecked_reasons.push_back(count == 0 ? key.second
                                                           : absl::StrCat(key.second, ": ", count));
    }
    if (malformed == 0) return;
    for (RuleResult& rule : result_.rules) {
      rule.unchecked_reasons.push_back(absl::StrCat("records that make no sense: ", malformed));
    }
  }

  const Trace& trace_;
  const CheckOptions& options_;
  const UnitLedger ledger_;
  std::map<std::pair<Rule, std::string>, int64_t> reasons_;
  CheckResult result_;
};

}  // namespace

const char* RuleName(Rule rule) {
  switch (rule) {
    case Rule::kUnitInWindow:
      return "unit_in_window";
    case Rule::kUnitBeforeEnd:
      return "unit_before_end";
    case Rule::kNoUnitInHoldOut:
      return "no_unit_in_hold_out";
    case Rule::kFailureUnits:
      return "failure_units";
    case Rule::kOverrunPromise:
      return "overrun_promise";
    case Rule::kUnitsInOrder:
      return "units_in_order";
    case Rule::kOneTurn:
      return "one_turn";
    case Rule::kMemoryBelowCap:
      return "memory_below_cap";
    case Rule::kAttemptEndsOnce:
      return "attempt_ends_once";
    case Rule::kOneLiveAttempt:
      return "one_live_attempt";
    case Rule::kJobEndsOnce:
      return "job_ends_once";
  }
  return "unknown";
}

int64_t CheckResult::violation_count() const {
  int64_t count = 0;
  for (const RuleResult& rule : rules) count += rule.violations;
  return count;
}

CheckResult CheckTrace(const Trace& trace, const CheckOptions& options) {
  return Checker(trace, options).Check();
}

}  // namespace pipefill
