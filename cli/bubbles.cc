#include "cli/bubbles.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/control_text.h"
#include "cli/json.h"
#include "cli/main_job_summary.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_offload.h"
#include "cli/words.h"
#include "common/quantity.h"
#include "common/status.h"

namespace pipefill {
namespace {

// Bubbles with less than this share of the bubble time of their main job are left out by default.
constexpr double kShareMin = 0.005;

// A terminal of this many columns shows everything.
constexpr size_t kWideColumns = 120;
// Unit lengths in the table of latest starts.
constexpr size_t kLengthsShown = 6;

struct BubblesOptions {
  std::string main_job;
  bool wants_all = false;
  bool wants_starts = false;
  std::string offload;    // bytes; "" = does not ask
  std::string bandwidth;  // bytes a second
  std::optional<OffloadQuestion> question;
  OutputFormat format = OutputFormat::kTable;
};

std::string FormatNs(int64_t ns) { return pipefill::FormatDuration(absl::Nanoseconds(ns)); }

std::string NameOf(const v1::BubbleStats& bubble) {
  return absl::StrCat(Word(bubble.bubble_class()), " ", bubble.ordinal());
}

// One word for the column OFFERED; "" if units may start.
std::string WhyNot(v1::BubbleOffer offer) {
  switch (offer) {
    case v1::BUBBLE_OFFER_TOO_FEW:
      return "too few";
    case v1::BUBBLE_OFFER_TOO_SHORT:
      return "too short";
    case v1::BUBBLE_OFFER_UNCERTAIN:
      return "uncertain";
    case v1::BUBBLE_OFFER_NOT_FILLING:
      return "not now";
    default:
      return "";
  }
}

std::string OfferedText(const v1::BubbleStats& bubble) {
  const std::string why_not = WhyNot(bubble.offer());
  return why_not.empty() ? FormatShare(bubble.offered_ns(), bubble.bubble_ns()) : why_not;
}

std::string NarrowText(const std::vector<v1::BubbleStats>& bubbles, size_t width) {
  Table table({{"RANK", Align::kRight},
               {"BUBBLE"},
               {"COUNT", Align::kRight},
               {"P10", Align::kRight},
               {"P50", Align::kRight},
               {"P90", Align::kRight},
               {"OFFERED", Align::kRight},
               {"FILLED", Align::kRight},
               {"OVERRUN", Align::kRight}});
  for (const v1::BubbleStats& bubble : bubbles) {
    table.AddRow({absl::StrCat(bubble.rank()), NameOf(bubble), FormatShortCount(bubble.count()),
                  FormatNs(bubble.p10_ns()), FormatNs(bubble.p50_ns()), FormatNs(bubble.p90_ns()),
                  OfferedText(bubble), FormatShare(bubble.filled_ns(), bubble.bubble_ns()),
                  FormatShare(bubble.overrun_ns(), bubble.bubble_ns())});
  }
  return table.Text(width);
}

std::string WideText(const std::vector<v1::BubbleStats>& bubbles, size_t width) {
  Table table({{"RANK", Align::kRight},
               {"BUBBLE"},
               {"COUNT", Align::kRight},
               {"P10", Align::kRight},
               {"P50", Align::kRight},
               {"P90", Align::kRight},
               {"MEMORY", Align::kRight},
               {"OFFERED", Align::kRight},
               {"FILLED", Align::kRight},
               {"TIME", Align::kRight},
               {"OVERRUN", Align::kRight},
               {"UNITS", Align::kRight},
               {"LATE", Align::kRight},
               {"GUARD", Align::kRight}});
  for (const v1::BubbleStats& bubble : bubbles) {
    table.AddRow({absl::StrCat(bubble.rank()), NameOf(bubble), FormatShortCount(bubble.count()),
                  FormatNs(bubble.p10_ns()), FormatNs(bubble.p50_ns()), FormatNs(bubble.p90_ns()),
                  bubble.memory_free_bytes() > 0 ? FormatBytes(bubble.memory_free_bytes()) : "",
                  OfferedText(bubble), FormatShare(bubble.filled_ns(), bubble.bubble_ns()),
                  FormatNs(bubble.filled_ns()),
                  FormatShare(bubble.overrun_ns(), bubble.bubble_ns()),
                  FormatShortCount(bubble.units()), FormatShare(bubble.overruns(), bubble.units()),
                  bubble.guard_ns() > 0 ? FormatNs(bubble.guard_ns()) : ""});
  }
  return table.Text(width);
}

// Places in the ladder of unit lengths that tell most: from the longest that may start anywhere
// down, every `stride`-th.
std::vector<int> LengthsToShow(const std::vector<v1::BubbleStats>& bubbles) {
  int longest = -1;
  for (const v1::BubbleStats& bubble : bubbles) {
    const int entries = std::min(bubble.unit_ns_size(), bubble.latest_start_ns_size());
    for (int i = 0; i < entries; ++i) {
      if (bubble.latest_start_ns(i) >= 0) longest = std::max(longest, i);
    }
  }
  std::vector<int> shown;
  const auto count = static_cast<size_t>(longest + 1);
  const size_t stride = std::max<size_t>(1, (count + kLengthsShown - 1) / kLengthsShown);
  for (int i = longest; i >= 0; i -= static_cast<int>(stride)) shown.insert(shown.begin(), i);
  return shown;
}

std::string StartsText(const std::vector<v1::BubbleStats>& bubbles, size_t width) {
  const std::vector<int> lengths = LengthsToShow(bubbles);
  if (lengths.empty()) return "no unit may start in any of these bubbles yet\n";
  std::vector<Column> columns = {{"RANK", Align::kRight}, {"BUBBLE"}};
  for (const int i : lengths) {
    for (const v1::BubbleStats& bubble : bubbles) {
      if (i >= bubble.unit_ns_size()) continue;
      columns.push_back({FormatNs(bubble.unit_ns(i)), Align::kRight});
      break;
    }
  }
  Table table(columns);
  for (const v1::BubbleStats& bubble : bubbles) {
    std::vector<std::string> cells = {absl::StrCat(bubble.rank()), NameOf(bubble)};
    for (const int i : lengths) {
      const bool may_start = i < bubble.latest_start_ns_size() && bubble.latest_start_ns(i) >= 0;
      cells.push_back(may_start ? FormatNs(bubble.latest_start_ns(i)) : "never");
    }
    table.AddRow(cells);
  }
  return absl::StrCat("a unit of this length may start until so long after its bubble's begin:\n",
                      table.Text(width));
}

// In the order of an iteration: all ordinals of a rank count up together.
bool ComesBefore(const v1::BubbleStats& a, const v1::BubbleStats& b) {
  return std::make_tuple(a.rank(), a.ordinal(), a.bubble_class()) <
         std::make_tuple(b.rank(), b.ordinal(), b.bubble_class());
}

// The bubbles of one main job.
struct BubbleGroup {
  std::vector<v1::BubbleStats> bubbles;
  int64_t bubble_ns = 0;
};

std::map<std::string, BubbleGroup> GroupByMainJob(const v1::ListBubblesResponse& response) {
  std::map<std::string, BubbleGroup> groups;
  for (const v1::BubbleStats& bubble : response.bubbles()) {
    BubbleGroup& group = groups[bubble.main_job()];
    group.bubbles.push_back(bubble);
    group.bubble_ns += bubble.bubble_ns();
  }
  for (auto& [main_job, group] : groups) {
    std::sort(group.bubbles.begin(), group.bubbles.end(), ComesBefore);
  }
  return groups;
}

// "88.3 % of it filled, 1.9 % overrun".
std::string FilledText(const BubbleGroup& group, const char* of_what) {
  int64_t filled_ns = 0;
  int64_t overrun_ns = 0;
  for (const v1::BubbleStats& bubble : group.bubbles) {
    filled_ns += bubble.filled_ns();
    overrun_ns += bubble.overrun_ns();
  }
  return absl::StrCat(FormatShare(filled_ns, group.bubble_ns), of_what, " filled, ",
                      FormatShare(overrun_ns, group.bubble_ns), " overrun");
}

std::string UseText(const BubbleGroup& group, const MainJobSummary& summary) {
  if (group.bubble_ns == 0) return "its bubbles are not known yet";
  const bool is_filled = std::any_of(group.bubbles.begin(), group.bubbles.end(),
                                     [](const auto& bubble) { return bubble.filled_ns() > 0; });
  if (summary.tasks > 0) return FilledText(group, " of that");
  if (!is_filled) return "no fill job is there to take it";
  return absl::StrCat(FilledText(group, " of that"), "; no fill job is there now");
}

// What a person wants to know first: how much is idle, how much of it is filled, what it costs.
std::string HeadText(const std::string& main_job, const BubbleGroup& group,
                     const MainJobSummary* summary) {
  const std::string name = absl::StrCat("main job ", OneLine(main_job));
  Facts facts;
  if (summary == nullptr) {
    if (group.bubble_ns > 0) facts.Add("filled", FilledText(group, " of bubble time"));
    return absl::StrCat(name, ": has ended; these were its last figures\n", facts.Text());
  }
  std::string size = Plural(summary->attached, "rank");
  if (summary->ranks > summary->attached) absl::StrAppend(&size, " of ", summary->ranks);
  if (summary->iteration_p50_ns > 0) {
    absl::StrAppend(&size, ", iterations of ", FormatNs(summary->iteration_p50_ns));
  }
  facts.AddProse("state", StateText(*summary));
  const std::string idle = FormatShare(summary->bubble_ns, summary->iteration_ns);
  if (!idle.empty()) {
    facts.AddProse("idle", absl::StrCat(idle, " of device time; ", UseText(group, *summary)));
  }
  if (summary->control.has_value()) facts.AddProse("cost", CostText(*summary->control));
  return absl::StrCat(name, ": ", size, "\n", facts.Text());
}

// Those with a share of the time worth a line.
std::vector<v1::BubbleStats> LargeBubbles(const BubbleGroup& group, bool wants_all) {
  std::vector<v1::BubbleStats> shown;
  const double share_ns = kShareMin * static_cast<double>(group.bubble_ns);
  for (const v1::BubbleStats& bubble : group.bubbles) {
    const bool is_large = static_cast<double>(bubble.bubble_ns()) >= share_ns;
    if (wants_all || is_large) shown.push_back(bubble);
  }
  return shown;
}

void PrintBubbles(const v1::ListBubblesResponse& response,
                  const std::map<std::string, MainJobSummary>& summaries,
                  const BubblesOptions& options, CommandContext& context) {
  size_t hidden = 0;
  const char* separator = "";
  for (const auto& [main_job, group] : GroupByMainJob(response)) {
    const auto summary = summaries.find(main_job);
    const std::vector<v1::BubbleStats> shown = LargeBubbles(group, options.wants_all);
    hidden += group.bubbles.size() - shown.size();
    context.out << separator
                << HeadText(main_job, group,
                            summary == summaries.end() ? nullptr : &summary->second)
                << "\n"
                << (context.width >= kWideColumns ? WideText(shown, context.width)
                                                  : NarrowText(shown, context.width));
    if (options.wants_starts) context.out << "\n" << StartsText(shown, context.width);
    if (options.question.has_value()) {
      const int64_t iteration_ns =
          summary == summaries.end() ? 0 : summary->second.iteration_p50_ns;
      context.out << "\n" << OffloadText(group.bubbles, iteration_ns, *options.question);
    }
    separator = "\n";
  }
  if (hidden > 0) {
    context.err << "pipefill: " << Plural(static_cast<int64_t>(hidden), "bubble") << " with under "
                << FormatShare(5, 1000) << " of the bubble time not shown; '--all' lists them\n";
  }
}

std::string NothingText(const std::map<std::string, MainJobSummary>& summaries,
                        const std::string& main_job) {
  if (summaries.empty()) {
    return "no main job is attached: bubbles show up once a training run has attached and run an "
           "iteration";
  }
  if (main_job.empty() || summaries.contains(main_job)) {
    return "no bubbles yet: they show up once the main job has run an iteration";
  }
  std::vector<std::string> names;
  for (const auto& [name, summary] : summaries) names.push_back(OneLine(name));
  return absl::StrCat("no such main job: main_job=", OneLine(main_job),
                      "; attached: ", absl::StrJoin(names, ", "));
}

absl::StatusOr<int64_t> ReadBytes(const std::string& text, const char* option) {
  const absl::StatusOr<int64_t> bytes = ParseBytes(text);
  if (!bytes.ok()) return WithContext(bytes.status(), option);
  if (*bytes > 0) return *bytes;
  return absl::InvalidArgumentError(absl::StrCat(option, ": it must be more than 0"));
}

absl::Status ReadQuestion(BubblesOptions* options) {
  if (options->offload.empty()) return absl::OkStatus();
  OffloadQuestion question;
  ASSIGN_OR_RETURN(question.bytes, ReadBytes(options->offload, "--offload"));
  ASSIGN_OR_RETURN(question.bytes_per_second, ReadBytes(options->bandwidth, "--bandwidth"));
  options->question = question;
  return absl::OkStatus();
}

absl::StatusOr<ExitCode> RunBubbles(BubblesOptions options, CommandContext& context) {
  RETURN_IF_ERROR(ReadQuestion(&options));
  ASSIGN_OR_RETURN(const auto client, context.connect(context.scheduler));
  ASSIGN_OR_RETURN(const v1::ListBubblesResponse response, client->ListBubbles(options.main_job));
  ASSIGN_OR_RETURN(const v1::ListDevicesResponse devices, client->ListDevices());
  const std::map<std::string, MainJobSummary> summaries = SummariseMainJobs(devices);
  if (options.format == OutputFormat::kJson) {
    Json json;
    json["bubbles"] = Json::array();
    for (const v1::BubbleStats& bubble : response.bubbles()) {
      json["bubbles"].push_back(BubbleJson(bubble));
      json["bubbles"].back()["has_ended"] = !summaries.contains(bubble.main_job());
    }
    context.out << JsonText(json);
  } else if (response.bubbles().empty()) {
    context.err << "pipefill: " << NothingText(summaries, options.main_job) << "\n";
  } else {
    PrintBubbles(response, summaries, options, context);
  }
  return kExitOk;
}

}  // namespace

void AddBubblesCommand(CLI::App& parent, CommandSet& commands) {
  auto options = std::make_shared<BubblesOptions>();
  CLI::App* command = parent.add_subcommand("bubbles", "What is idle, and how much is filled");
  command->add_option("--main", options->main_job, "Only bubbles of this main job")
      ->type_name("NAME");
  command->add_flag("--all", options->wants_all, "Also those with hardly any time");
  command->add_flag("--starts", options->wants_starts, "Also how late units may start");
  CLI::Option* offload =
      command->add_option("--offload", options->offload, "Could that be on the host between steps?")
          ->type_name("SIZE");
  CLI::Option* bandwidth =
      command->add_option("--bandwidth", options->bandwidth, "At which it is copied, a second")
          ->type_name("SIZE");
  offload->needs(bandwidth);
  bandwidth->needs(offload);
  AddOutputOption(*command, /*with_name=*/false, &options->format);
  command->footer(
      "P10, P50, P90: of the last 64 lengths. Shares are of all time in that bubble\n"
      "since the rank attached: OFFERED: in which units could start; FILLED: in which\n"
      "units computed; OVERRUN: what they computed after its end. In place of OFFERED:\n"
      "too few: seen too few times yet; too short; uncertain: its length varies too\n"
      "much for any unit; not now: nothing is filled at present, see 'state'.\n"
      "\n"
      "From 120 columns on also MEMORY: free inside the bubble; TIME: filled; UNITS:\n"
      "started; LATE: that ended after it; GUARD: how much earlier units must start\n"
      "because of late ones.");
  commands.Add(
      {command, [options](CommandContext& context) { return RunBubbles(*options, context); }});
}

}  // namespace pipefill
