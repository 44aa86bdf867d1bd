#include "cli/top/top_model.h"

#include <algorithm>

#include "cli/words.h"

namespace pipefill {

bool TopAnswers::IsPaused(const std::string& main_job) const {
  return std::any_of(main_jobs.main_jobs().begin(), main_jobs.main_jobs().end(),
                     [&main_job](const v1::MainJobSettings& settings) {
                       return settings.main_job() == main_job && settings.paused();
                     });
}

void DeviceUse::Add(const DeviceUse& other) {
  iteration_ns += other.iteration_ns;
  bubble_ns += other.bubble_ns;
  filled_ns += other.filled_ns;
  overrun_ns += other.overrun_ns;
}

TopModel::Point TopModel::PointOf(const TopAnswers& answers, Instant now) {
  Point point;
  point.at = now;
  for (const v1::Device& device : answers.devices.devices()) {
    if (!device.has_main_rank()) continue;
    DeviceCounters& counters = point.devices[{device.node(), device.name()}];
    counters.pid = device.main_rank().pid();
    counters.iterations = device.main_rank().iterations();
    counters.iteration_ns = device.main_rank().iteration_ns();
    counters.bubble_ns = device.main_rank().bubble_ns();
  }
  for (const v1::BubbleStats& bubble : answers.bubbles.bubbles()) {
    const auto found = point.devices.find({bubble.node(), bubble.device()});
    if (found == point.devices.end()) continue;
    found->second.filled_ns += bubble.filled_ns();
    found->second.overrun_ns += bubble.overrun_ns();
  }
  for (const v1::Job& job : answers.jobs.jobs()) {
    const v1::Attempt* attempt = LastAttempt(job);
    if (attempt == nullptr || !attempt->has_progress()) continue;
    point.jobs[{job.id(), attempt->number()}] = {
        .units = attempt->progress().units(),
        .filled_ns = attempt->progress().unit_cpu_in_bubble_ns()};
  }
  return point;
}

void TopModel::Add(TopAnswers answers, Instant now) {
  points_.push_back(PointOf(answers, now));
  answers_ = std::move(answers);
  while (now - points_.front().at > kHistory) points_.pop_front();
}

std::optional<DeviceUse> TopModel::UseOf(const v1::Device& device) const {
  const DeviceKey key = {device.node(), device.name()};
  const Point& last = points_.back();
  const auto now = last.devices.find(key);
  if (now == last.devices.end()) return std::nullopt;
  const DeviceCounters* base = nullptr;
  for (auto point = points_.rbegin() + 1; point != points_.rend(); ++point) {
    const auto then = point->devices.find(key);
    // Another rank's counters, or the same one's before its agent started anew.
    const bool is_same = then != point->devices.end() && then->second.pid == now->second.pid &&
                         then->second.iteration_ns <= now->second.iteration_ns &&
                         then->second.bubble_ns <= now->second.bubble_ns &&
                         then->second.filled_ns <= now->second.filled_ns &&
                         then->second.overrun_ns <= now->second.overrun_ns;
    if (!is_same) break;
    base = &then->second;
    const bool has_iteration = base->iteration_ns < now->second.iteration_ns;
    if (has_iteration && last.at - point->at >= kWindow) break;
  }
  if (base == nullptr || base->iteration_ns == now->second.iteration_ns) return std::nullopt;
  const auto moved = [](int64_t from, int64_t to) { return static_cast<double>(to - from); };
  return DeviceUse{.iteration_ns = moved(base->iteration_ns, now->second.iteration_ns),
                   .bubble_ns = moved(base->bubble_ns, now->second.bubble_ns),
                   .filled_ns = moved(base->filled_ns, now->second.filled_ns),
                   .overrun_ns = moved(base->overrun_ns, now->second.overrun_ns)};
}

std::optional<JobUse> TopModel::UseOf(const v1::Job& job) const {
  const v1::Attempt* attempt = LastAttempt(job);
  if (attempt == nullptr) return std::nullopt;
  const AttemptKey key = {job.id(), attempt->number()};
  const Point& last = points_.back();
  const auto now = last.jobs.find(key);
  if (now == last.jobs.end()) return std::nullopt;
  const JobCounters* base = nullptr;
  Instant base_at = last.at;
  for (auto point = points_.rbegin() + 1; point != points_.rend(); ++point) {
    const auto then = point->jobs.find(key);
    if (then == point->jobs.end() || then->second.units > now->second.units) break;
    base = &then->second;
    base_at = point->at;
    if (last.at - base_at >= kWindow) break;
  }
  const double seconds = absl::ToDoubleSeconds(last.at - base_at);
  if (base == nullptr || seconds <= 0) return std::nullopt;
  return JobUse{
      .units_per_second = static_cast<double>(now->second.units - base->units) / seconds,
      .filled_share = std::max(0.0, static_cast<double>(now->second.filled_ns - base->filled_ns)) /
                      1e9 / seconds};
}

}  // namespace pipefill
