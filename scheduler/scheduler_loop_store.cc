// The loop and its store: many jobs at once, full disks, the history, backups.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/check.h"
#include "common/log.h"
#include "common/status.h"
#include "scheduler/scheduler_loop.h"

namespace pipefill::scheduler {
namespace {

// Jobs that leave the history at a time.
constexpr size_t kDropMax = 1'000;

}  // namespace

void SchedulerLoop::Handle(SubmitManyRequest request) {
  auto result = SubmitMany(request.jobs);
  batch_.answers.push_back(
      [answer = std::move(request.answer), result = std::move(result)] { answer(result); });
}

absl::StatusOr<std::vector<Submission>> SchedulerLoop::SubmitMany(std::vector<NewJob>& jobs) {
  RETURN_IF_ERROR(CheckMany(jobs));
  std::vector<Submission> submissions;
  submissions.reserve(jobs.size());
  for (NewJob& job : jobs) {
    const absl::StatusOr<Submission> submission = Submit(std::move(job));
    CHECK(submission.ok());
    submissions.push_back(*submission);
  }
  return submissions;
}

absl::Status SchedulerLoop::CheckMany(const std::vector<NewJob>& jobs) {
  int64_t new_jobs = 0;
  absl::flat_hash_map<std::string, const JobSpec*> keys;
  absl::flat_hash_map<std::string, int64_t> jobs_by_tenant;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const NewJob& job = jobs[i];
    const std::string place = absl::StrCat("job ", i + 1, " of ", jobs.size());
    if (!job.key.empty()) {
      const auto known = state_.FindSubmission(job.key, job.spec);
      if (!known.ok()) return WithContext(known.status(), place);
      if (known->has_value()) continue;
      const auto [same, is_first] = keys.emplace(job.key, &job.spec);
      if (!is_first && *same->second != job.spec) {
        return absl::AlreadyExistsError(absl::StrCat(
            place, ": key \"", job.key, "\" is that of an earlier one with another spec"));
      }
      if (!is_first) continue;
    }
    ++new_jobs;
    absl::Status fits = state_.CheckSpec(job.spec);
    fits.Update(CheckStart(job.spec));
    fits.Update(
        state_.tenants().CheckSubmission(job.spec.tenant, ++jobs_by_tenant[job.spec.tenant]));
    if (!fits.ok()) return WithContext(fits, place);
  }
  // What is there already needs no room.
  if (new_jobs == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CheckSpace());
  return state_.CheckRoomFor(new_jobs);
}

absl::Status SchedulerLoop::CheckSpace() {
  if (dependencies_.space == nullptr) return absl::OkStatus();
  if (!batch_.space.has_value()) batch_.space = dependencies_.space->Check();
  return *batch_.space;
}

void SchedulerLoop::Handle(BackupRequest request) {
  // An answer: then everything that was applied is on disk, and nothing else is.
  batch_.answers.push_back([this, answer = std::move(request.answer)] {
    answer(FrameWriter(
        SnapshotEncoder(state_.Durable(), {.sequence = dependencies_.journal.last_sequence(),
                                           .wall = dependencies_.clock.WallNow()})));
  });
}

bool SchedulerLoop::WriteBatch() {
  if (batch_.records.empty()) return true;
  absl::Status written;
  do {
    written = dependencies_.journal.Append(batch_.records);
  } while (written.code() == absl::StatusCode::kResourceExhausted &&
           dependencies_.space != nullptr && dependencies_.space->GiveUpReserve());
  if (written.ok()) return true;
  if (written.code() != absl::StatusCode::kResourceExhausted) {
    is_halted_ = true;
    dependencies_.on_fatal(written);
    return false;
  }
  if (!is_stalled_.exchange(true)) {
    spdlog::error("journal_stalled why=\"{}\"; nothing is decided or answered until there is space",
                  written.message());
  }
  dependencies_.loop.PostAt(dependencies_.clock.Now() + limits_.full_disk_pause,
                            [this] { RetryBatch(); });
  return false;
}

void SchedulerLoop::RetryBatch() {
  if (is_halted_ || !WriteBatch()) return;
  is_stalled_ = false;
  spdlog::info("journal_goes_on");
  // Nobody is given up before what he said meanwhile has been heard.
  no_deadline_before_ = dependencies_.clock.Now() + limits_.keep_alive_period;
  FinishBatch();
  is_plan_stale_ = true;
  RunBatch();
}

StoreView SchedulerLoop::CurrentStore() const {
  return {.journal_records = compactor_.tail(),
          .snapshot_at = compactor_.snapshot_at(),
          .refusing_text = refusing_text_};
}

void SchedulerLoop::RunHousekeeping() {
  time_ = {dependencies_.clock.Now(), dependencies_.clock.WallNow()};
  FailLateStarts();
  DropHistory();
  const std::string refusing_text(CheckSpace().message());
  if (refusing_text != refusing_text_) {
    if (refusing_text_.empty()) spdlog::error("refusing_jobs why=\"{}\"", refusing_text);
    if (refusing_text.empty()) spdlog::info("accepting_jobs");
    refusing_text_ = refusing_text;
  }
  batch_.is_changed = batch_.is_changed || CurrentStore() != published_store_;
  Commit();
}

void SchedulerLoop::DropHistory() {
  // A wall clock that is set must not make ends look old: forward, those from before; back, those
  // from then on.
  const absl::Time wall = std::min(time_.wall, made_at_.wall + (time_.now - made_at_.now));
  const std::vector<JobId> expired = state_.ExpiredJobs(wall, kDropMax);
  if (!expired.empty()) CHECK(Admit(HistoryDropped{expired}).ok());
}

}  // namespace pipefill::scheduler
