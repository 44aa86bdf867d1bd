#include "scheduler/scheduler_loop.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/log.h"
#include "common/status.h"
#include "scheduler/core/job_forecast.h"
#include "scheduler/core/move.h"
#include "scheduler/journal/record.h"
#include "scheduler/limits.h"
#include "scheduler/log_event.h"

namespace pipefill::scheduler {
namespace {

// After a plan whose making took t, the next one is at least this many t later.
constexpr int kPlanRest = 4;
// Tasks of arrays that become jobs before one plan.
constexpr int64_t kAdmitMax = 10'000;
constexpr absl::Duration kShortestRetryAfter = absl::Milliseconds(50);
constexpr absl::Duration kLongestRetryAfter = absl::Seconds(5);
// Parts of the agents that are kept alive one after the other.
constexpr uint64_t kKeepAliveParts = 16;

absl::Status StaleStream() {
  return absl::AbortedError("this stream is not the agent's current one; dial again");
}

}  // namespace

SchedulerLoop::SchedulerLoop(const LoopDependencies& dependencies, const LoopLimits& limits,
                             ClusterState state, const StoreSummary& store)
    : dependencies_(dependencies),
      limits_(limits),
      state_(std::move(state)),
      inbox_(limits.requests_max),
      compactor_({.loop = dependencies.loop,
                  .clock = dependencies.clock,
                  .journal = dependencies.journal,
                  .snapshots = dependencies.snapshots,
                  .on_fatal = dependencies.on_fatal,
                  .on_written =
                      [this] {
                        if (!is_waiting()) Publish();
                      }},
                 limits.compaction, store),
      planner_(dependencies.policy),
      made_at_{dependencies.clock.Now(), dependencies.clock.WallNow()} {}

void SchedulerLoop::Start() {
  is_plan_stale_ = true;
  compactor_.Start();
  Publish();
  PlanIfDue();
  ArmDeadlineTimer();
  ArmStartTimer();
  keep_alive_due_ = dependencies_.clock.Now();
  RunKeepAlive();
}

absl::Status SchedulerLoop::Post(Message message) {
  const bool is_submission = std::holds_alternative<SubmitRequest>(message) ||
                             std::holds_alternative<SubmitManyRequest>(message);
  if (is_submission && is_stalled_) {
    return absl::ResourceExhaustedError(
        "the disk of the state folder is full; no new job is accepted until there is space");
  }
  switch (inbox_.Push(std::move(message))) {
    case Inbox::Pushed::kFirst:
      dependencies_.loop.Post([this] { RunBatch(); });
      return absl::OkStatus();
    case Inbox::Pushed::kBehind:
      return absl::OkStatus();
    case Inbox::Pushed::kRefused:
      break;
  }
  return LimitError({.name = "requests_max",
                     .max = static_cast<int64_t>(limits_.requests_max),
                     .what = "requests wait",
                     .advice = "try again later",
                     .retry_after = RetryAfter()});
}

absl::Duration SchedulerLoop::RetryAfter() const {
  if (is_stalled_) return kLongestRetryAfter;
  const auto batches = static_cast<int64_t>(inbox_.requests() / limits_.batch_max + 1);
  return std::clamp(absl::Nanoseconds(batch_ns_.load()) * batches, kShortestRetryAfter,
                    kLongestRetryAfter);
}

// --- Messages ---

void SchedulerLoop::RunBatch() {
  if (is_waiting()) return;
  time_ = {dependencies_.clock.Now(), dependencies_.clock.WallNow()};
  for (Message& message : inbox_.Take(limits_.batch_max)) {
    std::visit([this](auto& content) { Handle(std::move(content)); }, message);
  }
  FailLateStarts();
  DropHistory();
  if (!Commit()) return;
  batch_ns_ = (dependencies_.clock.Now() - time_.now) / absl::Nanoseconds(1);
  if (!inbox_.is_empty()) dependencies_.loop.Post([this] { RunBatch(); });
  PlanIfDue();
  ArmDeadlineTimer();
}

void SchedulerLoop::Handle(SubmitRequest request) {
  absl::StatusOr<Submission> result =
      Submit({.key = std::move(request.key), .spec = std::move(request.spec)});
  batch_.answers.push_back(
      [answer = std::move(request.answer), result = std::move(result)] { answer(result); });
}

absl::StatusOr<Submission> SchedulerLoop::Submit(NewJob job) {
  if (!job.key.empty()) {
    ASSIGN_OR_RETURN(const std::optional<JobId> known, state_.FindSubmission(job.key, job.spec));
    if (known.has_value()) return Submission{*known, true};
  }
  RETURN_IF_ERROR(CheckSpace());
  RETURN_IF_ERROR(CheckStart(job.spec));
  const JobId id = state_.next_job_id();
  RETURN_IF_ERROR(Admit(JobSubmitted{id, std::move(job.key), std::move(job.spec)}));
  return Submission{id, false};
}

void SchedulerLoop::Handle(MoveRequest request) {
  absl::Status result = MoveJob(request);
  batch_.answers.push_back(
      [answer = std::move(request.answer), result = std::move(result)] { answer(result); });
}

absl::Status SchedulerLoop::MoveJob(const MoveRequest& request) {
  ASSIGN_OR_RETURN(const DeviceKey to,
                   ChooseMove(state_, {.job = request.job, .to = request.to}, time_.now));
  RETURN_IF_ERROR(Admit(MoveRequested{request.job, to}));
  Order(ActionToMakeWay(state_, request.job));
  return absl::OkStatus();
}

void SchedulerLoop::Handle(WhyRequest request) {
  const absl::StatusOr<const Job*> job = state_.FindJob(request.job);
  std::optional<WaitDetail> detail;
  // The planner may not have been told yet that a job is held.
  if (job.ok() && !(*job)->is_held) {
    detail = DetailWaiting(planner_.planner(), *plan_, request.job, *state_.refusals().Snapshot(),
                           time_.now);
  }
  batch_.answers.push_back(
      [answer = std::move(request.answer), detail = std::move(detail)] { answer(detail); });
}

void SchedulerLoop::Handle(UpdateMainJobRequest request) {
  absl::StatusOr<MainJobSettings> result = Update(request.change);
  batch_.answers.push_back(
      [answer = std::move(request.answer), result = std::move(result)] { answer(result); });
}

absl::StatusOr<MainJobSettings> SchedulerLoop::Update(const MainJobChange& change) {
  const MainJobUpdated updated{state_.main_jobs().Changed(change)};
  RETURN_IF_ERROR(state_.Check(updated, time_.now));
  const bool is_repeated = updated.settings == state_.main_jobs().SettingsOf(change.main_job);
  if (is_repeated) return updated.settings;
  RETURN_IF_ERROR(Admit(updated));
  for (Action& action : ActionsForMainJob(state_, change.main_job)) {
    Order(std::move(action));
  }
  return updated.settings;
}

void SchedulerLoop::Handle(AgentSaid said) {
  const bool is_rare_report =
      std::holds_alternative<AgentReported>(said.message) && has_rare_reports();
  std::visit([&](auto& message) { HandleAgent(said.session, std::move(message)); }, said.message);
  if (said.done) batch_.answers.push_back(std::move(said.done));
  if (!is_rare_report) return;
  // Behind `done`: only then does the report count as heard.
  batch_.answers.push_back([this, session = said.session] {
    const Node* node = state_.nodes().FindBySession(session);
    if (node != nullptr) Send(KeepAgentAlive{node->name});
  });
}

void SchedulerLoop::Handle(StreamEnded ended) {
  if (state_.nodes().FindBySession(ended.session) == nullptr) return;
  Carry({.events = {AgentDisconnected{ended.session}}, .actions = {}});
}

void SchedulerLoop::HandleAgent(SessionId session, AgentRegistered hello) {
  const absl::Status checked = state_.Check(hello, time_.now);
  if (!checked.ok()) {
    spdlog::warn("agent_refused node={} why=\"{}\"", hello.node, checked.message());
    batch_.closings.emplace_back(session, checked);
    return;
  }
  const Node* before = state_.nodes().Find(hello.node);
  if (before != nullptr && before->session.has_value()) {
    batch_.closings.emplace_back(*before->session, StaleStream());
  }
  Carry(ReconcileHello(state_, hello));
}

void SchedulerLoop::HandleAgent(SessionId session, AgentReported report) {
  if (state_.nodes().FindBySession(session) == nullptr) {
    batch_.closings.emplace_back(session, StaleStream());
    return;
  }
  Carry({.events = {std::move(report)}, .actions = {}});
}

void SchedulerLoop::HandleAgent(SessionId session, AttemptStarted started) {
  const Node* node = state_.nodes().FindBySession(session);
  if (node == nullptr) {
    batch_.closings.emplace_back(session, StaleStream());
    return;
  }
  Carry(ReconcileStart(state_, node->name, started));
}

void SchedulerLoop::HandleAgent(SessionId session, AttemptEnded ended) {
  const Node* node = state_.nodes().FindBySession(session);
  if (node == nullptr) {
    batch_.closings.emplace_back(session, StaleStream());
    return;
  }
  Carry(ReconcileEnd(state_, node->name, ended));
}

// --- State ---

absl::Status SchedulerLoop::Admit(const Event& event) {
  RETURN_IF_ERROR(state_.Check(event, time_.now));
  state_.Apply(event, time_);
  if (IsDurable(event)) batch_.records.push_back(EncodeRecord(event, time_.wall));
  LogEvent(event);
  batch_.is_changed = true;
  is_plan_stale_ = true;
  // Whoever waits for an end sees it in the views.
  state_.TakeEnded();
  return absl::OkStatus();
}

void SchedulerLoop::Carry(Decision decision) {
  for (const Event& event : decision.events) CHECK(Admit(event).ok());
  for (Action& action : decision.actions) Order(std::move(action));
}

bool SchedulerLoop::Commit() {
  if (!WriteBatch()) return false;
  FinishBatch();
  compactor_.OnCommitted(state_);
  ArmStartTimer();
  return true;
}

void SchedulerLoop::FinishBatch() {
  const Batch batch = std::exchange(batch_, Batch());
  if (batch.is_changed) Publish();
  for (const auto& [session, status] : batch.closings) dependencies_.agents.Close(session, status);
  for (const auto& [session, action] : batch.actions) {
    if (SessionOf(action) == session) dependencies_.agents.Send(session, action);
  }
  for (const std::function<void()>& answer : batch.answers) answer();
}

std::optional<SessionId> SchedulerLoop::SessionOf(const Action& action) const {
  const Node* node = state_.nodes().Find(NodeOf(action));
  return node == nullptr ? std::nullopt : node->session;
}

void SchedulerLoop::Order(Action action) {
  const std::optional<SessionId> session = SessionOf(action);
  if (session.has_value()) batch_.actions.emplace_back(*session, std::move(action));
}

void SchedulerLoop::Send(const Action& action) {
  const std::optional<SessionId> session = SessionOf(action);
  if (session.has_value()) dependencies_.agents.Send(*session, action);
}

void SchedulerLoop::Publish() {
  auto view = std::make_shared<ClusterView>();
  view->jobs = state_.SnapshotJobs();
  view->nodes = state_.nodes().Snapshot();
  view->plan = plan_;
  view->counts = state_.counts();
  view->tenants = state_.tenants().List(dependencies_.clock.WallNow());
  view->quarantines = state_.refusals().Snapshot();
  view->policy_error = std::string(policy_error_.message());
  view->main_jobs = state_.main_jobs().Snapshot();
  published_store_ = CurrentStore();
  view->store = published_store_;
  dependencies_.board.Publish(std::move(view));
}

// --- Plans and deadlines ---

void SchedulerLoop::PlanIfDue() {
  if (is_waiting() || !is_plan_stale_ || !state_.has_pending()) return;
  if (dependencies_.clock.Now() < plan_not_before_) {
    ArmPlanTimer(plan_not_before_);
    return;
  }
  RunPlan();
}

Plan SchedulerLoop::MakePlan() {
  Plan plan = planner_.MakePlan(&state_, time_);
  const bool has_failed = !plan.error.ok() && policy_error_.ok();
  if (!has_failed || dependencies_.fallback == nullptr) return plan;
  policy_error_ = plan.error;
  batch_.is_changed = true;
  spdlog::error("policy_failed policy={} why=\"{}\"; {} plans until schedulerd is restarted",
                dependencies_.policy.name(), policy_error_.message(),
                dependencies_.fallback->name());
  planner_.SetPolicy(*dependencies_.fallback);
  return planner_.MakePlan(&state_, time_);
}

void SchedulerLoop::RunPlan() {
  const Instant start = dependencies_.clock.Now();
  time_ = {start, dependencies_.clock.WallNow()};
  AdmitTasks();
  // Tasks that become jobs too late are not placed.
  FailLateStarts();
  auto plan = std::make_shared<const Plan>(MakePlan());
  const absl::Duration planning = dependencies_.clock.Now() - start;
  Carry(*plan);
  batch_.is_changed =
      batch_.is_changed || plan->numbers != plan_->numbers || plan->last_job != plan_->last_job;
  plan_ = std::move(plan);
  if (!Commit()) return;
  // What the plan leads to is work that has to be done: it calls for no rest.
  plan_not_before_ = dependencies_.clock.Now() + planning * kPlanRest;
  if (plan_->next_plan.has_value()) ArmPlanTimer(*plan_->next_plan);
  // Placed tasks have made room for others of their array.
  if (!state_.DueTasks(1).empty()) ArmPlanTimer(plan_not_before_);
}

void SchedulerLoop::AdmitTasks() {
  for (const ArrayAdmitted& admitted : state_.DueTasks(kAdmitMax)) CHECK(Admit(admitted).ok());
}

void SchedulerLoop::Carry(const Plan& plan) {
  for (const Eviction& eviction : plan.evictions) {
    const EvictionRequested requested{(*state_.FindJob(eviction.victim))->live_key(),
                                      eviction.beneficiary};
    const absl::Status admitted = Admit(requested);
    if (!admitted.ok()) {
      spdlog::warn("eviction_refused job={} why=\"{}\"", eviction.victim, admitted.message());
      continue;
    }
    Order(ActionToMakeWay(state_, eviction.victim));
  }
  for (const Placement& placement : plan.placements) {
    const AttemptPlaced placed{state_.NextAttempt(placement.job), placement.device,
                               ChooseConfiguration(**state_.FindJob(placement.job),
                                                   state_.nodes().nodes(), placement.device)};
    const absl::Status admitted = Admit(placed);
    if (!admitted.ok()) {
      spdlog::warn("placement_refused job={} why=\"{}\"", placement.job, admitted.message());
      continue;
    }
    Order(ActionForPlacement(state_, placed));
  }
  // What was just done does not call for another plan by itself.
  is_plan_stale_ = false;
}

void SchedulerLoop::ArmPlanTimer(Instant at) {
  if (plan_timer_ != 0 && plan_timer_at_ <= at) return;
  if (plan_timer_ != 0) dependencies_.loop.Cancel(plan_timer_);
  plan_timer_at_ = at;
  plan_timer_ = dependencies_.loop.PostAt(at, [this] {
    plan_timer_ = 0;
    if (is_waiting()) return;
    is_plan_stale_ = true;
    PlanIfDue();
  });
}

void SchedulerLoop::RunKeepAlive() {
  if (is_halted_) return;
  const Instant now = dependencies_.clock.Now();
  // While the loop is stalled it hears nobody, and so may keep nobody alive.
  if (!is_stalled_) {
    // Of rare reports each is answered; a word in between would confirm nothing new.
    for (const auto& [name, node] : state_.nodes().nodes()) {
      if (has_rare_reports()) break;
      const bool has_turn =
          node->is_connected() && node->session->value() % kKeepAliveParts == keep_alive_part_;
      if (has_turn && state_.IsHeard(*node, now)) Send(KeepAgentAlive{name});
    }
    if (keep_alive_part_ == 0) RunHousekeeping();
  }
  keep_alive_part_ = (keep_alive_part_ + 1) % kKeepAliveParts;
  // From when it was due: sixteen delays must not add up.
  keep_alive_due_ = std::max(keep_alive_due_ + limits_.keep_alive_period / kKeepAliveParts, now);
  dependencies_.loop.PostAt(keep_alive_due_, [this] { RunKeepAlive(); });
}

void SchedulerLoop::RunDeadlines() {
  if (is_waiting()) return;
  if (dependencies_.clock.Now() < no_deadline_before_) return ArmDeadlineTimer();
  time_ = {dependencies_.clock.Now(), dependencies_.clock.WallNow()};
  for (const std::string& name : state_.SilentNodes(time_.now)) {
    const Node* node = state_.nodes().Find(name);
    if (node->session.has_value()) {
      batch_.closings.emplace_back(
          *node->session, absl::AbortedError("nothing was heard for too long; dial again"));
    }
    Carry(GiveUpNode(state_, name, time_.now));
  }
  Carry(GiveUpOverdue(state_, time_.now));
  if (!Commit()) return;
  PlanIfDue();
  ArmDeadlineTimer();
}

void SchedulerLoop::ArmDeadlineTimer() {
  // A timer that is armed is never too late: what is heard of later has a later deadline.
  if (deadline_timer_ != 0) return;
  const std::optional<Instant> next = state_.NextDeadline(dependencies_.clock.Now());
  if (!next.has_value()) return;
  deadline_timer_ = dependencies_.loop.PostAt(std::max(*next, no_deadline_before_), [this] {
    deadline_timer_ = 0;
    RunDeadlines();
  });
}

}  // namespace pipefill::scheduler
