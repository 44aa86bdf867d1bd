#include "cli/top/top_frame.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/control_text.h"
#include "cli/main_job_summary.h"
#include "cli/output.h"
#include "cli/share.h"
#include "cli/words.h"
#include "common/quantity.h"

namespace pipefill {
namespace {

constexpr size_t kBarMin = 20;
constexpr size_t kBarMax = 60;

std::string FormatNs(int64_t ns) { return pipefill::FormatDuration(absl::Nanoseconds(ns)); }

std::string Percent(double part, double whole) {
  return whole > 0 ? absl::StrFormat("%.1f %%", 100 * part / whole) : "-";
}

Style StyleOf(Cost cost) {
  switch (cost) {
    case Cost::kUnknown:
      return Style::kDim;
    case Cost::kWithin:
      return Style::kGood;
    case Cost::kUnsure:
      return Style::kWarn;
    case Cost::kOver:
      return Style::kBad;
  }
  return Style::kPlain;
}

Style StyleOf(v1::FillState state) {
  switch (state) {
    case v1::FILL_STATE_FILLING:
      return Style::kGood;
    case v1::FILL_STATE_PAUSED:
    case v1::FILL_STATE_PARKED:
      return Style::kWarn;
    case v1::FILL_STATE_BACKED_OFF:
    case v1::FILL_STATE_FAILURE:
      return Style::kBad;
    default:
      return Style::kPlain;
  }
}

// "+0.31 +-0.41 %", "+0.31 %", "not yet".
std::string ShortCost(const v1::FillControl& control) {
  if (!HasEstimate(control)) return "not yet";
  if (!HasInterval(control)) return SlowdownText(control);
  const double half = (control.slowdown_high() - control.slowdown_low()) / 2;
  return absl::StrFormat("%+.2f +-%.2f %%", control.slowdown() * 100, half * 100);
}

// The sum of what is known of the ranks of one main job.
struct MainJobUse {
  DeviceUse use;
  size_t known = 0;
};

class FrameBuilder {
 public:
  FrameBuilder(const TopModel& model, const TopView& view) : model_(model), view_(view) {}

  Frame Build() {
    AddTitle();
    if (view_.is_help) {
      AddHelp();
    } else if (model_.has_answers()) {
      AddMainJobs();
      AddDevices();
      AddJobs();
    }
    AddLastLine();
    return std::move(frame_);
  }

 private:
  void Add(Line line) { frame_.lines.push_back(std::move(line)); }
  void Add(std::string text, Style style = Style::kPlain) { Add(Line{{std::move(text), style}}); }

  // Lines that may still be added above the last line.
  size_t LinesLeft() const {
    if (view_.height == kAllLines) return kAllLines;
    const size_t used = frame_.lines.size() + 1;
    return view_.height > used ? view_.height - used : 0;
  }

  void AddTitle() {
    std::string text = absl::StrCat("pipefill top  ", view_.scheduler);
    if (model_.has_answers()) {
      const TopAnswers& answers = model_.answers();
      int64_t running = 0;
      for (const v1::Job& job : answers.jobs.jobs())
        running += job.state() == v1::JOB_STATE_RUNNING;
      const int64_t waiting = answers.jobs.jobs_size() - running;
      absl::StrAppend(&text, "  ", Plural(answers.devices.devices_size(), "device"), ", ",
                      Plural(running, "fill job"), " running, ", FormatCount(waiting), " waiting");
    }
    Add(Shorten(text, view_.width), Style::kTitle);
    if (!view_.away.has_value()) return;
    const std::string old = model_.has_answers() ? "; what follows is from before" : "";
    Add(Shorten(absl::StrCat("schedulerd is not reachable since ", FormatSpan(*view_.away),
                             ", still trying", old),
                view_.width),
        Style::kBad);
    Add(Shorten(OneLine(view_.error), view_.width), Style::kDim);
  }

