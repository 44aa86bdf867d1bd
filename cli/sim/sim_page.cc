#include "cli/sim/sim_page.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "cli/output.h"
#include "cli/report/markup.h"
#include "cli/report/page_parts.h"
#include "cli/sim/sim_dimension.h"
#include "cli/sim/sim_output.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr char kStyle[] =
    "@media (min-width:981px){.tiles{grid-template-columns:repeat(5,1fr)}}\n"
    ".tile .value{font-size:22px}\n"
    "figure{margin:0}\n"
    "figcaption{color:var(--muted);font-size:12.5px;margin-top:4px;max-width:110ch}\n"
    ".pictures{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,460px),1fr));"
    "gap:14px;margin:0 0 16px}\n"
    ".pictures section{margin:0}\n"
    "figure svg{display:block;max-width:100%;height:auto}\n"
    ".wide{overflow-x:auto}\n"
    ".tables{overflow-x:auto}\n"
    "summary{cursor:pointer;font-weight:600}\n"
    "code{white-space:pre-wrap;overflow-wrap:anywhere}\n";

// "7.9 %", or "7.9 .. 62.6 %" over several runs.
std::string SpanText(const std::vector<SimOutcome>& outcomes,
                     const std::function<double(const SimOutcome&)>& of,
                     const std::function<std::string(double)>& text) {
  const auto [low, high] =
      std::minmax_element(outcomes.begin(), outcomes.end(),
                          [&](const SimOutcome& a, const SimOutcome& b) { return of(a) < of(b); });
  const std::string least = text(of(*low));
  const std::string most = text(of(*high));
  if (least == most) return most;
  return absl::StrCat(absl::StripSuffix(least, " %"), " .. ", most);
}

std::string ShareText(double share) { return PercentText(share); }
std::string DevicesText(double devices) { return FormatCount(std::lround(devices)); }
// "-" while no job is done.
std::string HoursText(double seconds) {
  return seconds > 0 ? FormatSpan(absl::Seconds(seconds)) : "-";
}

std::optional<double> BarOf(const std::vector<SimOutcome>& outcomes, double share) {
  return outcomes.size() == 1 ? std::optional(share) : std::nullopt;
}

// The runs in which a job was done; all of them if there is none.
std::vector<SimOutcome> WithCompletions(const std::vector<SimOutcome>& outcomes) {
  std::vector<SimOutcome> some;
  std::copy_if(outcomes.begin(), outcomes.end(), std::back_inserter(some),
               [](const SimOutcome& outcome) { return outcome.result.jobs_completed > 0; });
  return some.empty() ? outcomes : some;
}

std::string HeadlineSection(const SimPageParts& parts) {
  const std::vector<SimOutcome>& outcomes = parts.outcomes;
  const simulator::ClusterResult& only = outcomes.front().result;
  const auto idle = [](const SimOutcome& outcome) { return outcome.result.bubble_share; };
  const auto filled = [](const SimOutcome& outcome) { return outcome.result.filled_share; };
  const auto gain = [](const SimOutcome& outcome) { return outcome.result.gain; };
  const auto worth = [](const SimOutcome& outcome) { return outcome.result.extra_devices; };
  const auto mean = [](const SimOutcome& outcome) { return outcome.result.completion_mean_s; };
  const auto devices = [](const SimOutcome& outcome) { return outcome.result.devices; };
  const std::vector<Tile> tiles = {
      {.name = "Idle",
       .value = SpanText(outcomes, idle, ShareText),
       .text = "of the devices' time is bubbles",
       .extra = BarMarkup(BarOf(outcomes, only.bubble_share))},
      {.name = "Filled",
       .value = SpanText(outcomes, filled, ShareText),
       .text = "of that did fill work",
       .extra = BarMarkup(BarOf(outcomes, only.filled_share))},
      {.name = "Gain",
       .value = SpanText(outcomes, gain, ShareText),
       .text = "work of fill jobs, as a share of the main job's: what filling adds to it"},
      {.name = "Worth",
       .value = SpanText(outcomes, worth, DevicesText),
       .text = absl::StrCat("devices of their own would have done the same work; the training run "
                            "has ",
                            SpanText(outcomes, devices, DevicesText))},
      {.name = "Completion",
       .value = SpanText(WithCompletions(outcomes), mean, HoursText),
       .text = "mean, from submission to end, of the jobs that were done"}};
  return absl::StrCat(
      "<section class=\"headline\">\n", TilesMarkup(tiles), "<p class=\"summary\"><b>Simulated, ",
      "not measured.</b> ", Plural(static_cast<int64_t>(outcomes.size()), "run"),
      " in virtual time: schedulerd's own loop, planner and policies, with simulated agents and a ",
      "model of the training run. A real device fills less than a simulated one.",
      outcomes.size() > 1 ? " Figures are those of the least and of the most." : "",
      "</p>\n</section>\n");
}

