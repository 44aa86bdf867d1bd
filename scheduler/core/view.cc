#include "scheduler/core/view.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status.h"
#include "scheduler/core/job_ties.h"

namespace pipefill::scheduler {
namespace {

// The page that begins with `job`; `next` gives the job behind one, nullptr behind the last.
template <typename Next>
JobPage PageFrom(const Job* job, const JobPageRequest& request, const Next& next) {
  JobPage page;
  for (size_t looks = 0; job != nullptr; job = next(job->id), ++looks) {
    const bool is_taken = job->array_of == request.array && request.filter.Takes(*job);
    if (looks >= request.looks_max || (is_taken && page.jobs.size() == request.limit)) {
      page.next_cursor = job->id;
      break;
    }
    if (is_taken) page.jobs.push_back(job);
  }
  return page;
}

}  // namespace

absl::StatusOr<const Job*> FindJob(const ClusterView& view, JobId id) {
  const Job* job = view.jobs.Find(id);
  if (job != nullptr) return job;
  return JobNotFound(id, view.jobs.last_id());
}

absl::StatusOr<bool> IsOver(const ClusterView& view, JobId id) {
  const std::optional<TaskPlace> task = FindTask(view.jobs, id);
  if (task.has_value()) return task->result() != TaskResult::kNone;
  ASSIGN_OR_RETURN(const Job* job, FindJob(view, id));
  return IsTerminal(job->phase);
}

JobPage ListJobs(const ClusterView& view, const JobPageRequest& request) {
  JobId newest = view.jobs.last_id();
  if (request.array != JobId()) {
    const Job* array = view.jobs.Find(request.array);
    if (array == nullptr || !array->is_array()) return {};
    newest = TaskIdOf(array->id, array->tasks->size() - 1);
  }
  const Job* job = view.jobs.FindAtOrBelow(request.cursor.value() > 0 ? request.cursor : newest);
  return PageFrom(job, request, [&](JobId id) -> const Job* {
    const Job* next = view.jobs.FindAtOrBelow(JobId(id.value() - 1));
    const bool is_behind = next != nullptr && request.array != JobId() && next->id <= request.array;
    return is_behind ? nullptr : next;
  });
}

JobPage ListJobsFromOldest(const ClusterView& view, const JobPageRequest& request) {
  return PageFrom(view.jobs.FindAtOrAbove(request.cursor), request,
                  [&](JobId id) { return view.jobs.FindAtOrAbove(JobId(id.value() + 1)); });
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
