#include "cli/job_logs.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/job_ref.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr absl::Duration kFollowPeriod = absl::Milliseconds(250);

struct LogsOptions {
  std::string job;
  bool is_following = false;
  bool wants_stderr = false;
  int32_t attempt = 0;  // 0 = the latest, and with -f those after it
  std::string since;    // a duration; "" = from the beginning
  int64_t since_unix_ns = 0;
};

const v1::Attempt* FindAttempt(const v1::Job& job, int32_t number) {
  for (const v1::Attempt& attempt : job.attempts()) {
    if (attempt.number() == number) return &attempt;
  }
  return nullptr;
}

const v1::Attempt* FirstAttemptAfter(const v1::Job& job, int32_t number) {
  for (const v1::Attempt& attempt : job.attempts()) {
    if (attempt.number() > number) return &attempt;
  }
  return nullptr;
}

bool HasStarted(const v1::Attempt& attempt) { return attempt.started_unix_ns() != 0; }

// Number of the latest attempt that wrote or may have written a log; 0 if there is none.
int32_t LastStarted(const v1::Job& job) {
  int32_t number = 0;
  for (const v1::Attempt& attempt : job.attempts()) {
    if (HasStarted(attempt)) number = attempt.number();
  }
  return number;
}

// Prints one log, and keeps the place up to which it has.
class LogPrinter {
 public:
  LogPrinter(const LogsOptions& options, JobId id, CommandContext& context, SchedulerClient& client)
      : options_(options), id_(id), context_(context), client_(client) {}

  absl::StatusOr<ExitCode> PrintOnce() {
    ASSIGN_OR_RETURN(const v1::Job job, client_.GetJob(id_));
    RETURN_IF_ERROR(CheckAttempt(job));
    if (options_.attempt == 0 && LastStarted(job) == 0) {
      TellNotStarted(job);
      return kExitOk;
    }
    attempt_ = options_.attempt > 0 ? options_.attempt : LastStarted(job);
    ASSIGN_OR_RETURN(const bool is_final, PrintToEnd());
    static_cast<void>(is_final);
    TellCut(job);
    return kExitOk;
  }

  absl::StatusOr<ExitCode> Follow() {
    while (true) {
      ASSIGN_OR_RETURN(const v1::Job job, client_.GetJob(id_));
      ASSIGN_OR_RETURN(const bool is_done, FollowOnce(job));
      if (is_done) return kExitOk;
      context_.pause(kFollowPeriod);
    }
  }

 private:
  // What has come up to now, `job` being as it was before. True when nothing more will come.
  absl::StatusOr<bool> FollowOnce(const v1::Job& job) {
    RETURN_IF_ERROR(CheckAttempt(job));
    if (attempt_ == 0 && !job.attempts().empty()) {
      attempt_ = options_.attempt > 0 ? options_.attempt : LastAttempt(job)->number();
    }
    while (attempt_ != 0) {
      const v1::Attempt* attempt = FindAttempt(job, attempt_);
      const bool has_ended = attempt != nullptr && attempt->state() == v1::ATTEMPT_STATE_ENDED;
      absl::StatusOr<bool> is_done = has_ended && !HasStarted(*attempt) ? true : PrintToEnd();
      is_done = is_done.ok() ? *is_done || has_ended : AfterError(is_done.status(), job, has_ended);
      if (!is_done.ok() || !*is_done) return is_done;
      if (options_.attempt > 0) return true;
      const v1::Attempt* next = FirstAttemptAfter(job, attempt_);
      if (next == nullptr) break;
      StartAttempt(*next);
    }
    if (attempt_ == 0 && !IsTerminal(job.state())) TellNotStarted(job);
    if (IsTerminal(job.state())) TellCut(job);
    return IsTerminal(job.state());
  }

  // The log cannot be read now. True if it is given up because another attempt has begun, false if
  // it may still come, else the error.
  absl::StatusOr<bool> AfterError(const absl::Status& status, const v1::Job& job, bool has_ended) {
    if (!absl::IsUnavailable(status) && !absl::IsNotFound(status)) return status;
    if (options_.attempt > 0) {
      if (has_ended) return status;
      return false;
    }
    if (FirstAttemptAfter(job, attempt_) == nullptr) {
      if (IsTerminal(job.state())) return status;
      return false;
    }
    context_.err << "pipefill: the rest of attempt " << attempt_
                 << " cannot be read: " << status.message() << std::endl;
    return true;
  }