std::string FigureMarkup(const SimPicture& picture) {
  return absl::StrCat("<figure>", picture.svg, "<figcaption>", EscapeMarkup(picture.note),
                      "</figcaption></figure>");
}

// Wide pictures below each other; of each kind the first is open, the others are a line to click.
std::string PictureSections(const std::vector<SimPicture>& pictures) {
  std::string narrow;
  std::string wide;
  std::set<std::string> shown;
  for (const SimPicture& picture : pictures) {
    if (!picture.is_wide) {
      absl::StrAppend(&narrow, "<section>", FigureMarkup(picture), "</section>\n");
      continue;
    }
    const bool is_first = shown.insert(picture.name).second;
    absl::StrAppend(&wide, "<section class=\"wide\"><details", is_first ? " open" : "",
                    "><summary>", EscapeMarkup(picture.title), "</summary>", FigureMarkup(picture),
                    "</details></section>\n");
  }
  if (narrow.empty()) return wide;
  return absl::StrCat("<div class=\"pictures\">\n", narrow, "</div>\n", wide);
}

std::string FigureSection(const std::vector<SimOutcome>& outcomes) {
  std::vector<std::string> titles;
  for (const SimSetting& setting : outcomes.front().settings) titles.push_back(setting.first);
  const size_t texts = titles.size();
  for (const char* title :
       {"devices", "idle", "filled", "gain", "worth", "overrun", "slower, at most", "jobs done",
        "of", "mean", "half", "95 %", "last end"}) {
    titles.push_back(title);
  }
  std::string out =
      absl::StrCat("<section class=\"tables\"><h2>Figures</h2>\n", TableHead(titles, texts));
  for (const SimOutcome& outcome : outcomes) {
    const simulator::ClusterResult& result = outcome.result;
    absl::StrAppend(&out, "<tr>");
    for (const SimSetting& setting : outcome.settings) {
      absl::StrAppend(&out, TextCell(setting.second));
    }
    const std::string cells[] = {FormatCount(result.devices),
                                 PercentText(result.bubble_share),
                                 PercentText(result.filled_share),
                                 absl::StrFormat("%.2f %%", result.gain * 100),
                                 DevicesText(result.extra_devices),
                                 absl::StrFormat("%.2f %%", result.overrun_share * 100),
                                 absl::StrFormat("%.2f %%", result.slowdown_max * 100),
                                 FormatCount(result.jobs_completed),
                                 FormatCount(result.jobs_submitted),
                                 HoursText(result.completion_mean_s),
                                 HoursText(result.completion_p50_s),
                                 HoursText(result.completion_p95_s),
                                 HoursText(result.last_end_s)};
    for (const std::string& cell : cells) absl::StrAppend(&out, NumberCell(cell));
    absl::StrAppend(&out, "</tr>\n");
  }
  return absl::StrCat(
      out, "</tbody></table>\n<p class=\"note\">Overrun: units beyond the ends of their bubbles, ",
      "of the bubbles. Slower, at most: how much longer the main job takes if the worst overruns ",
      "of all stages come in every iteration, one after the other. Times run from the submission ",
      "of a job to its end, those of the last end from the beginning.</p></section>\n");
}

