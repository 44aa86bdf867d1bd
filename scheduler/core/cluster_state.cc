#include "scheduler/core/cluster_state.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/status.h"
#include "scheduler/core/job_forecast.h"
#include "scheduler/core/planner_input.h"
#include "scheduler/core/work_left.h"

namespace pipefill::scheduler {
namespace {

const LiveAttempts& NoAttempts() {
  static const auto* const kNone = new LiveAttempts;
  return *kNone;
}

int32_t ResidentOn(const std::vector<Device>& devices, const DeviceKey& key) {
  const auto device = std::find_if(devices.begin(), devices.end(),
                                   [&](const Device& known) { return known.key == key; });
  return device == devices.end() ? 0 : device->resident;
}

bool IsLiveOn(const std::string& node, const Job& job, const AttemptKey& attempt) {
  return HasLiveAttempt(job.phase) && job.live_key() == attempt &&
         job.live_attempt().device.node == node;
}

// `resident`: tasks on its device.
void MoveMarks(const ProgressMark& mark, int32_t resident, Pace* pace) {
  ProgressMark& newer = pace->newer_mark;
  if (resident != pace->mark_resident) newer.at = std::nullopt;
  pace->mark_resident = resident;
  if (newer.at.has_value() && *mark.at - *newer.at < kMarkEvery) return;
  pace->older_mark = newer.at.has_value() ? newer : mark;
  newer = mark;
}

}  // namespace

// --- Reads ---

AttemptKey ClusterState::NextAttempt(JobId job) const {
  const Job* found = jobs_.Find(job);
  CHECK(found != nullptr);
  return {job, AttemptNumber(static_cast<int32_t>(found->attempts.size()) + 1),
          Fence(last_fence_.value() + 1)};
}

absl::StatusOr<const Job*> ClusterState::FindJob(JobId id) const {
  const Job* job = jobs_.Find(id);
  if (job != nullptr) return job;
  return JobNotFound(id, jobs_.last_id());
}

absl::StatusOr<std::optional<JobId>> ClusterState::FindSubmission(const std::string& key,
                                                                  const JobSpec& spec) const {
  auto it = jobs_by_key_.find(key);
  if (it == jobs_by_key_.end()) return std::nullopt;
  if (*jobs_.Find(it->second)->spec == spec) return it->second;
  return absl::AlreadyExistsError(absl::StrCat("key \"", key, "\" was used for job ",
                                               it->second.value(),
                                               " with another spec; use a new key"));
}

JobInput InputForEnd(const Job& job, const AttemptEnded& event) {
  if (event.larger_memory_bytes > job.memory_bytes) return JobInput::kFailedRetry;
  return InputForEnd(event.end.cause, event.end.exit_code, job.failures, job.spec->retries);
}

int64_t ClusterState::LargerAsk(const AttemptEnded& ended) const {
  const Job& job = *jobs_.Find(ended.attempt.job);
  if (ended.end.cause != EndCause::kOutOfMemory || job.has_larger_ask()) return 0;
  int64_t largest_bytes = 0;
  for (const auto& [name, node] : nodes_.nodes()) {
    if (!node->is_connected()) continue;
    for (size_t i = 0; i < node->devices.size(); ++i) {
      // Once the tasks that are there now have ended.
      const DeviceSnapshot device = scheduler::SnapshotDevice(*node, i, NoAttempts());
      if (device.main_job != MainJobUse::kFilled) continue;
      largest_bytes = std::max(largest_bytes, device.memory_free_bytes);
    }
  }
  const int64_t ask_bytes = std::min(2 * job.memory_bytes, largest_bytes);
  return ask_bytes >= job.memory_bytes + job.memory_bytes / 4 ? ask_bytes : 0;
}

const LiveAttempts& ClusterState::LiveAttemptsOf(const std::string& node) const {
  auto it = live_by_node_.find(node);
  return it == live_by_node_.end() ? NoAttempts() : it->second;
}

JobCounts ClusterState::counts() const {
  const auto ended = static_cast<int64_t>(ended_.size());
  const auto arrays = static_cast<int64_t>(ties_.open_arrays.size());
  return {.pending = waiting_.size(),
          .held = waiting_.held(),
          .running = jobs_.size() - waiting_.size() - ended - arrays,
          .ended = ended,
          .arrays = arrays};
}

ClusterSnapshot ClusterState::Snapshot(const EventTime& time) const {
  ClusterSnapshot snapshot;
  snapshot.now = time.now;
  for (const auto& [name, node] : nodes_.nodes()) {
    for (DeviceSnapshot& device : SnapshotNode(name, time.now)) {
      snapshot.devices.push_back(std::move(device));
    }
  }
  snapshot.pending.reserve(waiting_.open().size());
  for (JobId id : waiting_.open()) {
    std::optional<PendingJob> pending = SnapshotPending(id, time);
    if (pending.has_value()) snapshot.pending.push_back(*std::move(pending));
  }
  snapshot.tenants = tenants_.Snapshot(time.wall);
  return snapshot;
}

std::vector<DeviceSnapshot> ClusterState::SnapshotNode(const std::string& name, Instant now) const {
  std::vector<DeviceSnapshot> devices;
  const Node* node = nodes_.Find(name);
  if (node == nullptr || !IsHeard(*node, now)) return devices;
  for (size_t i = 0; i < node->devices.size(); ++i) devices.push_back(SnapshotOf(*node, i, now));
  return devices;
}

std::optional<DeviceSnapshot> ClusterState::SnapshotDevice(const DeviceKey& key,
                                                           Instant now) const {
  const Node* node = nodes_.Find(key.node);
  if (node == nullptr || !IsHeard(*node, now)) return std::nullopt;
  const std::optional<size_t> device = node->IndexOf(key.name);
  if (!device.has_value()) return std::nullopt;
  return SnapshotOf(*node, *device, now);
}

std::optional<PendingJob> ClusterState::SnapshotPending(JobId id, const EventTime& time) const {
  if (!waiting_.open().contains(id)) return std::nullopt;
  const Job& job = *jobs_.Find(id);
  if (!IsInLine(jobs(), job)) return std::nullopt;
  return PlannedJob(job, time);
}

DeviceSnapshot ClusterState::SnapshotOf(const Node& node, size_t device, Instant now) const {
  return PlannedDevice(
      node, device, LiveAttemptsOf(node.name),
      {.main_jobs = *main_jobs_.Snapshot(), .quarantines = *refusals_.Snapshot(), .now = now});
}

std::optional<Instant> ClusterState::NextDeadline(Instant now) const {
  std::optional<Instant> next;
  for (const auto& [name, node] : nodes_.nodes()) {
    Instant deadline = node->heard_at + limits_.agent_lost_after;
    for (const auto& [fence, until] : node->unaccounted) {
      deadline = std::min(deadline, now < until ? until : until + limits_.agent_lost_after);
    }
    if (!next.has_value() || deadline < *next) next = deadline;
  }
  return next;
}

bool ClusterState::IsHeard(const Node& node, Instant now) const {
  return node.is_connected() && now <= HeardUntil(node);
}

std::vector<std::string> ClusterState::SilentNodes(Instant now) const {
  std::vector<std::string> names;
  for (const auto& [name, node] : nodes_.nodes()) {
    // Reckoned as NextDeadline does: of a duration that is no whole number of nanoseconds the
    // difference would never be reached at that deadline.
    if (now >= node->heard_at + limits_.agent_lost_after) names.push_back(name);
  }
  return names;
}

std::vector<std::pair<AttemptKey, Instant>> ClusterState::LateAttempts(Instant now) const {
  std::vector<std::pair<AttemptKey, Instant>> late;
  for (const auto& [name, node] : nodes_.nodes()) {
    const LiveAttempts& live = LiveAttemptsOf(name);
    for (const auto& [fence, until] : node->unaccounted) {
      if (now < until) continue;
      const LiveAttempt* attempt = live.Find(fence);
      if (attempt != nullptr) late.emplace_back(attempt->key, until);
    }
  }
  return late;
}

std::vector<AttemptKey> ClusterState::OverdueAttempts(Instant now) const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, until] : LateAttempts(now)) {
    if (now >= until + limits_.agent_lost_after) keys.push_back(key);
  }
  return keys;
}

