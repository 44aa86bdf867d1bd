#include "scheduler/watch/watch_hub.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace pipefill::scheduler {
namespace {

// Entries of the log that one look takes out.
constexpr size_t kSliceMax = 4'096;
// Passes take at most a fifth of a core, looks for reasons a twentieth.
constexpr int kPassRest = 4;
constexpr int kReasonsRest = 20;
// Watches last long: it is not worth asking more often.
constexpr absl::Duration kRetryAfter = absl::Seconds(2);

}  // namespace

WatchHub::WatchHub(const Dependencies& dependencies, const Limits& limits, const WatchTimes& times)
    : dependencies_(dependencies),
      limits_(limits),
      times_(times),
      log_(static_cast<size_t>(limits.watch_log_max)) {}

void WatchHub::OnPublished() {
  if (!is_active_ || is_pass_due_.exchange(true)) return;
  dependencies_.edge.Post([this] { RunPass(); });
}

absl::StatusOr<WatcherId> WatchHub::Enter(std::shared_ptr<Watcher> watcher,
                                          const std::vector<JobId>& jobs, const std::string& peer) {
  WatcherId id;
  {
    absl::MutexLock lock(&mutex_);
    if (absl::Status room = CheckRoom(peer); !room.ok()) return room;
    id = Add({.watcher = std::move(watcher), .jobs = jobs, .peer = peer});
  }
  Advance();
  return id;
}

absl::StatusOr<WatcherId> WatchHub::EnterWait(std::shared_ptr<Watcher> watcher, JobId job) {
  WatcherId id;
  {
    absl::MutexLock lock(&mutex_);
    if (waits_ >= limits_.waits_max) {
      return LimitError({.name = "waits_max",
                         .max = limits_.waits_max,
                         .what = "calls wait for jobs",
                         .advice = "try again later, or watch many jobs with one call",
                         .retry_after = kRetryAfter});
    }
    id = Add({.watcher = std::move(watcher), .jobs = {job}, .peer = "", .is_wait = true});
  }
  Advance();
  return id;
}

absl::Status WatchHub::CheckRoom(const std::string& peer) const {
  if (Watchers() >= limits_.watchers_max) {
    return LimitError({.name = "watchers_max",
                       .max = limits_.watchers_max,
                       .what = "watches run",
                       .advice = "try again later, or end some",
                       .retry_after = kRetryAfter});
  }
  const auto of_peer = by_peer_.find(peer);
  if (of_peer == by_peer_.end() || of_peer->second < limits_.watchers_per_peer_max) {
    return absl::OkStatus();
  }
  return LimitError({.name = "watchers_per_peer_max",
                     .max = limits_.watchers_per_peer_max,
                     .what = absl::StrCat("watches of ", peer, " run"),
                     .advice = "watch many jobs with one call, or end some",
                     .retry_after = kRetryAfter});
}

int64_t WatchHub::Watchers() const { return static_cast<int64_t>(entries_.size()) - waits_; }

WatcherId WatchHub::Add(Entry entry) {
  const bool was_active = is_active_.exchange(true);
  // After that: a view that is published later is heard of.
  if (!was_active) {
    log_.Restart(dependencies_.board.Latest(), dependencies_.clock.Now());
    dependencies_.edge.Post([this] { RunTick(); });
  }
  const WatcherId id(last_.value() + 1);
  last_ = id;
  for (JobId job : entry.jobs) by_job_.emplace(job, id);
  if (entry.jobs.empty()) of_all_jobs_.insert(id);
  entry.is_wait ? ++waits_ : ++by_peer_[entry.peer];
  entry.is_parked = entry.is_wait;
  entries_.emplace(id, std::move(entry));
  return id;
}

void WatchHub::Leave(WatcherId watcher) {
  absl::MutexLock lock(&mutex_);
  const auto at = entries_.find(watcher);
  if (at == entries_.end()) return;
  const Entry& entry = at->second;
  for (JobId job : entry.jobs) by_job_.erase({job, watcher});
  of_all_jobs_.erase(watcher);
  if (entry.is_wait) {
    --waits_;
  } else if (--by_peer_[entry.peer] == 0) {
    by_peer_.erase(entry.peer);
  }
  entries_.erase(at);
}

