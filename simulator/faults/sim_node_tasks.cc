// SimNode's processes: what goes on without agentd.
#include <signal.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "simulator/faults/sim_node.h"
#include "simulator/faults/sim_node_agent.h"

namespace pipefill::simulator {
namespace {

// After which gates close by themselves, see client/fill.
constexpr absl::Duration kHeartbeatStale = absl::Seconds(1);
constexpr absl::Duration kGateLostMost = absl::Seconds(10);
constexpr absl::Duration kMappedMost = absl::Milliseconds(100);
// Until a task that has no gate tries again.
constexpr absl::Duration kAttachAgain = absl::Seconds(1);

}  // namespace

void SimNode::BeginProcess(const AttemptKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  Task& task = found->second;
  task.is_started = true;
  world_.PostAt(world_.Now() + task.behaviour.news_delay, [this, key] {
    if (is_up()) FeedLater(key, [](TaskMachine& machine) { return machine.OnStarted(); });
  });
  if (!task.behaviour.never_attaches) AttachLater(key, task.behaviour.attach_delay);
  UpdateWork();
}

void SimNode::AttachLater(const AttemptKey& key, absl::Duration after) {
  world_.PostAt(world_.Now() + after, [this, key] { Attach(key); });
}

void SimNode::Attach(const AttemptKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || found->second.is_attached || found->second.is_refused) return;
  // Without agentd there is nobody at the socket, and one that hangs answers late.
  if (is_up()) agent_->loop.Post([this, key] { OnAttachRequest(key); });
  AttachLater(key, kAttachAgain);
}

void SimNode::OnAttachRequest(const AttemptKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || found->second.is_attached) return;
  const auto held = agent_->held.find(key);
  // One that is being stopped, or that this agentd does not know, is refused.
  found->second.is_refused =
      held == agent_->held.end() || held->second.machine.phase() == TaskPhase::kStopping;
  if (found->second.is_refused) return;
  found->second.is_attached = true;
  Feed(key, [](TaskMachine& machine) {
    machine.OnPageGranted();
    return TaskActions();
  });
  // From now on it may work; agentd hears that it has mapped its pages a little later.
  agent_->loop.PostAt(
      agent_->loop.Now() + draw_.Between(absl::ZeroDuration(), kMappedMost),
      [this, key] { Feed(key, [](TaskMachine& machine) { return machine.OnAttached(); }); });
  UpdateWork();
  if (!found->second.behaviour.loses_gate) return;
  world_.PostAt(world_.Now() + draw_.Between(absl::Milliseconds(1), kGateLostMost),
                [this, key] { LoseGate(key); });
}

void SimNode::LoseGate(const AttemptKey& key) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end() || !found->second.is_attached) return;
  SetWorking(found->second, false);
  found->second.is_attached = false;
  if (is_up()) FeedLater(key, [](TaskMachine& machine) { return machine.OnDetached(); });
  AttachLater(key, kAttachAgain);
}

std::optional<AttemptKey> SimNode::DrawTask() {
  if (tasks_.empty()) return std::nullopt;
  const auto place = draw_.Between(0, static_cast<int64_t>(tasks_.size()) - 1);
  return std::next(tasks_.begin(), place)->first;
}

void SimNode::KillTask() {
  const std::optional<AttemptKey> key = DrawTask();
  if (key.has_value()) ExitProcess(*key, {.signal = SIGKILL});
}

void SimNode::HoldTask() {
  const std::optional<AttemptKey> key = DrawTask();
  if (!key.has_value()) return;
  tasks_.at(*key).is_held = true;
  UpdateWork();
}

void SimNode::LeaveLater(const AttemptKey& key, absl::Duration after, const ProcessExit& exit) {
  tasks_.at(key).is_leaving = true;
  UpdateWork();
  world_.PostAt(world_.Now() + after, [this, key, exit] { ExitProcess(key, exit); });
}

void SimNode::ExitProcess(const AttemptKey& key, const ProcessExit& exit) {
  const auto found = tasks_.find(key);
  if (found == tasks_.end()) return;
  SetWorking(found->second, false);
  world_.Cancel(found->second.tail_timer);
  tasks_.erase(found);
  // The keeper's word; the desk may have been told of the end, and forgotten it, already.
  if (const auto record = disk_.find(key); record != disk_.end()) record->second.exit = exit;
  watcher_.OnProcessGone(options_.index, key);
  if (is_up()) FeedLater(key, [exit](TaskMachine& machine) { return machine.OnExited(exit); });
}

bool SimNode::AreGatesOpen() const {
  return world_.Now() - heartbeat_ <= kHeartbeatStale && !is_parked_ &&
         (!is_paused_ || !has_main_job_);
}

bool SimNode::IsAwake(const Task& task) {
  return task.is_started && !task.is_frozen && !task.is_held && !task.is_leaving;
}

bool SimNode::MayWork(const Task& task) const {
  if (!IsAwake(task)) return false;
  // Without a gate it is held by its scheduling class alone.
  if (task.behaviour.never_attaches) return true;
  return task.is_attached && !task.is_asked && AreGatesOpen();
}

void SimNode::UpdateWork() {
  const bool are_open = AreGatesOpen();
  if (are_open != were_gates_open_) watcher_.OnGates(options_.index, are_open);
  were_gates_open_ = are_open;
  for (auto& [key, task] : tasks_) UpdateTask(key, task);
}

void SimNode::UpdateTask(const AttemptKey& key, Task& task) {
  const bool may_work = MayWork(task);
  // A gate lets no unit start; the one that runs comes to its end.
  const bool ends_its_unit = !may_work && task.is_working && IsAwake(task) && task.is_attached;
  if (!ends_its_unit) {
    world_.Cancel(std::exchange(task.tail_timer, 0));
    return SetWorking(task, may_work);
  }
  if (task.tail_timer != 0) return;
  task.tail_timer = world_.PostAt(world_.Now() + task.behaviour.unit_tail, [this, key] {
    Task& tail = tasks_.at(key);
    tail.tail_timer = 0;
    SetWorking(tail, false);
  });
}

void SimNode::SetWorking(Task& task, bool is_working) {
  if (task.is_working == is_working) return;
  task.is_working = is_working;
  const AttemptKey key = task.spec.key;
  if (is_working) {
    task.working_since = world_.Now();
    const ProcessExit exit = {.exit_code = task.behaviour.exit_code};
    task.end_timer =
        world_.PostAt(world_.Now() + task.work_left, [this, key, exit] { ExitProcess(key, exit); });
  } else {
    world_.Cancel(task.end_timer);
    task.work_left -= std::min(task.work_left, world_.Now() - task.working_since);
  }
  if (task.is_attached) watcher_.OnWorking(options_.index, key, is_working);
}

void SimNode::WatchHeartbeat() {
  if (std::exchange(is_heartbeat_watched_, true)) return;
  world_.PostAt(heartbeat_ + kHeartbeatStale + absl::Nanoseconds(1), [this] {
    is_heartbeat_watched_ = false;
    UpdateWork();
    if (world_.Now() - heartbeat_ <= kHeartbeatStale) WatchHeartbeat();
  });
}

}  // namespace pipefill::simulator