std::vector<AttemptKey> ClusterState::AttemptsToAsk(Instant now) const {
  std::vector<AttemptKey> keys;
  for (const auto& [key, until] : LateAttempts(now)) {
    if (now < until + limits_.agent_lost_after) keys.push_back(key);
  }
  return keys;
}

// --- Apply ---

void ClusterState::Apply(const Event& event, const EventTime& time) {
  std::visit([&](const auto& happened) { ApplyEvent(happened, time); }, event);
  Settle(time);
}

void ClusterState::FinishReplay(Instant now) {
  // Those of the journal are of any age.
  refusals_.ClearAll();
  TakeEnded();
  for (const auto& [node, live] : live_by_node_) {
    if (!live.empty()) nodes_.Expect(node, now);
  }
}

void ClusterState::Move(Job& job, JobInput input, const EventTime& time) {
  const std::optional<JobPhase> next = NextPhase(job.phase, input);
  CHECK(next.has_value());
  changes_.jobs.insert(job.id);
  if (job.phase == JobPhase::kPending) {
    waiting_.Remove(job);
    tenants_.AddPending(job.spec->tenant, -1);
    if (job.is_task()) AddWaiting(job.array_of, -1);
  }
  job.phase = *next;
  if (job.phase == JobPhase::kPending) {
    waiting_.Add(job);
    tenants_.AddPending(job.spec->tenant, 1);
    if (job.is_task()) AddWaiting(job.array_of, 1);
  }
  if (!IsTerminal(job.phase) || job.ended_at.has_value()) return;
  job.ended_at = time.wall;
  ended_.emplace(time.wall, job.id);
  ties_.ended_now.push_back(job.id);
}

