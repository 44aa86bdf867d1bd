#include "cli/watch.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/words.h"
#include "client/submit/job_watch.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr size_t kNameWidth = 20;

struct WatchOptions {
  std::vector<std::string> jobs;
  bool wants_all = false;
  std::string tenant;
  std::string timeout;
  OutputFormat format = OutputFormat::kTable;
};

std::string ResetText(const v1::WatchReset& reset) {
  switch (reset.cause()) {
    case v1::WATCH_RESET_CAUSE_OTHER_BOOT:
      return "schedulerd was restarted; what changed meanwhile follows";
    case v1::WATCH_RESET_CAUSE_TOO_OLD:
      return absl::StrCat("away for too long: ", reset.dropped(),
                          " changes are not told one by one; what is different now follows");
    case v1::WATCH_RESET_CAUSE_DROPPED:
      return absl::StrCat("read too slowly: ", reset.dropped(),
                          " changes were dropped; what is different now follows");
    default:
      return "";
  }
}

// Where the job stands: what a line says behind its name.
std::string Standing(const v1::Job& job) {
  std::string text = Word(job.state());
  const v1::Attempt* attempt = LastAttempt(job);
  if (job.state() == v1::JOB_STATE_RUNNING && attempt != nullptr) {
    absl::StrAppend(&text, "  attempt ", attempt->number(), " on ",
                    DeviceName(attempt->node(), attempt->device()));
  }
  const std::string detail = ShortDetail(job);
  return detail.empty() ? text : absl::StrCat(text, "  ", OneLine(detail));
}

// Keeps what it has printed of each job, so that a state that is told anew prints the news alone.
class WatchPrinter {
 public:
  WatchPrinter(const WatchOptions& options, const std::set<int64_t>& named, CommandContext& context)
      : options_(options), open_(named), is_named_(!named.empty()), context_(context) {}

  // False when all the jobs that were named are over.
  bool Take(const v1::WatchJobsResponse& response) {
    if (response.has_reset()) PrintReset(response.reset());
    for (const v1::Job& job : response.jobs()) {
      Print(job);
      if (IsTerminal(job.state())) open_.erase(job.id());
    }
    for (const int64_t id : response.gone()) PrintGone(id);
    context_.out.flush();
    return !is_named_ || !open_.empty();
  }

 private:
  void PrintReset(const v1::WatchReset& reset) {
    const std::string text = ResetText(reset);
    if (!text.empty()) context_.err << "pipefill: --- " << text << " ---" << std::endl;
  }

  void Print(const v1::Job& job) {
    const std::string standing = Standing(job);
    std::string& printed = printed_[job.id()];
    const bool is_new = printed != standing;
    printed = standing;
    // Of an ended job nothing more is to come.
    if (IsTerminal(job.state()) && !options_.wants_all && !is_named_) printed_.erase(job.id());
    if (!is_new) return;
    if (options_.format == OutputFormat::kJson) {
      context_.out
          << Json({{"job", JobJson(job)}}).dump(-1, ' ', false, Json::error_handler_t::replace)
          << "\n";
      return;
    }
    context_.out << absl::FormatTime("%H:%M:%S", context_.clock.WallNow(), absl::LocalTimeZone())
                 << "  " << FitTo(JobLabel(job), kIdWidth, Align::kRight) << "  "
                 << FitTo(JobName(job), kNameWidth) << "  " << standing << "\n";
  }

  void PrintGone(int64_t id) {
    printed_.erase(id);
    if (open_.erase(id) == 0) return;
    context_.err << "pipefill: job " << id << " is not known (any more); 'pipefill jobs' lists the "
                 << "known ones" << std::endl;
  }

  static constexpr size_t kIdWidth = 6;

  const WatchOptions& options_;
  std::set<int64_t> open_;  // of those that were named: not over yet
  const bool is_named_;
  CommandContext& context_;
  std::map<int64_t, std::string> printed_;
};

absl::StatusOr<ExitCode> RunWatch(const WatchOptions& options, CommandContext& context) {
  v1::WatchJobsRequest request;
  std::set<int64_t> named;
  for (const std::string& text : options.jobs) {
    ASSIGN_OR_RETURN(const JobId id, ParseJobId(text));
    named.insert(id.value());
  }
  for (int64_t id : named) request.add_job_ids(id);
  request.set_active_only(named.empty() && !options.wants_all);
  request.set_tenant(options.tenant);
  JobWatchOptions watch;
  if (!options.timeout.empty()) {
    const absl::StatusOr<absl::Duration> timeout = ParsePositiveDuration(options.timeout);
    if (!timeout.ok()) return WithContext(timeout.status(), "--timeout");
    watch.timeout = *timeout;
  }
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  WatchPrinter printer(options, named, context);
  const JobWatchDependencies dependencies = {
      .watch_once =
          [&client](const v1::WatchJobsRequest& once, absl::Duration timeout,
                    const SchedulerClient::WatchVisitor& take) {
            return client->WatchJobs(once, timeout, take);
          },
      .clock = context.clock,
      .pause = context.pause,
      .random = context.random,
      .on_away =
          [&context](const absl::Status& status) {
            context.err << "pipefill: --- " << OneLine(status.message()) << "; trying again ---"
                        << std::endl;
          },
  };
  const absl::Status status = WatchJobs(
      dependencies, watch, request,
      [&printer](const v1::WatchJobsResponse& response) { return printer.Take(response); });
  if (absl::IsDeadlineExceeded(status)) return kExitTimedOut;
  if (!status.ok()) return status;
  return kExitOk;
}

}  // namespace

void AddWatchCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* command = parent.add_subcommand("watch", "Print changes of jobs as they happen");
  command->add_option("JOB", options->jobs, "Only these, until all are over; default: active ones")
      ->type_name("");
  command->add_flag("--all", options->wants_all, "Ended ones too");
  command->add_option("--tenant", options->tenant, "Only jobs of this tenant")->type_name("NAME");
  command->add_option("--timeout", options->timeout, "End after, as 5m; default: never")
      ->type_name("TIME");
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  command->footer("With -o json one object a line. Exit code: 0, or 124 at the timeout.");
  commands.Add(
      {command, [options](CommandContext& context) { return RunWatch(*options, context); }});
}

}  // namespace pipefill
