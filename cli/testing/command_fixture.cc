#include "cli/testing/command_fixture.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "cli/command_line.h"
#include "cli/words.h"
#include "common/check.h"

namespace pipefill {
namespace {

constexpr size_t kContentBytes = 4;  // small, so that reading takes several pieces

absl::Status NoSuchJob(JobId id) {
  return absl::NotFoundError(
      absl::StrCat("no such job: job=", id.value(), "; 'pipefill jobs' lists the known ones"));
}

class FakeClient : public SchedulerClient {
 public:
  using Pass = std::function<void(absl::Duration)>;

  FakeClient(FakeScheduler& scheduler, Pass pass) : scheduler_(scheduler), pass_(std::move(pass)) {}

  absl::StatusOr<v1::SubmitJobResponse> SubmitJob(const v1::SubmitJobRequest& request) override {
    scheduler_.submitted.push_back(request);
    if (!scheduler_.error.ok()) return scheduler_.error;
    return scheduler_.submit_response;
  }

  absl::StatusOr<v1::PlanJobResponse> PlanJob(const v1::PlanJobRequest& request) override {
    scheduler_.planned.push_back(request);
    if (!scheduler_.error.ok()) return scheduler_.error;
    return scheduler_.plan;
  }

  absl::StatusOr<v1::Job> GetJob(JobId id) override {
    if (!scheduler_.error.ok()) return scheduler_.error;
    const auto found = scheduler_.jobs.find(id.value());
    if (found == scheduler_.jobs.end()) return NoSuchJob(id);
    return found->second;
  }

  absl::StatusOr<v1::Job> CancelJob(JobId id) override { return GetJob(id); }

  absl::StatusOr<v1::ControlJobsResponse> ControlJobs(
      const v1::ControlJobsRequest& request) override {
    scheduler_.controlled.push_back(request);
    if (!scheduler_.error.ok()) return scheduler_.error;
    if (!scheduler_.control_responses.empty()) {
      v1::ControlJobsResponse response = std::move(scheduler_.control_responses.front());
      scheduler_.control_responses.pop_front();
      return response;
    }
    v1::ControlJobsResponse response;
    for (const int64_t id : request.job_ids()) {
      v1::JobOutcome& outcome = *response.add_outcomes();
      outcome.set_job_id(id);
      outcome.set_outcome(v1::JOB_OUTCOME_DONE);
      outcome.set_text("done");
    }
    return response;
  }

  absl::StatusOr<v1::Job> MoveJob(const v1::MoveJobRequest& request) override {
    absl::StatusOr<v1::Job> job = GetJob(JobId(request.job_id()));
    if (job.ok()) scheduler_.moved.push_back(request);
    return job;
  }

  absl::StatusOr<v1::Job> WaitJob(JobId id, absl::Duration timeout) override {
    pass_(timeout);
    absl::StatusOr<v1::Job> job = GetJob(id);
    if (job.ok() && !IsTerminal(job->state())) return absl::DeadlineExceededError("not over");
    return job;
  }

  absl::Status WatchJobs(const v1::WatchJobsRequest& request, absl::Duration /*timeout*/,
                         const WatchVisitor& take) override {
    scheduler_.watched.push_back(request);
    if (!scheduler_.error.ok()) return scheduler_.error;
    if (scheduler_.watched.size() > scheduler_.watch_streams.size()) {
      return absl::UnavailableError("no stream");
    }
    for (const auto& message : scheduler_.watch_streams[scheduler_.watched.size() - 1]) {
      if (!take(message)) return absl::OkStatus();
    }
    return absl::UnavailableError("the stream broke");
  }

  absl::StatusOr<v1::ReadContentResponse> ReadContent(
      const v1::ReadContentRequest& request) override {
    scheduler_.log_since_unix_ns = request.since_unix_ns();
    if (!scheduler_.content_error.ok()) return scheduler_.content_error;
    const auto found =
        scheduler_.logs.find({request.kind(), {request.job_id(), request.attempt()}});
    if (found == scheduler_.logs.end()) return absl::NotFoundError("no such log");
    const FakeScheduler::Log& log = found->second;
    const auto offset = static_cast<size_t>(request.offset());
    v1::ReadContentResponse response;
    response.set_data(log.text.substr(offset, kContentBytes));
    response.set_next_offset(request.offset() + static_cast<int64_t>(response.data().size()));
    response.set_at_end(static_cast<size_t>(response.next_offset()) == log.text.size());
    response.set_final(log.is_final);
    response.set_attempt(request.attempt());
    return response;
  }

  absl::StatusOr<v1::ListJobsResponse> ListJobs(const v1::ListJobsRequest& request) override {
    scheduler_.listed = request;
    if (!scheduler_.error.ok()) return scheduler_.error;
    v1::ListJobsResponse response;
    for (auto job = scheduler_.jobs.rbegin(); job != scheduler_.jobs.rend(); ++job) {
      if (request.cursor() != 0 && job->first > request.cursor()) continue;
      if (request.active_only() && IsTerminal(job->second.state())) continue;
      if (job->second.array_id() != request.array_id()) continue;
      if (response.jobs_size() == request.limit()) {
        response.set_next_cursor(job->first);
        break;
      }
      *response.add_jobs() = job->second;
    }
    return response;
  }

