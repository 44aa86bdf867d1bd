#include "simulator/faults/sim_users.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "simulator/faults/sim_node.h"

namespace pipefill::simulator {
namespace {

using scheduler::JobVerb;

constexpr absl::Duration kAskAgain = absl::Seconds(3);
constexpr int64_t kManyMost = 8;
constexpr int64_t kArrayMost = 20;

// Worth asking again: it may be otherwise in a while.
bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

}  // namespace

SimUsers::SimUsers(const Surroundings& surroundings, const Options& options)
    : world_(surroundings.world),
      network_(surroundings.network),
      scheduler_(surroundings.scheduler),
      checker_(surroundings.checker),
      options_(options),
      draw_(options.seed),
      loss_(options.loss) {}

void SimUsers::Start() { WishLater(); }

void SimUsers::Calm() {
  is_calm_ = true;
  loss_ = 0;
}

void SimUsers::WishLater() {
  world_.PostAt(world_.Now() + draw_.Between(absl::ZeroDuration(), options_.pause_most), [this] {
    if (is_calm_) return;
    Wish();
    WishLater();
  });
}

void SimUsers::Wish() {
  const int64_t what = draw_.Between(0, 99);
  if (what < 45) return Submit(NewSubmission());
  if (what < 50) return SubmitMany();
  if (what < 60) return Cancel();
  if (what < 80) return Control();
  if (what < 88) return Move();
  if (what < 93) return SetPaused(draw_.Chance(0.4));
  scheduler_.ReadState([this](const std::string& bytes) { checker_.OnBackup(bytes); });
}

// --- Jobs ---

SimUsers::Submission SimUsers::NewSubmission() {
  return {.key = absl::StrCat("key", ++keys_), .spec = DrawSpec()};
}

scheduler::JobSpec SimUsers::DrawSpec() {
  scheduler::JobSpec spec;
  spec.name = absl::StrCat("job", draw_.Between(0, 5));
  spec.command = {"program", spec.name};
  spec.memory_bytes = draw_.Between(int64_t{1}, options_.job_bytes_max);
  spec.retries = static_cast<int32_t>(draw_.Between(0, 2));
  spec.priority = draw_.Chance(0.2) ? static_cast<int32_t>(draw_.Between(-2, 2)) : 0;
  spec.tenant = draw_.Chance(0.3) ? "research" : "default";
  spec.is_held = draw_.Chance(0.05);
  if (draw_.Chance(0.1)) {
    spec.start_before = world_.WallNow() + draw_.Between(absl::Seconds(1), absl::Minutes(3));
  }
  if (draw_.Chance(0.15)) {
    spec.max_runtime = draw_.Between(absl::Seconds(1), absl::Seconds(30));
  }
  AddTies(&spec);
  return spec;
}

void SimUsers::AddTies(scheduler::JobSpec* spec) {
  if (draw_.Chance(0.08)) {
    scheduler::ArraySpec array;
    array.ranges = {{.first = 0, .last = static_cast<int32_t>(draw_.Between(0, kArrayMost - 1))}};
    array.throttle = static_cast<int32_t>(draw_.Between(0, 4));
    spec->array = array;
  }
  const JobId other = DrawJob();
  if (other == JobId() || !draw_.Chance(0.12)) return;
  spec->dependencies = {
      {.job = other,
       .condition = static_cast<scheduler::DependencyCondition>(draw_.Between(0, 2))}};
}

void SimUsers::Submit(const Submission& submission) {
  ++unanswered_;
  // Asked until it is answered for good; an answer that comes twice counts once.
  const auto is_done = std::make_shared<bool>(false);
  const auto ask = std::make_shared<std::function<void()>>();
  const auto finish = [this, is_done] {
    if (!std::exchange(*is_done, true)) --unanswered_;
  };
  const auto answer = [this, key = submission.key,
                       finish](const absl::StatusOr<scheduler::Submission>& result) {
    if (result.ok()) checker_.OnAcknowledged(key, result->job);
    if (result.ok() || !IsPassing(result.status())) finish();
  };
  // It holds itself while there is a next time.
  *ask = [this, submission, is_done, answer, weak = std::weak_ptr(ask)] {
    if (*is_done) return;
    Ask(scheduler::SubmitRequest{submission.key, submission.spec,
                                 [this, answer](absl::StatusOr<scheduler::Submission> result) {
                                   Answer([answer, result = std::move(result)] { answer(result); });
                                 }});
    const auto self = weak.lock();
    world_.PostAt(world_.Now() + kAskAgain, [self] { (*self)(); });
  };
  (*ask)();
}

void SimUsers::SubmitMany() {
  scheduler::SubmitManyRequest request;
  std::vector<std::string> keys;
  const int64_t count = draw_.Between(int64_t{1}, kManyMost);
  for (int64_t i = 0; i < count; ++i) {
    const Submission submission = NewSubmission();
    keys.push_back(submission.key);
    request.jobs.push_back({submission.key, submission.spec});
  }
  request.answer = [this, keys](absl::StatusOr<std::vector<scheduler::Submission>> result) {
    if (!result.ok()) return;
    Answer([this, keys, jobs = *std::move(result)] {
      for (size_t i = 0; i < keys.size(); ++i) checker_.OnAcknowledged(keys[i], jobs[i].job);
    });
  };
  Ask(std::move(request));
}

// --- Changes of mind ---

JobId SimUsers::DrawJob() {
  const int64_t next = checker_.state().next_job_id().value();
  if (next <= 1) return JobId();
  // Mostly one of the newest.
  const int64_t oldest = draw_.Chance(0.8) ? std::max<int64_t>(1, next - 12) : 1;
  return JobId(draw_.Between(oldest, next - 1));
}

void SimUsers::Cancel() {
  const JobId job = DrawJob();
  Ask(scheduler::CancelRequest{job, [this, job](const absl::Status& status) {
                                 if (!status.ok()) return;
                                 Answer([this, job] { checker_.OnCancelGranted(job); });
                               }});
}

void SimUsers::Control() {
  scheduler::ControlRequest request;
  request.verb = static_cast<JobVerb>(draw_.Between(0, 3));
  const int64_t count = draw_.Between(1, 4);
  for (int64_t i = 0; i < count; ++i) request.jobs.push_back(DrawJob());
  std::sort(request.jobs.begin(), request.jobs.end());
  request.jobs.erase(std::unique(request.jobs.begin(), request.jobs.end()), request.jobs.end());
  request.answer = [this, verb = request.verb](std::vector<scheduler::JobOutcome> outcomes) {
    if (verb != JobVerb::kCancel) return;
    Answer([this, outcomes = std::move(outcomes)] {
      for (const scheduler::JobOutcome& outcome : outcomes) {
        if (outcome.code == scheduler::JobOutcome::Code::kDone) {
          checker_.OnCancelGranted(outcome.job);
        }
      }
    });
  };
  Ask(std::move(request));
}

void SimUsers::Move() {
  scheduler::MoveRequest request;
  request.job = DrawJob();
  request.answer = [](const absl::Status&) {};
  if (draw_.Chance(0.5)) {
    request.to = DeviceKey{SimNode::NameOf(static_cast<int>(draw_.Between(0, 2))), "gpu0"};
  }
  Ask(std::move(request));
}

void SimUsers::SetPaused(bool is_paused) {
  scheduler::UpdateMainJobRequest request;
  request.change.main_job = SimNode::kMainJob;
  request.change.is_paused = is_paused;
  request.answer = [](const absl::StatusOr<scheduler::MainJobSettings>&) {};
  Ask(std::move(request));
}

void SimUsers::SubmitSome(int count) {
  for (int i = 0; i < count; ++i) Submit(NewSubmission());
}

void SimUsers::ReleaseAll() {
  scheduler::ControlRequest request;
  request.verb = JobVerb::kRelease;
  const scheduler::JobTableView& jobs = checker_.state().jobs();
  for (const scheduler::Job* job = jobs.FindAtOrAbove(JobId(1)); job != nullptr;
       job = jobs.FindAtOrAbove(JobId(job->id.value() + 1))) {
    if (job->is_held && !scheduler::IsTerminal(job->phase)) request.jobs.push_back(job->id);
  }
  request.answer = [](const std::vector<scheduler::JobOutcome>&) {};
  if (!request.jobs.empty()) Ask(std::move(request));
}

// --- The way there and back ---

void SimUsers::Ask(scheduler::Message message) {
  if (draw_.Chance(loss_)) return;
  const auto shared = std::make_shared<scheduler::Message>(std::move(message));
  world_.PostAt(world_.Now() + network_.DrawDelay(),
                [this, shared] { scheduler_.Post(std::move(*shared)).IgnoreError(); });
}

void SimUsers::Answer(std::function<void()> body) {
  const bool is_lost = draw_.Chance(loss_) || options_.plant == Plant::kDeafUsers;
  scheduler_.Later([this, is_lost, body = std::move(body)] {
    if (is_lost) return;
    world_.PostAt(world_.Now() + network_.DrawDelay(), body);
  });
}

}  // namespace pipefill::simulator
