#include "scheduler/core/plan_candidates.h"

#include <algorithm>
#include <tuple>

#include "common/plan_stages.h"
#include "planner/feasibility.h"
#include "planner/planner.h"
#include "scheduler/core/explain.h"
#include "scheduler/core/planner_input.h"

namespace pipefill::scheduler {
namespace {

bool IsHeard(const Node& node, absl::Duration heard_within, Instant now) {
  return node.is_connected() && now - node.heard_at <= heard_within;
}

const PendingJob* FindWaiting(const std::vector<PendingJob>& waiting, JobId id) {
  const auto it = std::lower_bound(waiting.begin(), waiting.end(), id,
                                   [](const PendingJob& job, JobId key) { return job.id < key; });
  return it == waiting.end() || it->id != id ? nullptr : &*it;
}

PlanNeighbour NeighbourOf(const Job& job) {
  return {.job = job.id,
          .name = job.spec->name,
          .priority = job.spec->priority,
          .seconds_left = std::nullopt,
          .is_leaving = false};
}

}  // namespace

PlanCandidates::PlanCandidates(const ClusterView& view, const LiveByNode& live,
                               absl::Duration heard_within, Instant now)
    : view_(view), now_(now) {
  const LiveAttempts none;
  const DeviceContext context{
      .main_jobs = *view.main_jobs, .quarantines = *view.quarantines, .now = now};
  absl::btree_map<StageKey, std::vector<size_t>> stages;
  for (const auto& [name, node] : *view.nodes) {
    if (!IsHeard(*node, heard_within, now)) continue;
    const auto attempts = live.find(name);
    for (size_t i = 0; i < node->devices.size(); ++i) {
      const std::optional<MainRank>& rank = node->devices[i].main_rank;
      if (rank.has_value()) stages[{rank->main_job, rank->stage}].push_back(devices_.size());
      devices_.push_back(
          PlannedDevice(*node, i, attempts == live.end() ? none : attempts->second, context));
    }
  }
  for (auto& [key, devices] : stages) stages_.push_back({key, std::move(devices)});
}

DeviceSnapshot* PlanCandidates::Find(const DeviceKey& key) {
  const auto it = std::lower_bound(
      devices_.begin(), devices_.end(), key,
      [](const DeviceSnapshot& device, const DeviceKey& sought) { return device.key < sought; });
  return it == devices_.end() || it->key != key ? nullptr : &*it;
}

void PlanCandidates::Follow(const std::vector<PendingJob>& waiting, const Plan& plan, JobId job) {
  absl::btree_set<JobId> placed;
  for (const Placement& placement : plan.placements) {
    if (placement.job == job) break;
    placed.insert(placement.job);
    DeviceSnapshot* device = Find(placement.device);
    const PendingJob* other = FindWaiting(waiting, placement.job);
    if (device == nullptr || other == nullptr) continue;
    PutOn(*other, device);
    placed_[device->key].push_back(other->id);
  }
  for (const Eviction& eviction : plan.evictions) {
    if (eviction.beneficiary == job) evicted_.insert(eviction.victim);
  }
  for (const PendingJob& other : waiting) {
    if (!HasReservation(other, now_) || placed.contains(other.id)) continue;
    DeviceSnapshot* device = Find(other.reserved->device);
    if (device != nullptr) Hold(other, device);
  }
}

std::vector<PlanCandidate> PlanCandidates::Rank(const Question& question) const {
  std::vector<Outline> outlines;
  for (const Stage& stage : stages_) outlines.push_back(OutlineOf(stage, question));
  const auto is_chosen = [&](const Outline& outline) {
    return devices_[outline.best].key == question.chosen;
  };
  std::stable_sort(outlines.begin(), outlines.end(), [&](const Outline& a, const Outline& b) {
    return std::tuple(is_chosen(a), a.devices_free > 0) >
           std::tuple(is_chosen(b), b.devices_free > 0);
  });
  if (outlines.size() > kPlanStagesMax) outlines.resize(kPlanStagesMax);
  std::vector<PlanCandidate> candidates;
  for (const Outline& outline : outlines) candidates.push_back(LookAt(outline, question));
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const PlanCandidate& a, const PlanCandidate& b) {
                     return std::tuple(a.devices_free > 0, a.forecast.rate.mid) >
                            std::tuple(b.devices_free > 0, b.forecast.rate.mid);
                   });
  return candidates;
}

PlanCandidates::Outline PlanCandidates::OutlineOf(const Stage& stage,
                                                  const Question& question) const {
  Outline outline{.stage = &stage};
  using Rank = std::tuple<bool, bool, bool, Score>;
  std::optional<Rank> best;
  for (const size_t place : stage.devices) {
    const DeviceSnapshot& device = devices_[place];
    const bool is_free = Fits(question.pending, device);
    if (is_free) ++outline.devices_free;
    Rank rank(device.key == question.chosen, is_free, IsOpen(device),
              FullScore(device, question.policy));
    if (best.has_value() && rank <= *best) continue;
    best = std::move(rank);
    outline.best = place;
  }
  return outline;
}

PlanCandidate PlanCandidates::LookAt(const Outline& outline, const Question& question) const {
  const DeviceSnapshot& device = devices_[outline.best];
  PlanCandidate candidate;
  std::tie(candidate.main_job, candidate.stage) = outline.stage->key;
  candidate.devices = outline.stage->devices.size();
  candidate.devices_free = outline.devices_free;
  candidate.device = device.key;
  candidate.forecast = ForecastStart(question.job, *view_.nodes, device.key, StayingOn(device));
  candidate.neighbours = NeighboursOn(device);
  if (outline.devices_free == 0) candidate.text = WhyNot(*outline.stage, question);
  return candidate;
}

size_t PlanCandidates::StayingOn(const DeviceSnapshot& device) const {
  const auto goes = [&](const ResidentTask& task) {
    return task.is_leaving || evicted_.contains(task.job);
  };
  const auto going = std::count_if(device.residents.begin(), device.residents.end(), goes);
  return static_cast<size_t>(std::max<std::ptrdiff_t>(device.resident - going, 0));
}

std::vector<PlanNeighbour> PlanCandidates::NeighboursOn(const DeviceSnapshot& device) const {
  std::vector<PlanNeighbour> neighbours;
  for (const ResidentTask& task : device.residents) {
    if (evicted_.contains(task.job)) continue;
    const Job& job = *view_.jobs.Find(task.job);
    neighbours.push_back(NeighbourOf(job));
    neighbours.back().is_leaving = task.is_leaving;
    const std::optional<JobForecast> forecast = ForecastJob(job, *view_.nodes);
    if (forecast.has_value() && forecast->seconds_left.has_value()) {
      neighbours.back().seconds_left = forecast->seconds_left->mid;
    }
  }
  const auto placed = placed_.find(device.key);
  if (placed == placed_.end()) return neighbours;
  for (const JobId job : placed->second) neighbours.push_back(NeighbourOf(*view_.jobs.Find(job)));
  return neighbours;
}

std::string PlanCandidates::WhyNot(const Stage& stage, const Question& question) const {
  // As if there were no other devices.
  Plan alone;
  for (const size_t place : stage.devices) {
    AddDevice(devices_[place], &alone.numbers);
    NoteMisfit(question.pending, devices_[place], &alone.misfits);
  }
  PendingJob job = question.pending;
  job.reserved = std::nullopt;
  return ExplainReason(ExplainWaiting(job, alone, now_), now_);
}

}  // namespace pipefill::scheduler
