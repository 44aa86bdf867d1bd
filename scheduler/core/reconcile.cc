#include "scheduler/core/reconcile.h"

#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/strings/str_cat.h"
#include "common/quantity.h"

namespace pipefill::scheduler {
namespace {

// Puts what the attempt has done last into the event, which alone is durable. REQUIRES: the attempt
// is live.
void KeepProgress(const ClusterState& state, AttemptEnded* ended) {
  if (ended->progress == FillProgress{}) {
    ended->progress = (*state.FindJob(ended->attempt.job))->live_attempt().progress;
  }
  ended->useful_ns = ended->progress.unit_cpu_in_bubble_ns;
}

// REQUIRES: the attempt is live.
AttemptEnded LostEnd(const ClusterState& state, const AttemptKey& attempt, std::string text) {
  AttemptEnded ended;
  ended.attempt = attempt;
  ended.end.cause = EndCause::kLost;
  ended.end.text = std::move(text);
  KeepProgress(state, &ended);
  return ended;
}

// Whether the attempt is live and on that node.
bool IsCurrent(const ClusterState& state, const std::string& node, const AttemptKey& key) {
  const LiveAttempt* live = state.LiveAttemptsOf(node).Find(key.fence);
  return live != nullptr && live->key == key;
}

LaunchAttempt LaunchOf(const Job& job, const DeviceKey& device) {
  const Configuration* chosen = job.profile.profile->Find(job.live_attempt().configuration);
  return {.attempt = job.live_key(),
          .device = device,
          .spec = job.spec,
          .memory_bytes = job.memory_bytes,
          .job_submitted_at = job.submitted_at,
          .configuration = chosen ? std::optional(*chosen) : std::nullopt,
          .array_of = job.array_of,
          .array_index = job.array_index};
}

// The command to make way, if the job's attempt is to: its user wants it elsewhere or waiting
// again, or another job gets its place.
std::optional<StopAttempt> StopToMakeWay(const ClusterState& state, const Job& job) {
  StopAttempt stop{job.live_attempt().device.node, job.live_key(), EndCause::kLost, ""};
  if (job.move_to.has_value()) {
    stop.text =
        absl::StrCat("moved: a user wants it on ", job.move_to->node, "/", job.move_to->name);
    return stop;
  }
  if (job.live_attempt().is_requeued) {
    stop.text = "requeued: a user wants the job to wait again";
    return stop;
  }
  const std::optional<JobId> beneficiary = job.live_attempt().evicted_for;
  if (!beneficiary.has_value()) return std::nullopt;
  // It may have left the history since.
  const absl::StatusOr<const Job*> known = state.FindJob(*beneficiary);
  stop.text =
      absl::StrCat("evicted: job ", beneficiary->value(),
                   known.ok() ? absl::StrCat(" of priority ", (*known)->spec->priority) : "",
                   " needs its place");
  return stop;
}

// The agent does not name a live attempt.
void DecideUnnamed(const ClusterState& state, const LiveAttempt& attempt, bool is_restarted,
                   Decision* decision) {
  if (is_restarted) {
    decision->events.emplace_back(LostEnd(
        state, attempt.key, absl::StrCat("its agent was restarted: node=", attempt.device.node)));
    return;
  }
  const Job& job = **state.FindJob(attempt.key.job);
  if (job.phase == JobPhase::kStarting && !StopToMakeWay(state, job).has_value()) {
    decision->actions.emplace_back(LaunchOf(job, attempt.device));
    return;
  }
  const EndCause cause = job.phase == JobPhase::kStopping ? EndCause::kCancelled : EndCause::kLost;
  decision->actions.emplace_back(StopAttempt{attempt.device.node, attempt.key, cause});
}

// The agent names an attempt; others than current ones have been stopped.
void DecideNamed(const ClusterState& state, const std::string& node, const AttemptKey& key,
                 Decision* decision) {
  if (!IsCurrent(state, node, key)) return;
  const Job& job = **state.FindJob(key.job);
  if (job.live_attempt().state == AttemptState::kStarting) {
    decision->events.emplace_back(AttemptStarted{key});
  }
  if (job.phase == JobPhase::kStopping) {
    decision->actions.emplace_back(StopAttempt{node, key, EndCause::kCancelled});
  } else if (std::optional<StopAttempt> stop = StopToMakeWay(state, job); stop.has_value()) {
    decision->actions.emplace_back(*std::move(stop));
  }
}

// When the job was submitted, if it is over once the attempt has ended so.
std::optional<absl::Time> OverAfter(const Job& job, const AttemptEnded& ended, bool is_current) {
  bool is_over = IsTerminal(job.phase);
  if (is_current) {
    const std::optional<JobPhase> next = NextPhase(job.phase, InputForEnd(job, ended));
    is_over = next.has_value() && IsTerminal(*next);
  }
  return is_over ? std::optional(job.submitted_at) : std::nullopt;
}

// The job is over: nodes on which it ran before need not keep its checkpoints any more. `heard`, if
// not empty, has been told already.
std::vector<Action> ForgetJob(const Job& job, const std::string& heard) {
  std::vector<Action> actions;
  absl::btree_set<std::string> told = {heard};
  for (const Attempt& attempt : job.attempts) {
    if (!told.insert(attempt.device.node).second) continue;
    actions.emplace_back(AcknowledgeEnd{
        attempt.device.node, {job.id, attempt.number, attempt.fence}, job.submitted_at});
  }
  return actions;
}

// What the cancellation of the array leads to, task by task.
std::vector<Action> ActionsForTasks(const ClusterState& state, const Job& array) {
  std::vector<Action> actions;
  for (int64_t place = 0; place < array.tasks->next(); ++place) {
    const absl::StatusOr<const Job*> task = state.FindJob(TaskIdOf(array.id, place));
    if (!task.ok()) continue;
    for (Action& action : ActionsForStop(state, (*task)->id)) {
      actions.push_back(std::move(action));
    }
  }
  return actions;
}

}  // namespace

Decision ReconcileHello(const ClusterState& state, const AgentRegistered& hello) {
  Decision decision;
  const absl::btree_set<AttemptKey> named(hello.live_attempts.begin(), hello.live_attempts.end());
  // Before the Welcome, with which gates may open. What was given up may run elsewhere by now.
  for (const auto& [name, settings] : *state.main_jobs().Snapshot()) {
    decision.actions.emplace_back(SetMainJob{hello.node, settings});
  }
  for (const AttemptKey& key : named) {
    if (IsCurrent(state, hello.node, key)) continue;
    decision.actions.emplace_back(StopAttempt{hello.node, key, EndCause::kLost});
  }
  decision.actions.emplace_back(WelcomeAgent{hello.node});
  const Node* before = state.nodes().Find(hello.node);
  const bool is_restarted =
      before != nullptr && !before->boot_id.empty() && before->boot_id != hello.boot_id;
  for (const LiveAttempt* attempt : state.LiveAttemptsOf(hello.node).InOrder()) {
    if (!named.contains(attempt->key)) DecideUnnamed(state, *attempt, is_restarted, &decision);
  }
  for (const AttemptKey& key : named) DecideNamed(state, hello.node, key, &decision);
  decision.events.emplace_back(hello);
  return decision;
}

Decision ReconcileStart(const ClusterState& state, const std::string& node,
                        const AttemptStarted& started) {
  Decision decision;
  if (!IsCurrent(state, node, started.attempt)) {
    decision.actions.emplace_back(StopAttempt{node, started.attempt, EndCause::kLost});
    return decision;
  }
  const Job& job = **state.FindJob(started.attempt.job);
  if (job.live_attempt().state == AttemptState::kStarting) decision.events.emplace_back(started);
  return decision;
}

Decision ReconcileEnd(const ClusterState& state, const std::string& node,
                      const AttemptEnded& ended) {
  Decision decision;
  const bool is_current = IsCurrent(state, node, ended.attempt);
  AttemptEnded event = ended;
  if (is_current) {
    event.larger_memory_bytes = state.LargerAsk(ended);
    KeepProgress(state, &event);
  }
  const absl::StatusOr<const Job*> job = state.FindJob(ended.attempt.job);
  const std::optional<absl::Time> over =
      job.ok() ? OverAfter(**job, event, is_current) : std::nullopt;
  decision.actions.emplace_back(AcknowledgeEnd{node, ended.attempt, over});
  if (over.has_value() && is_current) {
    for (Action& action : ForgetJob(**job, node)) decision.actions.push_back(std::move(action));
  }
  if (is_current) decision.events.emplace_back(std::move(event));
  return decision;
}

Decision GiveUpNode(const ClusterState& state, const std::string& node, Instant now) {
  Decision decision;
  const absl::Duration silence = now - state.nodes().Find(node)->heard_at;
  const std::string text = absl::StrCat("its agent was lost: node=", node,
                                        " silent=", pipefill::FormatDuration(silence));
  for (const LiveAttempt* attempt : state.LiveAttemptsOf(node).InOrder()) {
    decision.events.emplace_back(LostEnd(state, attempt->key, text));
  }
  decision.events.emplace_back(AgentLost{node});
  return decision;
}

Decision GiveUpOverdue(const ClusterState& state, Instant now) {
  Decision decision;
  const auto stop = [&](const AttemptKey& key) {
    const Job& job = **state.FindJob(key.job);
    const bool is_cancelled = job.phase == JobPhase::kStopping;
    decision.actions.emplace_back(
        StopAttempt{job.live_attempt().device.node, key,
                    is_cancelled ? EndCause::kCancelled : EndCause::kLost});
  };
  for (const AttemptKey& key : state.AttemptsToAsk(now)) stop(key);
  for (const AttemptKey& key : state.OverdueAttempts(now)) {
    const std::string& node = (*state.FindJob(key.job))->live_attempt().device.node;
    decision.events.emplace_back(
        LostEnd(state, key, absl::StrCat("its agent came back without it: node=", node)));
    stop(key);
  }
  return decision;
}

std::vector<Action> ActionsForStop(const ClusterState& state, JobId id) {
  if (!state.FindJob(id).ok()) return {};  // a task that was no job yet
  const Job& job = **state.FindJob(id);
  if (job.is_array()) return ActionsForTasks(state, job);
  // It was waiting for another attempt.
  if (IsTerminal(job.phase)) return ForgetJob(job, "");
  if (!HasLiveAttempt(job.phase)) return {};
  if (job.phase == JobPhase::kStopping) {
    return {StopAttempt{job.live_attempt().device.node, job.live_key(), EndCause::kCancelled}};
  }
  const std::optional<StopAttempt> stop = StopToMakeWay(state, job);
  if (!stop.has_value()) return {};
  return {*stop};
}

Action ActionToMakeWay(const ClusterState& state, JobId id) {
  return *StopToMakeWay(state, **state.FindJob(id));
}

std::vector<Action> ActionsForMainJob(const ClusterState& state, const std::string& main_job) {
  std::vector<Action> actions;
  const MainJobSettings settings = state.main_jobs().SettingsOf(main_job);
  for (const auto& [name, node] : state.nodes().nodes()) {
    if (node->is_connected()) actions.emplace_back(SetMainJob{name, settings});
  }
  return actions;
}

Action ActionForPlacement(const ClusterState& state, const AttemptPlaced& placed) {
  const Job& job = **state.FindJob(placed.attempt.job);
  return LaunchOf(job, placed.device);
}

}  // namespace pipefill::scheduler
