#include "cli/job_show.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/array_text.h"
#include "cli/forecast_text.h"
#include "cli/job_control.h"
#include "cli/job_logs.h"
#include "cli/job_move.h"
#include "cli/job_ref.h"
#include "cli/job_wait.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/why.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

struct ShowOptions {
  std::string job;
  OutputFormat format = OutputFormat::kTable;
};

std::string FormatNs(int64_t ns) { return pipefill::FormatDuration(absl::Nanoseconds(ns)); }

std::string RetriesText(const v1::Job& job) {
  if (job.spec().retries() == 0) return "none";
  return absl::StrCat("up to ", job.spec().retries());
}

std::string ProfileText(const v1::Job& job) {
  const int configurations = job.spec().profile().configurations_size();
  if (configurations == 0) return job.profile_source();
  return absl::StrCat("its own, ", configurations,
                      configurations == 1 ? " configuration" : " configurations");
}

std::string MemoryText(const v1::Job& job) {
  const int64_t asked_bytes = job.spec().memory_bytes();
  if (asked_bytes == 0) return "the scheduler's default";
  if (job.memory_bytes() <= asked_bytes) return FormatBytes(asked_bytes);
  return absl::StrCat(FormatBytes(job.memory_bytes()), ", after an attempt ran out of ",
                      FormatBytes(asked_bytes));
}

// "5; runs for 30 s before it may be evicted".
std::string PriorityText(const v1::Job& job) {
  const v1::JobSpec& spec = job.spec();
  if (spec.not_evictable()) return absl::StrCat(spec.priority(), "; never evicted");
  if (spec.min_runtime_ns() == 0) return absl::StrCat(spec.priority());
  return absl::StrCat(spec.priority(), "; runs for ", FormatNs(spec.min_runtime_ns()),
                      " before it may be evicted");
}

std::string DeadlineText(const v1::Job& job, absl::Time now) {
  const absl::Duration left = absl::FromUnixNanos(job.spec().deadline_unix_ns()) - now;
  if (IsTerminal(job.state())) {
    const bool is_met = job.ended_unix_ns() <= job.spec().deadline_unix_ns();
    return is_met ? "met" : "missed";
  }
  if (left < absl::ZeroDuration()) return absl::StrCat("missed by ", FormatSpan(-left), " so far");
  return absl::StrCat("in ", FormatSpan(left));
}

// "gpu, team=vision".
std::string LabelText(const v1::JobSpec& spec) {
  const std::map<std::string, std::string> labels(spec.labels().begin(), spec.labels().end());
  return absl::StrJoin(labels, ", ", [](std::string* out, const auto& label) {
    absl::StrAppend(out, label.first, label.second.empty() ? "" : "=", label.second);
  });
}

// Until when it must have started, while it has not.
std::string StartText(const v1::Job& job, absl::Time now) {
  const absl::Duration left = absl::FromUnixNanos(job.spec().start_before_unix_ns()) - now;
  const bool has_started =
      std::any_of(job.attempts().begin(), job.attempts().end(),
                  [](const v1::Attempt& attempt) { return attempt.started_unix_ns() != 0; });
  if (has_started) return "met";
  if (IsTerminal(job.state())) return "not started";
  return left < absl::ZeroDuration() ? "now" : absl::StrCat("in ", FormatSpan(left));
}

// Its tasks, or its array, and what it depends on.
void AddTies(const v1::Job& job, Facts* facts) {
  if (job.has_array()) {
    facts->Add("array", FormatArray(job.spec().array()));
    facts->AddProse(
        "tasks",
        absl::StrCat(ArrayProgress(job.array()), ", ", FormatCount(job.array().waiting()),
                     " waiting for a device, ", FormatCount(job.array().later()), " after"));
  }
  if (job.array_id() != 0) {
    facts->Add("array", absl::StrCat("task ", job.array_index(), " of job ", job.array_id(),
                                     ", as job ", job.id()));
  }
  facts->AddProse("depends on", FormatDependencies(job.spec()));
}

