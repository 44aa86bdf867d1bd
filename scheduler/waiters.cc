#include "scheduler/waiters.h"

#include "absl/strings/str_cat.h"

namespace pipefill::scheduler {

absl::Status Waiters::Add(WaitId wait, JobId job, Answer answer) {
  if (jobs_.size() >= limit_) {
    return absl::ResourceExhaustedError(
        absl::StrCat(limit_, " calls wait for jobs already, which is the limit; poll with GetJob"));
  }
  jobs_[wait] = job;
  answers_[{job, wait}] = std::move(answer);
  return absl::OkStatus();
}

std::vector<Waiters::Answer> Waiters::TakeAll(JobId job) {
  std::vector<Answer> taken;
  auto it = answers_.lower_bound({job, WaitId(0)});
  while (it != answers_.end() && it->first.first == job) {
    jobs_.erase(it->first.second);
    taken.push_back(std::move(it->second));
    it = answers_.erase(it);
  }
  return taken;
}

Waiters::Answer Waiters::Take(WaitId wait) {
  auto job = jobs_.find(wait);
  if (job == jobs_.end()) return nullptr;
  auto answer = answers_.find({job->second, wait});
  Answer taken = std::move(answer->second);
  answers_.erase(answer);
  jobs_.erase(job);
  return taken;
}

}  // namespace pipefill::scheduler