  absl::StatusOr<v1::ListDevicesResponse> ListDevices() override {
    if (!scheduler_.error.ok()) return scheduler_.error;
    return scheduler_.devices;
  }

  absl::StatusOr<v1::ListBubblesResponse> ListBubbles(absl::string_view main_job) override {
    if (!scheduler_.error.ok()) return scheduler_.error;
    scheduler_.bubbles_main_job = std::string(main_job);
    return scheduler_.bubbles;
  }

  absl::StatusOr<v1::MainJobSettings> UpdateMainJob(
      const v1::UpdateMainJobRequest& request) override {
    scheduler_.updated.push_back(request);
    if (!scheduler_.error.ok()) return scheduler_.error;
    return scheduler_.main_job_settings;
  }

  absl::Status Backup(const BytesVisitor& take) override {
    for (const std::string& piece : scheduler_.backup) {
      if (absl::Status taken = take(piece); !taken.ok()) return taken;
    }
    return scheduler_.error;
  }

  absl::StatusOr<v1::ListMainJobsResponse> ListMainJobs() override {
    if (!scheduler_.error.ok()) return scheduler_.error;
    return scheduler_.main_jobs;
  }

  absl::StatusOr<v1::GetStatusResponse> GetStatus() override {
    if (!scheduler_.error.ok()) return scheduler_.error;
    return scheduler_.status;
  }

 private:
  FakeScheduler& scheduler_;
  const Pass pass_;
};

}  // namespace

CommandFixture::Result CommandFixture::Run(const std::vector<std::string>& words,
                                           const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const auto connect =
      [this](const std::string& address) -> absl::StatusOr<std::unique_ptr<SchedulerClient>> {
    scheduler.address = address;
    return NewClient();
  };
  CommandContext context = {
      .in = in,
      .out = out,
      .err = err,
      .clock = time,
      .pause = [this](absl::Duration span) { Pass(span); },
      .connect = connect,
      .connect_to_watch = connect,
      .working_folder = ::testing::TempDir(),
      .width = width,
  };
  const ExitCode code = RunCommandLine(words, entries, context);
  return {code, out.str(), err.str()};
}

std::unique_ptr<SchedulerClient> CommandFixture::NewClient() {
  return std::make_unique<FakeClient>(scheduler, [this](absl::Duration span) { Pass(span); });
}

int64_t CommandFixture::UnixNsAgo(absl::Duration ago) const {
  return absl::ToUnixNanos(time.WallNow() - ago);
}

v1::Job& CommandFixture::AddJob(int64_t id, const std::string& name, v1::JobState state) {
  v1::Job& job = scheduler.jobs[id];
  job.set_id(id);
  job.mutable_spec()->set_name(name);
  job.mutable_spec()->add_command("python3");
  job.mutable_spec()->add_command("job.py");
  job.set_state(state);
  job.set_submitted_unix_ns(UnixNsAgo(absl::Seconds(192)));
  if (IsTerminal(state)) job.set_ended_unix_ns(UnixNsAgo(absl::Seconds(60)));
  return job;
}

v1::Attempt& CommandFixture::AddAttempt(v1::Job& job) {
  v1::Attempt& attempt = *job.add_attempts();
  attempt.set_number(job.attempts_size());
  attempt.set_fence(uint64_t{100} + static_cast<uint64_t>(job.attempts_size()));
  attempt.set_node("node1");
  attempt.set_device("cpu0");
  attempt.set_state(v1::ATTEMPT_STATE_RUNNING);
  attempt.set_placed_unix_ns(UnixNsAgo(absl::Seconds(121)));
  attempt.set_started_unix_ns(UnixNsAgo(absl::Seconds(120)));
  return attempt;
}

v1::Job& CommandFixture::AddArray(int64_t id) {
  v1::Job& job = AddJob(id, "sweep", v1::JOB_STATE_RUNNING);
  v1::ArraySpec& array = *job.mutable_spec()->mutable_array();
  array.add_ranges();
  v1::IndexRange* range = array.add_ranges();
  range->set_first(5);
  range->set_last(6);
  array.set_throttle(2);
  v1::ArrayStatus& status = *job.mutable_array();
  status.set_tasks(3);
  status.set_failed(1);
  status.set_running(1);
  status.set_later(1);
  return job;
}

void CommandFixture::EndAttempt(v1::Job& job, v1::EndCause cause, const std::string& text) {
  CHECK(!job.attempts().empty());
  v1::Attempt& attempt = *job.mutable_attempts(job.attempts_size() - 1);
  attempt.set_state(v1::ATTEMPT_STATE_ENDED);
  attempt.set_end_cause(cause);
  attempt.set_end_text(text);
  attempt.set_ended_unix_ns(UnixNsAgo(absl::Seconds(60)));
}

void CommandFixture::Pass(absl::Duration span) {
  CHECK(++waits_ < kWaitsMax);
  time.AdvanceBy(span);
  if (scheduler.on_wait) scheduler.on_wait();
}

}  // namespace pipefill