  void AddHelp() {
    static constexpr const char* kLines[] = {
        "",
        "A main job is a training run; while its pipeline waits, its devices are idle",
        "(bubbles). Fill jobs use that time in small units.",
        "",
        "  IDLE      bubble time, of the time of iterations",
        "  FILLED    computed by units inside their bubble, of bubble time",
        "  OVERRUN   computed by units after the end of their bubble, of bubble time",
        "  COST      how much longer iterations take with filling than without, with",
        "            its 95 % interval; green: within the budget for sure, yellow: not",
        "            decided yet, red: over it for sure",
        "  LATE      units that ended after their bubble, of all units of the job",
        "  bars      # main job   + filled   ! overrun   . idle",
        "",
        "IDLE, FILLED, OVERRUN, the bars, UNITS/S and CORE are of the last few seconds.",
        "",
        "  q         quit             up, down  select a main job",
        "  p         pause the selected main job, or resume it; asks first",
        "  h         this page, and back",
    };
    for (const char* line : kLines) {
      if (LinesLeft() > 0) Add(Shorten(line, view_.width));
    }
  }

  // A title and its rows, as many as fit into `lines`.
  void AddSection(Line title, std::vector<Line> rows, size_t lines) {
    if (lines < 3) return;
    Add("");
    for (Span& span : title) span.style = Style::kDim;
    Add(std::move(title));
    const size_t room = lines - 2;
    const size_t shown = rows.size() <= room ? rows.size() : room - 1;
    for (size_t i = 0; i < shown; ++i) Add(std::move(rows[i]));
    if (shown == rows.size()) return;
    Add(absl::StrCat("  ... and ", rows.size() - shown, " lines more; a taller window shows them"),
        Style::kDim);
  }

  std::string Row(const std::vector<std::pair<std::string, size_t>>& cells, size_t left) const {
    std::string row;
    for (size_t i = 0; i < cells.size(); ++i) {
      const Align align = i < left ? Align::kLeft : Align::kRight;
      absl::StrAppend(&row, i == 0 ? "" : "  ", FitTo(cells[i].first, cells[i].second, align));
    }
    return row;
  }

  // More room for names on wide terminals.
  size_t NameWidth(size_t min) const {
    return std::min<size_t>(min + (view_.width > 80 ? (view_.width - 80) / 3 : 0), 40);
  }

  void AddMainJobs() {
    std::map<std::string, MainJobUse> uses;
    for (const v1::Device& device : model_.answers().devices.devices()) {
      const std::optional<DeviceUse> use = model_.UseOf(device);
      if (!use.has_value()) continue;
      uses[device.main_rank().main_job()].use.Add(*use);
      ++uses[device.main_rank().main_job()].known;
    }
    std::vector<Line> rows;
    for (const auto& [name, summary] : SummariseMainJobs(model_.answers().devices)) {
      AddMainJob(name, summary, uses[name].use, &rows);
    }
    const size_t width = NameWidth(12);
    if (rows.empty()) {
      rows.push_back(
          {{"  none is attached: a training run shows up once it calls "
            "pipefill.attach",
            Style::kDim}});
    }
    AddSection({{"  " + Row({{"MAIN JOB", width},
                             {"RANKS", 7},
                             {"ITERATION", 9},
                             {"IDLE", 6},
                             {"FILLED", 7},
                             {"OVERRUN", 7},
                             {"COST", 15}},
                            1),
                 Style::kDim}},
               std::move(rows), LinesLeft());
  }

  void AddMainJob(const std::string& name, const MainJobSummary& summary, const DeviceUse& use,
                  std::vector<Line>* rows) const {
    const bool is_selected = name == view_.selected;
    const std::string iteration =
        summary.iteration_p50_ns > 0 ? FormatNs(summary.iteration_p50_ns) : "-";
    Line line;
    line.push_back({absl::StrCat(is_selected ? "> " : "  ", FitTo(OneLine(name), NameWidth(12))),
                    is_selected ? Style::kSelected : Style::kPlain});
    line.push_back({"  " + Row({{absl::StrCat(summary.attached, "/", summary.ranks), 7},
                                {iteration, 9},
                                {Percent(use.bubble_ns, use.iteration_ns), 6},
                                {Percent(use.filled_ns, use.bubble_ns), 7},
                                {Percent(use.overrun_ns, use.bubble_ns), 7}},
                               0)});
    if (!summary.control.has_value()) {
      line.push_back({"  " + FitTo("-", 15, Align::kRight), Style::kDim});
      rows->push_back(std::move(line));
      if (model_.answers().IsPaused(name)) rows->push_back({{"    paused", Style::kWarn}});
      return;
    }
    const v1::FillControl& control = *summary.control;
    line.push_back({"  " + FitTo(ShortCost(control), 15, Align::kRight), StyleOf(CostOf(control))});
    rows->push_back(std::move(line));
    std::string state = StateText(summary);
    if (!absl::StrContains(state, "budget")) {
      absl::StrAppend(&state, "; budget ", FormatPpm(control.budget_ppm()));
    }
    rows->push_back({{"    ", Style::kPlain},
                     {Shorten(state, view_.width - std::min<size_t>(view_.width, 4)),
                      StyleOf(control.state())}});
  }