std::string JobFacts(const v1::Job& job, absl::Time now) {
  Facts facts;
  facts.Add("state", Word(job.state()));
  if (job.state() == v1::JOB_STATE_PENDING) facts.AddProse("reason", LongDetail(job));
  if (IsTerminal(job.state())) facts.AddProse("end", LongDetail(job));
  if (job.cancel_requested() && !IsTerminal(job.state())) {
    facts.Add("cancel", "requested; the task is being stopped");
  }
  if (job.held() && job.state() == v1::JOB_STATE_RUNNING) {
    facts.Add("held", "yes, once it waits again");
  }
  AddTies(job, &facts);
  facts.Add("submitted", FormatAgo(job.submitted_unix_ns(), now));
  if (job.ended_unix_ns() != 0) facts.Add("ended", FormatAgo(job.ended_unix_ns(), now));
  facts.Add("command", ShellText({job.spec().command().begin(), job.spec().command().end()}));
  const std::map<std::string, std::string> env(job.spec().env().begin(), job.spec().env().end());
  for (const auto& [name, value] : env) facts.Add("env", absl::StrCat(name, "=", value));
  facts.Add("workdir", job.spec().workdir().empty() ? "a folder of its own" : job.spec().workdir());
  facts.Add("memory", MemoryText(job));
  facts.Add("retries", RetriesText(job));
  const std::string profile = ProfileText(job);
  if (!profile.empty()) facts.Add("profile", profile);
  facts.Add("priority", PriorityText(job));
  if (!job.spec().tenant().empty()) facts.Add("tenant", job.spec().tenant());
  if (job.spec().deadline_unix_ns() != 0) {
    facts.Add("deadline", DeadlineText(job, now));
  }
  if (job.spec().max_runtime_ns() != 0) {
    facts.Add("max runtime", FormatNs(job.spec().max_runtime_ns()));
  }
  if (job.spec().start_before_unix_ns() != 0) facts.Add("start before", StartText(job, now));
  if (!job.spec().labels().empty()) facts.AddProse("labels", LabelText(job.spec()));
  if (job.spec().way() == v1::FILL_WAY_PROCESS) {
    facts.Add("way", "process: the whole program runs in bubbles only");
  }
  return facts.Text();
}

std::string AttemptTable(const v1::Job& job, absl::Time now) {
  Table table({{"#", Align::kRight},
               {"DEVICE", Align::kLeft, /*can_shrink=*/true},
               {"STATE"},
               {"PLACED", Align::kRight},
               {"RAN", Align::kRight},
               {"END", Align::kLeft, /*can_shrink=*/true}});
  for (const v1::Attempt& attempt : job.attempts()) {
    const bool has_ended = attempt.state() == v1::ATTEMPT_STATE_ENDED;
    const absl::Time end = has_ended ? absl::FromUnixNanos(attempt.ended_unix_ns()) : now;
    const absl::Time start = absl::FromUnixNanos(attempt.started_unix_ns());
    std::string end_text;
    if (has_ended) {
      end_text = attempt.end_text().empty() ? Word(attempt.end_cause()) : attempt.end_text();
    }
    table.AddRow({absl::StrCat(attempt.number()), DeviceName(attempt.node(), attempt.device()),
                  Word(attempt.state()), FormatAgo(attempt.placed_unix_ns(), now),
                  attempt.started_unix_ns() == 0 ? "" : FormatSpan(end - start), end_text});
  }
  return table.Text();
}

// "agent node1".
std::string ActorText(const v1::JobStep& step) {
  return absl::StrCat(Word(step.actor()), step.node().empty() ? "" : " ", step.node());
}

std::string HistoryTable(const v1::Job& job, absl::Time now) {
  Table table({{"WHEN", Align::kRight},
               {"WHO", Align::kLeft, /*can_shrink=*/true},
               {"WHAT"},
               {"#", Align::kRight},
               {"WHY", Align::kLeft, /*can_shrink=*/true}});
  for (const v1::JobStep& step : job.history()) {
    table.AddRow({FormatAgo(step.unix_ns(), now), ActorText(step),
                  absl::StrReplaceAll(Word(step.kind()), {{"_", " "}}),
                  step.attempt() == 0 ? "" : absl::StrCat(step.attempt()), step.text()});
  }
  return table.Text();
}

std::string ProgressFacts(const v1::FillProgress& progress, int64_t cap_bytes) {
  Facts facts;
  facts.Add("units", FormatCount(progress.units()));
  std::string inside = FormatShare(progress.unit_cpu_in_bubble_ns(), progress.unit_cpu_ns());
  facts.Add("CPU of units",
            absl::StrCat(FormatNs(progress.unit_cpu_ns()), inside.empty() ? "" : ", ", inside,
                         inside.empty() ? "" : " of it inside bubbles"));
  facts.Add("overrun", FormatNs(progress.overrun_ns()));
  facts.Add("CPU in all", FormatNs(progress.task_cpu_ns()));
  facts.Add("next unit", progress.unit_estimate_ns() == 0
                             ? "not measured yet"
                             : absl::StrCat("about ", FormatNs(progress.unit_estimate_ns())));
  std::string memory = FormatBytes(progress.memory_peak_bytes());
  if (cap_bytes > 0) absl::StrAppend(&memory, " of ", FormatBytes(cap_bytes));
  facts.Add("memory peak", memory);
  if (!progress.memory_guard().empty()) facts.AddProse("memory cap", progress.memory_guard());
  if (!progress.stopped_by().empty()) facts.AddProse("stopped by", progress.stopped_by());
  if (!progress.log_error().empty()) {
    facts.AddProse("log", absl::StrCat("ends early: ", progress.log_error()));
  }
  return facts.Text();
}

