#include "cli/job_wait.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/job_ref.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/instant.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct WaitOptions {
  std::vector<std::string> jobs;
  std::string timeout;
  OutputFormat format = OutputFormat::kTable;
};

bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

// Waits for one job, and tells about it on the way.
class JobWaiter {
 public:
  JobWaiter(CommandContext& context, SchedulerClient& client, JobId id, const WaitLimits& limits)
      : context_(context), client_(client), id_(id), limits_(limits) {
    if (limits.timeout.has_value()) deadline_ = context.clock.Now() + *limits.timeout;
  }

  // The job as last seen: terminal, or the time is up.
  absl::StatusOr<v1::Job> Wait() {
    ASSIGN_OR_RETURN(v1::Job job, client_.GetJob(id_));
    last_seen_ = context_.clock.Now();
    while (!IsTerminal(job.state())) {
      TellState(job);
      const absl::Duration slice = NextSlice();
      if (slice <= absl::ZeroDuration()) return job;
      absl::StatusOr<v1::Job> next = Look(slice);
      if (next.ok()) {
        job = *std::move(next);
        last_seen_ = context_.clock.Now();
      } else if (!MayComeBack(next.status())) {
        return next.status();
      }
    }
    return job;
  }

 private:
  absl::Duration NextSlice() const {
    if (!deadline_.has_value()) return limits_.look_every;
    return std::min(limits_.look_every, *deadline_ - context_.clock.Now());
  }

  // The job when it is over, or as it is after `slice`.
  absl::StatusOr<v1::Job> Look(absl::Duration slice) {
    absl::StatusOr<v1::Job> ended = client_.WaitJob(id_, slice);
    if (!absl::IsDeadlineExceeded(ended.status())) return ended;
    return client_.GetJob(id_);
  }

  bool MayComeBack(const absl::Status& status) const {
    return IsAway(status) && context_.clock.Now() - last_seen_ < limits_.away_max;
  }

  void TellState(const v1::Job& job) {
    const std::string state = absl::StrCat(Word(job.state()), " ", ShortDetail(job));
    if (state == told_) return;
    told_ = state;
    const std::string detail = LongDetail(job);
    context_.err << "pipefill: job " << id_ << " is " << Word(job.state())
                 << (detail.empty() ? "" : ": ") << OneLine(detail) << std::endl;
  }

  CommandContext& context_;
  SchedulerClient& client_;
  const JobId id_;
  const WaitLimits limits_;
  std::optional<Instant> deadline_;
  Instant last_seen_;
  std::string told_;
};

std::string EndText(const v1::Job& job) {
  const absl::Duration lived = absl::Nanoseconds(job.ended_unix_ns() - job.submitted_unix_ns());
  std::string text =
      absl::StrCat("job ", job.id(), " ", Word(job.state()), " after ", FormatSpan(lived));
  if (job.state() != v1::JOB_STATE_SUCCEEDED && !job.end_text().empty()) {
    absl::StrAppend(&text, ": ", OneLine(job.end_text()));
  }
  return text;
}

absl::StatusOr<ExitCode> RunWait(const WaitOptions& options, CommandContext& context) {
  std::vector<JobRef> refs;
  for (const std::string& job : options.jobs) {
    ASSIGN_OR_RETURN(const JobRef ref, ParseJobRef(job));
    refs.push_back(ref);
  }
  WaitLimits limits;
  if (!options.timeout.empty()) {
    const absl::StatusOr<absl::Duration> timeout = ParsePositiveDuration(options.timeout);
    if (!timeout.ok()) return WithContext(timeout.status(), "--timeout");
    limits.timeout = *timeout;
  }
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  // One after the other, in one span of time: the last end is the end of all.
  const Instant start = context.clock.Now();
  const std::optional<absl::Duration> timeout = limits.timeout;
  ExitCode first_failure = kExitOk;
  for (const JobRef& ref : refs) {
    ASSIGN_OR_RETURN(const JobId id, ResolveJob(*client, ref));
    if (timeout.has_value()) {
      limits.timeout = std::max(*timeout - (context.clock.Now() - start), absl::ZeroDuration());
    }
    ASSIGN_OR_RETURN(const ExitCode code, WaitForJob(context, *client, id, limits, options.format));
    if (code == kExitTimedOut) return code;
    if (first_failure == kExitOk) first_failure = code;
  }
  return first_failure;
}

}  // namespace

absl::StatusOr<ExitCode> WaitForJob(CommandContext& context, SchedulerClient& client, JobId id,
                                    const WaitLimits& limits, OutputFormat format) {
  ASSIGN_OR_RETURN(const v1::Job job, JobWaiter(context, client, id, limits).Wait());
  if (format == OutputFormat::kJson) context.out << JsonText(JobJson(job));
  if (!IsTerminal(job.state())) {
    context.err << "pipefill: job " << id << " is not over: state=" << Word(job.state())
                << " timeout="
                << pipefill::FormatDuration(limits.timeout.value_or(absl::ZeroDuration()))
                << "; wait longer with --timeout, or stop it with 'pipefill cancel " << id << "'"
                << std::endl;
    return kExitTimedOut;
  }
  if (format == OutputFormat::kTable) context.out << EndText(job) << "\n";
  const ExitCode code = ExitCodeOf(job);
  const v1::Attempt* last = LastAttempt(job);
  if (code == kExitJobFailed && last != nullptr && last->started_unix_ns() != 0) {
    context.err << "pipefill: its last words: 'pipefill logs " << id << " --stderr'" << std::endl;
  }
  return code;
}

void AddWaitCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<WaitOptions>();
  CLI::App* command = parent.add_subcommand("wait", "Wait until jobs are over");
  command->add_option("JOB", options->jobs, "Numbers of the jobs")->required()->type_name("");
  command->add_option("--timeout", options->timeout, "Give up after, as 5m; default: never")
      ->type_name("TIME");
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  command->footer(
      "Exit code: 0 succeeded, 10 failed, 11 cancelled, 12 limit, 13 lost,\n124 not over yet; of "
      "several jobs that of the first named one that did not\nsucceed.");
  commands.Add(
      {command, [options](CommandContext& context) { return RunWait(*options, context); }});
}

}  // namespace pipefill