std::optional<WatchBatch> WatchHub::Next(WatcherId watcher, size_t jobs_max, WatchReader* reader) {
  while (true) {
    WatchSlice slice;
    {
      absl::MutexLock lock(&mutex_);
      const auto at = entries_.find(watcher);
      if (at == entries_.end()) return std::nullopt;
      Entry& entry = at->second;
      reader->SkipTo(entry.clear_to);
      entry.is_parked = !reader->has_more() && reader->position() == log_.end();
      if (entry.is_parked) return std::nullopt;
      slice = log_.Slice(reader->position(), kSliceMax);
    }
    WatchBatch batch = reader->Read(slice, jobs_max);
    if (batch.is_empty()) continue;
    absl::MutexLock lock(&mutex_);
    if (const auto at = entries_.find(watcher); at != entries_.end()) at->second.was_told = true;
    return batch;
  }
}

SharedView WatchHub::view() {
  absl::MutexLock lock(&mutex_);
  return log_.view();
}

WatchHub::Use WatchHub::use() {
  absl::MutexLock lock(&mutex_);
  return {.watchers = Watchers(), .waits = waits_};
}

void WatchHub::Advance() {
  Woken woken;
  {
    absl::MutexLock lock(&mutex_);
    SharedView latest = dependencies_.board.Latest();
    if (!is_active_ || latest == log_.view()) return;
    woken = TakeWoken(log_.Advance(std::move(latest)));
  }
  for (const auto& watcher : woken) watcher->Wake();
}

WatchHub::Woken WatchHub::TakeWoken(const std::vector<JobId>& changed) {
  Woken woken;
  if (changed.empty()) return woken;
  const uint64_t first = log_.end() - changed.size();
  for (WatcherId id : of_all_jobs_) Unpark(entries_.at(id), first, &woken);
  for (JobId job : changed) {
    auto at = by_job_.lower_bound({job, WatcherId(0)});
    for (; at != by_job_.end() && at->first == job; ++at) {
      Unpark(entries_.at(at->second), first, &woken);
    }
  }
  return woken;
}

void WatchHub::Unpark(Entry& entry, uint64_t clear_to, Woken* woken) {
  if (!entry.is_parked) return;
  entry.is_parked = entry.is_wait;
  entry.clear_to = clear_to;
  woken->push_back(entry.watcher);
}

void WatchHub::RunPass() {
  const Instant start = dependencies_.clock.Now();
  if (start < pass_not_before_) {
    dependencies_.edge.PostAt(pass_not_before_, [this] { RunPass(); });
    return;
  }
  // Before the view is read: a later one posts anew.
  is_pass_due_ = false;
  Advance();
  const Instant end = dependencies_.clock.Now();
  pass_not_before_ = end + std::max(times_.pass_rest, (end - start) * kPassRest);
}

void WatchHub::RunTick() {
  const Instant now = dependencies_.clock.Now();
  Woken woken;
  {
    absl::MutexLock lock(&mutex_);
    if (!entries_.empty()) alone_since_ = std::nullopt;
    if (entries_.empty() && !alone_since_.has_value()) alone_since_ = now;
    if (alone_since_.has_value() && now - *alone_since_ >= times_.keep) {
      is_active_ = false;
      log_.Stop();
      alone_since_ = std::nullopt;
      return;
    }
    if (now >= reasons_not_before_) {
      woken = TakeWoken(log_.AdvanceReasons(now));
      const Instant end = dependencies_.clock.Now();
      reasons_not_before_ = end + std::max(times_.reasons_every, (end - now) * kReasonsRest);
    }
    if (now >= progress_not_before_) {
      Woken more = TakeWoken(log_.AdvanceProgress());
      woken.insert(woken.end(), more.begin(), more.end());
      progress_not_before_ = now + times_.progress_every;
    }
  }
  for (const auto& watcher : woken) watcher->Wake();
  if (now >= quiet_not_before_) {
    quiet_not_before_ = now + times_.quiet_every;
    TellQuiet();
  }
  dependencies_.edge.PostAt(now + times_.reasons_every, [this] { RunTick(); });
}

void WatchHub::TellQuiet() {
  Woken quiet;
  uint64_t position = 0;
  {
    absl::MutexLock lock(&mutex_);
    position = log_.end();
    for (auto& [id, entry] : entries_) {
      if (entry.is_wait) continue;
      if (!std::exchange(entry.was_told, false)) Unpark(entry, position, &quiet);
    }
  }
  for (const auto& watcher : quiet) watcher->OnQuiet(position);
}

}  // namespace pipefill::scheduler
