#include "scheduler/core/view.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace pipefill::scheduler {

absl::StatusOr<const Job*> FindJob(const ClusterView& view, JobId id) {
  const Job* job = view.jobs.Find(id);
  if (job != nullptr) return job;
  return JobNotFound(id, view.jobs.last_id());
}

JobPage ListJobs(const ClusterView& view, const JobPageRequest& request) {
  JobPage page;
  JobId newest = view.jobs.last_id();
  if (request.array != JobId()) {
    const Job* array = view.jobs.Find(request.array);
    if (array == nullptr || !array->is_array()) return page;
    newest = TaskIdOf(array->id, array->tasks->size() - 1);
  }
  const Job* job = view.jobs.FindAtOrBelow(request.cursor.value() > 0 ? request.cursor : newest);
  for (; job != nullptr; job = view.jobs.FindAtOrBelow(JobId(job->id.value() - 1))) {
    if (request.array != JobId() && job->id <= request.array) break;
    if (job->array_of != request.array) continue;
    if (request.is_active_only && IsTerminal(job->phase)) continue;
    if (page.jobs.size() == request.limit) {
      page.next_cursor = job->id;
      break;
    }
    page.jobs.push_back(job);
  }
  return page;
}

std::vector<Device> ListDevices(const ClusterView& view) {
  std::vector<Device> devices;
  for (const auto& [name, node] : *view.nodes) {
    if (!node->is_connected()) continue;
    devices.insert(devices.end(), node->devices.begin(), node->devices.end());
  }
  return devices;
}

std::vector<BubbleStats> ListBubbles(const ClusterView& view, const std::string& main_job) {
  std::vector<BubbleStats> bubbles;
  for (const auto& [name, node] : *view.nodes) {
    if (!node->is_connected()) continue;
    for (const BubbleStats& stats : node->bubbles) {
      if (main_job.empty() || stats.main_job == main_job) bubbles.push_back(stats);
    }
  }
  return bubbles;
}

std::vector<MainJobSettings> ListMainJobs(const ClusterView& view) {
  MainJobMap all = *view.main_jobs;
  for (const std::string& name : AttachedMainJobs(*view.nodes)) all[name].main_job = name;
  std::vector<MainJobSettings> main_jobs;
  for (auto& [name, settings] : all) main_jobs.push_back(std::move(settings));
  return main_jobs;
}

std::vector<std::string> ListConnectedNodes(const ClusterView& view) {
  std::vector<std::string> names;
  for (const auto& [name, node] : *view.nodes) {
    if (node->is_connected()) names.push_back(name);
  }
  return names;
}

}  // namespace pipefill::scheduler