void ClusterState::TakeUpProfile(Job& job) const {
  job.profile = profiles_.ProfileFor(*job.spec);
  job.needs = NeedsOf(job.profile);
}

void ClusterState::ApplyEvent(const JobSubmitted& event, const EventTime& time) {
  CHECK(event.job == next_job_id());
  Job job;
  job.id = event.job;
  job.key = event.key;
  job.spec = std::make_shared<const JobSpec>(event.spec);
  job.memory_bytes = event.spec.memory_bytes;
  job.is_held = event.spec.is_held;
  job.submitted_at = time.wall;
  TakeUpProfile(job);
  if (!job.spec->profile.configurations.empty()) profiles_.OnGiven(job);
  if (!job.spec->array.has_value()) waiting_.Add(job);
  jobs_.Add(std::move(job));
  tenants_.AddPending(event.spec.tenant, 1);
  changes_.jobs.insert(event.job);
  if (!event.key.empty()) jobs_by_key_[event.key] = event.job;
  Tie(event.job, time);
}

void ClusterState::ApplyEvent(const EvictionRequested& event, const EventTime& time) {
  Job& victim = jobs_.Edit(event.victim.job);
  victim.attempts.back().evicted_for = event.beneficiary;
  Leave(victim);
  const DeviceKey device = victim.live_attempt().device;
  jobs_.Edit(event.beneficiary).reserved = {device, time.now + limits_.eviction_hold};
  changes_.jobs.insert(event.beneficiary);
}

LiveAttempt& ClusterState::LiveEntryOf(const Job& job) {
  const Attempt& attempt = job.live_attempt();
  return live_by_node_.at(attempt.device.node).At(attempt.device.name, attempt.fence);
}

void ClusterState::Leave(const Job& job) {
  LiveEntryOf(job).is_leaving = true;
  changes_.devices.insert(job.live_attempt().device);
}

void ClusterState::ApplyEvent(const AttemptPlaced& event, const EventTime& time) {
  Job& job = jobs_.Edit(event.attempt.job);
  job.not_before = std::nullopt;
  job.move_to = std::nullopt;
  job.reserved = std::nullopt;
  Attempt& attempt = job.attempts.emplace_back();
  attempt.number = event.attempt.attempt;
  attempt.fence = event.attempt.fence;
  attempt.device = event.device;
  attempt.configuration = event.configuration;
  attempt.placed_at = time.wall;
  Move(job, JobInput::kPlaced, time);
  last_fence_ = event.attempt.fence;
  live_by_node_[event.device.node].Add(LiveAttemptOf(job, Instant()));
  tenants_.AddResident(job.spec->tenant, 1);
  changes_.devices.insert(event.device);
}

void ClusterState::ApplyEvent(const AttemptStarted& event, const EventTime& time) {
  Job& job = jobs_.Edit(event.attempt.job);
  Attempt& attempt = job.attempts.back();
  attempt.state = AttemptState::kRunning;
  if (!attempt.started_at.has_value()) attempt.started_at = time.wall;
  Move(job, JobInput::kStarted, time);
  LiveAttempt& live = LiveEntryOf(job);
  if (!live.is_started) live.evictable_at = time.now + job.spec->min_runtime;
  live.is_started = true;
  job.refusals = 0;
  refusals_.Clear(attempt.device.node);
  changes_.devices.insert(attempt.device);
  nodes_.Account(attempt.device.node, attempt.fence);
}

