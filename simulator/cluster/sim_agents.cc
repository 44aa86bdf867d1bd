#include "simulator/cluster/sim_agents.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/version.h"
#include "planner/alone_rate.h"
#include "scheduler/core/event.h"

namespace pipefill::simulator {

using scheduler::SessionId;

namespace {

std::string LaneName(const DeviceKey& key) { return absl::StrCat(key.node, "/", key.name); }

std::vector<Lane> EmptyLanes(const LearnedTraining& training) {
  const size_t stages = training.stages.size();
  const size_t count = std::min(stages, kLanesMax);
  std::vector<Lane> lanes;
  for (size_t i = 0; i < count; ++i) {
    const int node = static_cast<int>(i * stages / count);  // of the first replica
    const DeviceKey key = DevicesOfNode(training, node).front().key;
    lanes.push_back({.device = LaneName(key), .stage = node, .spans = {}});
  }
  return lanes;
}

}  // namespace

SimAgents::SimAgents(Loop& loop, const LearnedTraining& training,
                     const std::vector<JobClass>& classes, const Options& options)
    : loop_(loop),
      training_(training),
      options_(options),
      lanes_(EmptyLanes(training), loop.Now()) {
  for (const JobClass& job_class : classes) classes_.emplace(job_class.name, &job_class);
  worst_overrun_.resize(training.stages.size());
}

void SimAgents::Start(Say say) {
  say_ = std::move(say);
  const int nodes = training_.run.nodes();
  for (int node = 0; node < nodes; ++node) {
    scheduler::AgentRegistered hello;
    hello.session = SessionId(static_cast<uint64_t>(node) + 1);
    hello.node = NodeName(training_, node);
    hello.boot_id = "sim";
    hello.version = kVersion;
    hello.devices = DevicesOfNode(training_, node);
    say_(scheduler::AgentSaid{hello.session, hello, nullptr});
    Report(node);
  }
}

void SimAgents::Report(int node) {
  scheduler::AgentReported report;
  report.session = SessionId(static_cast<uint64_t>(node) + 1);
  report.devices = DevicesOfNode(training_, node);
  report.bubbles = BubblesOfNode(training_, node);
  const SessionId session = report.session;
  say_(scheduler::AgentSaid{session, std::move(report), nullptr});
  loop_.PostAt(loop_.Now() + options_.report_every, [this, node] { Report(node); });
}

void SimAgents::Send(SessionId session, const scheduler::Action& action) {
  ++actions_;
  std::visit(scheduler::Overloaded{
                 [&](const scheduler::LaunchAttempt& launch) { Launch(NodeOf(session), launch); },
                 [&](const scheduler::StopAttempt& stop) { Stop(stop); },
                 [](const scheduler::WelcomeAgent&) {}, [](const scheduler::KeepAgentAlive&) {},
                 [](const scheduler::AcknowledgeEnd&) {}, [](const scheduler::SetMainJob&) {}},
             action);
}

void SimAgents::Close(SessionId /*session*/, const absl::Status& /*status*/) {
  CHECK(false);  // agents that never fail are never sent away
}

void SimAgents::Launch(int node, const scheduler::LaunchAttempt& launch) {
  const auto job_class = classes_.find(launch.spec->name);
  CHECK(job_class != classes_.end());
  const FillProfile& profile = job_class->second->profile;
  const Configuration* chosen = launch.configuration.has_value()
                                    ? profile.Find(launch.configuration->name)
                                    : &profile.configurations.front();
  CHECK(chosen != nullptr);
  Running running{
      .key = launch.attempt,
      .node = node,
      .job_class = job_class->second,
      .configuration = chosen,
      .samples_left =
          static_cast<double>(launch.spec->profile.samples_total) - saved_[launch.attempt.job],
      .yield = YieldOf(*chosen, job_class->second->slowness, OfferOfNode(training_, node)),
      .filling_since = loop_.Now() + options_.start_delay};
  const Fence fence = launch.attempt.fence;
  if (running.yield.has_value()) {
    double& worst = worst_overrun_[static_cast<size_t>(node) % worst_overrun_.size()];
    worst = std::max(worst, running.yield->overrun_share);
    // Beyond every horizon, and within what an Instant holds.
    static constexpr double kLongestS = 4e9;
    const double seconds = std::min(running.samples_left / running.yield->samples_per_s, kLongestS);
    running.timer = loop_.PostAt(running.filling_since + absl::Seconds(seconds), [this, fence] {
      End(fence, {.cause = scheduler::EndCause::kExited, .text = "exit code 0"});
    });
  }
  running_.emplace(fence, std::move(running));
  lanes_.Begin(fence, LaneName(launch.device),
               {.job = launch.attempt.job, .job_class = launch.spec->name}, loop_.Now());
  say_(scheduler::AgentSaid{SessionId(static_cast<uint64_t>(node) + 1),
                            scheduler::AttemptStarted{launch.attempt}, nullptr});
}

void SimAgents::Stop(const scheduler::StopAttempt& stop) {
  const auto found = running_.find(stop.attempt.fence);
  if (found == running_.end()) return;
  loop_.Cancel(found->second.timer);
  saved_[stop.attempt.job] += SecondsFilling(found->second) *
                              (found->second.yield ? found->second.yield->samples_per_s : 0);
  End(stop.attempt.fence, {.cause = stop.cause, .text = stop.text});
}

void SimAgents::End(Fence fence, scheduler::AttemptEnd end) {
  const auto found = running_.find(fence);
  CHECK(found != running_.end());
  const Running running = std::move(found->second);
  running_.erase(found);
  lanes_.End(fence, loop_.Now());
  Add(running, ended_);
  scheduler::AttemptEnded ended;
  ended.attempt = running.key;
  if (end.cause == scheduler::EndCause::kExited) saved_.erase(running.key.job);
  ended.end = std::move(end);
  FillTotals own;
  Add(running, own);
  ended.progress.unit_cpu_in_bubble_ns = static_cast<int64_t>((own.filled_s - own.overrun_s) * 1e9);
  say_(scheduler::AgentSaid{SessionId(static_cast<uint64_t>(running.node) + 1), std::move(ended),
                            nullptr});
}

const std::optional<FillYield>& SimAgents::YieldOf(const Configuration& configuration,
                                                   double slowness, const StageOffer& offer) {
  const auto [found, is_new] = yields_.try_emplace(YieldKey(&configuration, slowness, &offer));
  if (is_new) found->second = Fill(configuration, offer, slowness);
  return found->second;
}

double SimAgents::SecondsFilling(const Running& running) const {
  return std::max(0.0, absl::ToDoubleSeconds(loop_.Now() - running.filling_since));
}

void SimAgents::Add(const Running& running, FillTotals& totals) const {
  if (!running.yield.has_value()) return;
  const double seconds = SecondsFilling(running);
  // On a device of its own the job runs as it likes best.
  const Configuration& alone = running.job_class->profile.configurations.front();
  const double alone_s = seconds * running.yield->samples_per_s / AloneRate(alone);
  totals.filled_s += seconds * running.yield->filled_share;
  totals.overrun_s += seconds * running.yield->overrun_share;
  totals.alone_s += alone_s;
  totals.main_s += alone_s * running.job_class->flops_share;
  for (const auto& [bubble_class, share] : running.yield->filled_shares) {
    totals.filled_by_class_s[bubble_class] += seconds * share;
  }
}

FillTotals SimAgents::Totals() const {
  FillTotals totals = ended_;
  for (const auto& [fence, running] : running_) Add(running, totals);
  return totals;
}

double SimAgents::SlowdownMax() const {
  return std::accumulate(worst_overrun_.begin(), worst_overrun_.end(), 0.0);
}

}  // namespace pipefill::simulator