  size_t BarWidth() const {
    const size_t others = 2 + NameWidth(12) + 2 + 10 + 2 + 9 + 2 + 2 + 17;
    const size_t left = view_.width > others ? view_.width - others : 0;
    return std::clamp(left, kBarMin, kBarMax);
  }

  void AddDevices() {
    std::vector<Line> rows;
    for (const v1::Device& device : model_.answers().devices.devices()) {
      rows.push_back(DeviceLine(device));
    }
    if (rows.empty()) rows.push_back({{"  no agent is connected", Style::kDim}});
    const std::string titles =
        Row({{"DEVICE", NameWidth(12)}, {"RANK", 10}, {"ITERATION", 9}, {"", 0}}, 2);
    // The rest of the window is shared with the fill jobs.
    const size_t left = LinesLeft();
    const size_t jobs = static_cast<size_t>(model_.answers().jobs.jobs_size()) + 3;
    const size_t lines = left == kAllLines ? left : std::max(left / 2, left - std::min(left, jobs));
    AddSection({{absl::StrCat("  ", titles, "# main job  + filled  ! overrun  . idle")}},
               std::move(rows), lines);
  }

  Line DeviceLine(const v1::Device& device) const {
    Line line;
    const std::string name = FitTo(DeviceName(device.node(), device.name()), NameWidth(12));
    if (!device.has_main_rank()) {
      line.push_back({absl::StrCat("  ", name, "  ")});
      std::string text = "no main job";
      if (device.resident() > 0) {
        absl::StrAppend(&text, ", ", Plural(device.resident(), "task"), " parked");
      }
      line.push_back({text, Style::kDim});
      return line;
    }
    const v1::MainRank& rank = device.main_rank();
    const std::string iteration =
        rank.iteration_p50_ns() > 0 ? FormatNs(rank.iteration_p50_ns()) : "-";
    const std::string label =
        absl::StrCat(Shorten(OneLine(rank.main_job()),
                             10 - std::min<size_t>(9, absl::StrCat(rank.rank()).size() + 1)),
                     " ", rank.rank());
    line.push_back({absl::StrCat("  ", name, "  ", Row({{label, 10}, {iteration, 9}}, 1), "  ")});
    const std::optional<DeviceUse> use = model_.UseOf(device);
    if (!use.has_value()) {
      line.push_back({"not measured yet", Style::kDim});
      return line;
    }
    AddBar(*use, &line);
    line.push_back({absl::StrCat(
        "  ", FitTo(Percent(use->filled_ns, use->bubble_ns), 7, Align::kRight), " filled")});
    return line;
  }

  // Parts of the device's time. Each part that is there at all gets a column.
  void AddBar(const DeviceUse& use, Line* line) const {
    const size_t width = BarWidth();
    const auto columns = [&](double part_ns) -> size_t {
      if (part_ns <= 0 || use.iteration_ns <= 0) return 0;
      const double exact = part_ns / use.iteration_ns * static_cast<double>(width);
      return std::min(width, std::max<size_t>(1, static_cast<size_t>(exact + 0.5)));
    };
    size_t filled = columns(use.filled_ns);
    size_t overrun = columns(use.overrun_ns / use.iteration_ns < 0.005 ? 0 : use.overrun_ns);
    size_t bubble = std::max(columns(use.bubble_ns), filled);
    filled = std::min(filled, width);
    overrun = std::min(overrun, width - bubble);
    const size_t work = width - bubble - overrun;
    line->push_back({std::string(work, '#'), Style::kWork});
    line->push_back({std::string(overrun, '!'), Style::kOverrun});
    line->push_back({std::string(filled, '+'), Style::kFilled});
    line->push_back({std::string(bubble - filled, '.'), Style::kIdle});
  }