  // Up to what there is now; true if nothing more will come.
  absl::StatusOr<bool> PrintToEnd() {
    while (true) {
      v1::ReadContentRequest request;
      request.set_kind(options_.wants_stderr ? v1::CONTENT_KIND_STDERR : v1::CONTENT_KIND_STDOUT);
      request.set_job_id(id_.value());
      request.set_attempt(attempt_);
      request.set_offset(offset_);
      request.set_since_unix_ns(options_.since_unix_ns);
      ASSIGN_OR_RETURN(const v1::ReadContentResponse content, client_.ReadContent(request));
      context_.out << content.data() << std::flush;
      offset_ = content.next_offset();
      if (content.at_end()) return content.final();
    }
  }

  void StartAttempt(const v1::Attempt& attempt) {
    attempt_ = attempt.number();
    offset_ = 0;
    context_.err << "pipefill: --- attempt " << attempt_ << " on "
                 << DeviceName(attempt.node(), attempt.device()) << " ---" << std::endl;
  }

  // What was printed is not all that the attempt has written.
  void TellCut(const v1::Job& job) const {
    const v1::Attempt* attempt = FindAttempt(job, attempt_);
    if (attempt == nullptr || attempt->progress().log_error().empty()) return;
    context_.err << "pipefill: the log of attempt " << attempt_
                 << " ends early: " << OneLine(attempt->progress().log_error()) << std::endl;
  }

  // Whether the attempt that the user named exists.
  absl::Status CheckAttempt(const v1::Job& job) const {
    if (job.has_array()) {
      return absl::InvalidArgumentError(
          absl::StrCat("job ", job.id(), " is an array; name one of its tasks, as ", job.id(), "_",
                       job.spec().array().ranges(0).first()));
    }
    if (options_.attempt <= 0 || FindAttempt(job, options_.attempt) != nullptr) {
      return absl::OkStatus();
    }
    return absl::NotFoundError(absl::StrCat(
        "no such attempt: job=", job.id(), " attempt=", options_.attempt,
        " attempts=", job.attempts_size(), "; see 'pipefill job show ", job.id(), "'"));
  }

  void TellNotStarted(const v1::Job& job) {
    const std::string reason = ShortDetail(job);
    if (reason == told_) return;
    told_ = reason;
    const std::string detail = LongDetail(job);
    context_.err << "pipefill: job " << id_ << " has not started: " << Word(job.state())
                 << (detail.empty() ? "" : ": ") << OneLine(detail) << std::endl;
  }

  const LogsOptions& options_;
  const JobId id_;
  CommandContext& context_;
  SchedulerClient& client_;
  int32_t attempt_ = 0;  // 0 = none has begun
  int64_t offset_ = 0;
  std::optional<std::string> told_;
};

absl::StatusOr<ExitCode> RunLogs(LogsOptions options, CommandContext& context) {
  if (!options.since.empty()) {
    const absl::StatusOr<absl::Duration> ago = ParsePositiveDuration(options.since);
    if (!ago.ok()) return WithContext(ago.status(), "--since");
    options.since_unix_ns = absl::ToUnixNanos(context.clock.WallNow() - *ago);
  }
  ASSIGN_OR_RETURN(const JobRef ref, ParseJobRef(options.job));
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const JobId id, ResolveJob(*client, ref));
  LogPrinter printer(options, id, context, *client);
  return options.is_following ? printer.Follow() : printer.PrintOnce();
}

}  // namespace

void AddLogsCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<LogsOptions>();
  CLI::App* command = parent.add_subcommand("logs", "Print what a job has written");
  AddJobArgument(*command, &options->job);
  command->add_flag("-f,--follow", options->is_following, "Go on until the job is over");
  command->add_flag("--stderr", options->wants_stderr, "Its error output instead of its output");
  AddNumberOption(*command, {"--attempt", "Which attempt; default: the latest"}, &options->attempt);
  command->add_option("--since", options->since, "Only what is that new, as 10m or 30s")
      ->type_name("TIME");
  commands.Add(
      {command, [options](CommandContext& context) { return RunLogs(*options, context); }});
}

}  // namespace pipefill