// What the attempt has of its job's work, and what a crash would cost.
std::string CheckpointFacts(const v1::FillProgress& progress, absl::Time now) {
  Facts facts;
  facts.AddProse("began with", progress.resumed_from().empty()
                                   ? "nothing yet: its task has not attached"
                                   : progress.resumed_from());
  std::string saved = FormatCount(progress.checkpoints());
  if (progress.checkpoint_unix_ns() != 0) {
    absl::StrAppend(&saved, ", the last one ", FormatAgo(progress.checkpoint_unix_ns(), now),
                    ", which took ", FormatNs(progress.checkpoint_ns()));
  }
  facts.Add("checkpoints", saved);
  if (progress.checkpoint_failures() > 0) {
    facts.AddProse("failed ones",
                   absl::StrCat(FormatCount(progress.checkpoint_failures()), ": its log says why"));
  }
  return facts.Text();
}

// "3: closed to this job alone".
std::string RungText(int64_t count, const char* meaning) {
  return count == 0 ? "none" : absl::StrCat(FormatCount(count), ": ", meaning);
}

// The ladder, from what costs the main job nothing to what ends the attempt.
std::string LadderFacts(const v1::FillProgress& progress) {
  Facts facts;
  facts.AddProse("bubbles denied",
                 RungText(progress.bubbles_denied(), "its next unit did not fit what was left"));
  std::string late = "none";
  if (progress.units_overrun() > 0) {
    late = absl::StrCat(FormatCount(progress.units_overrun()), ", ",
                        FormatShare(progress.units_overrun(), progress.units()),
                        " of all: ended after their bubble; later ones are expected to be longer");
  }
  facts.AddProse("units late", late);
  facts.AddProse("bubbles skipped",
                 RungText(progress.bubbles_skipped(), "closed to this job alone after late units"));
  facts.AddProse("overstays",
                 RungText(progress.overstays(), "units that worked on after their bubble"));
  facts.AddProse("freezes", RungText(progress.freezes(),
                                     "stopped for it (SIGSTOP) until the main job was idle again"));
  if (progress.processes_denied() > 0) {
    facts.AddProse("processes",
                   absl::StrCat(FormatCount(progress.processes_denied()),
                                " more were refused: it has as many as processes_max allows"));
  }
  return facts.Text();
}

std::string JobText(const v1::Job& job, absl::Time now) {
  std::string text =
      absl::StrCat("job ", JobLabel(job), ": ", JobName(job), "\n", JobFacts(job, now));
  const std::string history =
      job.history().empty() ? "" : absl::StrCat("\nhistory\n", HistoryTable(job, now));
  if (job.has_array()) return absl::StrCat(text, history);
  if (job.attempts().empty()) return absl::StrCat(text, "\nno attempts yet\n", history);
  absl::StrAppend(&text, "\nattempts\n", AttemptTable(job, now), history);
  const std::string forecast = ForecastFacts(job, now);
  if (!forecast.empty()) absl::StrAppend(&text, "\nforecast\n", forecast);
  const v1::Attempt& last = *LastAttempt(job);
  if (!last.has_progress() || last.started_unix_ns() == 0) return text;
  absl::StrAppend(
      &text, "\nprogress of attempt ", last.number(), "\n",
      ProgressFacts(last.progress(), std::max(job.memory_bytes(), job.spec().memory_bytes())),
      "\nwhat it has saved\n", CheckpointFacts(last.progress(), now), "\nhow it was held back\n",
      LadderFacts(last.progress()));
  return text;
}

absl::StatusOr<ExitCode> RunShow(const ShowOptions& options, CommandContext& context) {
  ASSIGN_OR_RETURN(const JobRef ref, ParseJobRef(options.job));
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const JobId id, ResolveJob(*client, ref));
  ASSIGN_OR_RETURN(const v1::Job job, client->GetJob(id));
  context.out << (options.format == OutputFormat::kJson ? JsonText(JobJson(job))
                                                        : JobText(job, context.clock.WallNow()));
  return kExitOk;
}

}  // namespace

void AddShowCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = parent.add_subcommand("show", "Everything about one job");
  AddJobArgument(*command, &options->job);
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  commands.Add(
      {command, [options](CommandContext& context) { return RunShow(*options, context); }});
}

void AddJobGroup(CLI::App& parent, CommandSet& commands) {
  CLI::App* group =
      parent.add_subcommand("job", "Verbs of a job: show, why, wait, logs, move, ...");
  group->require_subcommand(0, 1);
  AddShowCommand(*group, commands);
  AddWhyCommand(*group, commands);
  AddWaitCommand(*group, commands);
  AddLogsCommand(*group, commands);
  AddMoveCommand(*group, commands);
  AddHoldCommand(*group, commands);
  AddReleaseCommand(*group, commands);
  AddRequeueCommand(*group, commands);
  AddCancelCommand(*group, commands);
}

}  // namespace pipefill