  void AddJobs() {
    std::vector<Line> rows;
    const auto& jobs = model_.answers().jobs.jobs();
    for (const bool wants_running : {true, false}) {
      // The list is newest first; the oldest one is what runs, or comes, next.
      for (auto job = jobs.rbegin(); job != jobs.rend(); ++job) {
        const bool is_running = job->state() == v1::JOB_STATE_RUNNING;
        if (is_running == wants_running) {
          rows.push_back(is_running ? RunningLine(*job) : WaitingLine(*job));
        }
      }
    }
    if (rows.empty()) {
      rows.push_back({{"  none; 'pipefill submit -- PROGRAM' adds one", Style::kDim}});
    }
    AddSection({{"  " + Row({{"JOB", 5},
                             {"NAME", NameWidth(14)},
                             {"DEVICE", NameWidth(12)},
                             {"UNITS/S", 7},
                             {"CORE", 7},
                             {"FILLED", 7},
                             {"LATE", 6},
                             {"NEXT", 7}},
                            3),
                 Style::kDim}},
               std::move(rows), LinesLeft());
  }

  Line RunningLine(const v1::Job& job) const {
    const v1::Attempt* attempt = LastAttempt(job);
    const v1::FillProgress progress = attempt == nullptr ? v1::FillProgress() : attempt->progress();
    const std::optional<JobUse> use = model_.UseOf(job);
    const std::string rate =
        use.has_value()
            ? absl::StrFormat(use->units_per_second < 100 ? "%.1f" : "%.0f", use->units_per_second)
            : "-";
    const std::string late = FormatShare(progress.units_overrun(), progress.units());
    const std::string device =
        attempt == nullptr ? "-" : DeviceName(attempt->node(), attempt->device());
    Line line;
    line.push_back(
        {"  " +
         Row({{absl::StrCat(job.id()), 5},
              {OneLine(JobName(job)), NameWidth(14)},
              {device, NameWidth(12)},
              {rate, 7},
              {use.has_value() ? Percent(use->filled_share, 1) : "-", 7},
              {FormatNs(progress.unit_cpu_in_bubble_ns()), 7},
              {late.empty() ? "-" : late, 6},
              {progress.unit_estimate_ns() > 0 ? FormatNs(progress.unit_estimate_ns()) : "-", 7}},
             3)});
    if (progress.freezes() > 0) {
      line.push_back({absl::StrCat("  frozen ", progress.freezes(), "x"), Style::kBad});
    }
    const std::string detail = ShortDetail(job);
    if (!detail.empty()) line.push_back({"  " + detail, Style::kDim});
    return line;
  }

  Line WaitingLine(const v1::Job& job) const {
    const std::string head =
        "  " + Row({{absl::StrCat(job.id()), 5}, {OneLine(JobName(job)), NameWidth(14)}}, 2) + "  ";
    const size_t left = view_.width > head.size() ? view_.width - head.size() : 0;
    const std::string why = absl::StrCat("waits: ", OneLine(LongDetail(job)));
    return {{head, Style::kPlain}, {Shorten(why, left), Style::kDim}};
  }

  void AddLastLine() {
    if (view_.height == kAllLines) return;
    while (frame_.lines.size() + 1 < view_.height) Add("");
    frame_.lines.resize(std::min(frame_.lines.size(), view_.height - 1));
    const bool has_prompt = !view_.prompt.empty();
    Add(Shorten(has_prompt ? view_.prompt : "q quit   p pause or resume   up/down select   h help",
                view_.width),
        has_prompt ? Style::kWarn : Style::kDim);
  }

  const TopModel& model_;
  const TopView& view_;
  Frame frame_;
};

}  // namespace

Frame MakeTopFrame(const TopModel& model, const TopView& view) {
  return FrameBuilder(model, view).Build();
}

}  // namespace pipefill