void ClusterState::ApplyEvent(const AttemptEnded& event, const EventTime& time) {
  Job& job = jobs_.Edit(event.attempt.job);
  Attempt& attempt = job.attempts.back();
  attempt.state = AttemptState::kEnded;
  attempt.end = event.end;
  attempt.ended_at = time.wall;
  tenants_.AddLiveUse(job.spec->tenant, -attempt.progress.unit_cpu_in_bubble_ns);
  tenants_.AddUse(job.spec->tenant, event.useful_ns, time.wall);
  tenants_.AddResident(job.spec->tenant, -1);
  // Of the event alone, for replay has nothing else.
  attempt.progress = event.progress;
  const JobInput input = InputForEnd(job, event);
  if (event.larger_memory_bytes > job.memory_bytes) {
    job.memory_bytes = event.larger_memory_bytes;
    Move(job, input, time);
  } else {
    if (IsOwnFailure(event.end.cause, event.end.exit_code)) ++job.failures;
    Move(job, input, time);
    if (input == JobInput::kFailedRetry && job.phase == JobPhase::kPending) {
      job.not_before = time.now + BackOffAfter(job.failures, limits_.back_off);
    }
  }
  if (job.profile.is_learned || job.profile.profile->configurations.empty()) {
    profiles_.OnLearned(job);
    if (job.phase == JobPhase::kPending) TakeUpProfile(job);
  }
  if (event.end.cause == EndCause::kRefused) {
    const bool is_quarantined = refusals_.Note(attempt.device.node, event.end.text, time.now);
    if (is_quarantined) changes_.nodes.insert(attempt.device.node);
    ++job.refusals;
    if (job.phase == JobPhase::kPending) {
      job.not_before = time.now + BackOffAfter(job.refusals, limits_.back_off);
    }
  }
  changes_.devices.insert(attempt.device);
  nodes_.Account(attempt.device.node, attempt.fence);
  auto live = live_by_node_.find(attempt.device.node);
  live->second.Remove(attempt.device.name, attempt.fence);
  if (live->second.empty()) live_by_node_.erase(live);
}

void ClusterState::ApplyEvent(const MainJobUpdated& event, const EventTime& /*time*/) {
  main_jobs_.Set(event.settings);
  for (const auto& [name, node] : nodes_.nodes()) changes_.nodes.insert(name);
}

void ClusterState::ApplyEvent(const HistoryDropped& event, const EventTime& /*time*/) {
  for (JobId id : event.jobs) {
    // A task leaves with its array.
    if (const Job* job = jobs_.Find(id); job != nullptr) Drop(*job);
  }
}

void ClusterState::ApplyEvent(const AgentRegistered& event, const EventTime& time) {
  changes_.nodes.insert(event.node);
  nodes_.Register(event, LiveAttemptsOf(event.node), limits_.agent_lost_after, time.now);
}

void ClusterState::ApplyEvent(const AgentReported& event, const EventTime& time) {
  const std::string node = nodes_.FindBySession(event.session)->name;
  nodes_.Report(event, LiveAttemptsOf(node), time.now);
  changes_.nodes.insert(node);
  for (const auto& [key, progress] : event.progress) {
    const Job* known = jobs_.Find(key.job);
    if (known == nullptr || !IsLiveOn(node, *known, key)) continue;
    Job& job = jobs_.Edit(key.job);
    Attempt& attempt = job.attempts.back();
    tenants_.AddLiveUse(job.spec->tenant,
                        progress.unit_cpu_in_bubble_ns - attempt.progress.unit_cpu_in_bubble_ns);
    attempt.progress = progress;
    attempt.progress_at = time.now;
    const bool has_settled = attempt.pace.has_value();
    if (!has_settled && progress.units >= kUnitsToSettle) attempt.pace = Pace{.settled = progress};
    const int32_t resident = ResidentOn(event.devices, attempt.device);
    if (attempt.pace.has_value()) MoveMarks({progress, time.now}, resident, &*attempt.pace);
    LiveEntryOf(job).seconds_left = SecondsLeft(job).value_or(0);
  }
}

void ClusterState::ApplyEvent(const AgentDisconnected& event, const EventTime& /*time*/) {
  const Node* node = nodes_.FindBySession(event.session);
  if (node != nullptr) changes_.nodes.insert(node->name);
  nodes_.Disconnect(event.session);
}

void ClusterState::ApplyEvent(const AgentLost& event, const EventTime& /*time*/) {
  nodes_.Remove(event.node);
  changes_.nodes.insert(event.node);
}

}  // namespace pipefill::scheduler