// Entry `index` of a field that is no message; -1 if it is not repeated.
std::string ValueText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor* field, int index) {
  const bool is_text = field->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_STRING;
  if (is_text && index < 0) return message.GetReflection()->GetString(message, field);
  std::string text;
  google::protobuf::TextFormat::PrintFieldValueToString(message, field, index, &text);
  return text;
}

// Every field that is set, by its path: "training.fill.static_share".
void AddFields(const google::protobuf::Message& message, const std::string& prefix,
               std::vector<std::pair<std::string, std::string>>& rows) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    const bool is_message = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (!field->is_repeated()) {
      if (is_message) {
        AddFields(reflection.GetMessage(message, field), absl::StrCat(path, "."), rows);
      } else {
        rows.emplace_back(path, ValueText(message, field, -1));
      }
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      const std::string own = absl::StrCat(path, "[", i, "]");
      if (is_message) {
        AddFields(reflection.GetRepeatedMessage(message, field, i), absl::StrCat(own, "."), rows);
      } else {
        rows.emplace_back(own, ValueText(message, field, i));
      }
    }
  }
}

// Empty without a trace.
std::string TraceSection(const std::vector<SimOutcome>& outcomes) {
  const std::vector<std::string> lines = TraceLines(outcomes);
  if (lines.empty()) return "";
  std::string out = "<section><h2>Rows of the trace</h2>\n<ul>\n";
  for (const std::string& line : lines) {
    absl::StrAppend(&out, "<li>", EscapeMarkup(line), "</li>\n");
  }
  return absl::StrCat(out, "</ul></section>\n");
}

// Fields at their default are no rows of their own; swept over, they are.
std::vector<std::pair<std::string, std::string>> ScenarioRows(const SimPageParts& parts) {
  std::vector<std::pair<std::string, std::string>> rows;
  AddFields(parts.scenario, "", rows);
  for (const SimSetting& setting : parts.outcomes.front().settings) {
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const auto& one) { return one.first == setting.first; });
    if (row == rows.end()) row = rows.insert(row, {setting.first, ""});
    row->second = "swept over";
  }
  return rows;
}

std::string ScenarioSection(const SimPageParts& parts) {
  std::string out = absl::StrCat(
      "<section class=\"tables\"><h2>Scenario</h2>\n<p class=\"note\">The same figures again: ",
      "<code>", EscapeMarkup(parts.replay), "</code></p>\n", TableHead({"field", "value"}, 2));
  for (const auto& [path, value] : ScenarioRows(parts)) {
    absl::StrAppend(&out, "<tr>", TextCell(path), TextCell(value), "</tr>\n");
  }
  return absl::StrCat(out, "</tbody></table></section>\n");
}

}  // namespace

absl::StatusOr<std::vector<SimPicture>> SimPictures(const std::vector<SimSweep>& sweeps,
                                                    const std::vector<SimOutcome>& outcomes) {
  const std::vector<Dimension> dimensions = DimensionsOf(sweeps, outcomes);
  std::vector<SimPicture> pictures = SweepPictures(dimensions, outcomes);
  std::vector<SimPicture> of_runs = RunPictures(dimensions, outcomes);
  std::move(of_runs.begin(), of_runs.end(), std::back_inserter(pictures));
  ASSIGN_OR_RETURN(std::vector<SimPicture> of_time, TimePictures(dimensions, outcomes));
  std::move(of_time.begin(), of_time.end(), std::back_inserter(pictures));
  pictures.erase(std::remove_if(pictures.begin(), pictures.end(),
                                [](const SimPicture& picture) { return picture.svg.empty(); }),
                 pictures.end());
  return pictures;
}

std::string SimPage(const SimPageParts& parts) {
  return PageMarkup(
      {.title = absl::StrCat("pipefill sim: ", parts.scenario.name()),
       .heading = parts.scenario.name(),
       .about = absl::StrCat("pipefill sim: ", parts.scenario.about()),
       .style = kStyle,
       .sections = absl::StrCat(HeadlineSection(parts), PictureSections(parts.pictures),
                                FigureSection(parts.outcomes), TraceSection(parts.outcomes),
                                ScenarioSection(parts))});
}

}  // namespace pipefill
