#include "cli/top/top_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/main_job_summary.h"
#include "cli/output.h"
#include "common/status.h"

namespace pipefill {

absl::StatusOr<TopAnswers> FetchTopAnswers(SchedulerClient& client) {
  TopAnswers answers;
  ASSIGN_OR_RETURN(answers.devices, client.ListDevices());
  ASSIGN_OR_RETURN(answers.bubbles, client.ListBubbles(""));
  v1::ListJobsRequest request;
  request.set_limit(kTopJobsMax);
  request.set_active_only(true);
  ASSIGN_OR_RETURN(answers.jobs, client.ListJobs(request));
  ASSIGN_OR_RETURN(answers.main_jobs, client.ListMainJobs());
  return answers;
}

TopSession::TopSession(std::string scheduler, SchedulerClient& client, Terminal& terminal,
                       const Clock& clock)
    : client_(client), terminal_(terminal), clock_(clock), answered_at_(clock.Now()) {
  view_.scheduler = std::move(scheduler);
}

void TopSession::Run() {
  Instant fetch_at = clock_.Now();
  while (true) {
    if (clock_.Now() >= fetch_at) {
      Fetch();
      fetch_at = clock_.Now() + kPeriod;
    }
    Draw();
    if (!OnKey(terminal_.ReadKey(fetch_at - clock_.Now()))) return;
  }
}

void TopSession::Fetch() {
  absl::StatusOr<TopAnswers> answers = FetchTopAnswers(client_);
  if (answers.ok()) {
    answered_at_ = clock_.Now();
    model_.Add(*std::move(answers), answered_at_);
    view_.away.reset();
    Select(0);
    return;
  }
  view_.away = clock_.Now() - answered_at_;
  view_.error = std::string(answers.status().message());
}

void TopSession::Draw() {
  const TerminalSize size = terminal_.Size();
  view_.width = size.width;
  view_.height = size.height;
  terminal_.Draw(MakeTopFrame(model_, view_));
}

bool TopSession::OnKey(Key key) {
  if (key == Key::kQuit) return false;
  if (key == Key::kNone || key == Key::kResize) return true;
  const bool was_asking = std::exchange(is_asking_, false);
  view_.prompt.clear();
  if (was_asking) {
    if (key == Key::kYes) SetPaused();
    return true;
  }
  switch (key) {
    case Key::kUp:
      Select(-1);
      break;
    case Key::kDown:
      Select(1);
      break;
    case Key::kHelp:
      view_.is_help = !view_.is_help;
      break;
    case Key::kPause:
      Ask();
      break;
    default:
      break;
  }
  return true;
}

// The selection stays on its main job by name; the first one takes its place when it is gone.
void TopSession::Select(int step) {
  if (!model_.has_answers()) return;
  std::vector<std::string> names;
  for (const auto& [name, summary] : SummariseMainJobs(model_.answers().devices)) {
    names.push_back(name);
  }
  if (names.empty()) {
    view_.selected.clear();
    return;
  }
  const auto found = std::find(names.begin(), names.end(), view_.selected);
  int index = found == names.end() ? 0 : static_cast<int>(found - names.begin()) + step;
  index = std::clamp(index, 0, static_cast<int>(names.size()) - 1);
  view_.selected = names[static_cast<size_t>(index)];
}

void TopSession::Ask() {
  if (view_.selected.empty()) {
    view_.prompt = "no main job is attached: nothing to pause";
    return;
  }
  is_asking_ = true;
  const std::string name = OneLine(view_.selected);
  view_.prompt =
      model_.answers().IsPaused(view_.selected)
          ? absl::StrCat("Resume filling ", name, "?  y = yes, any other key = no")
          : absl::StrCat("Pause filling ", name, "? It trains on.  y = yes, any other key = no");
}

void TopSession::SetPaused() {
  const bool is_paused = model_.answers().IsPaused(view_.selected);
  v1::UpdateMainJobRequest request;
  request.set_main_job(view_.selected);
  request.set_paused(!is_paused);
  const absl::StatusOr<v1::MainJobSettings> settings = client_.UpdateMainJob(request);
  const std::string name = OneLine(view_.selected);
  if (!settings.ok()) {
    view_.prompt = absl::StrCat("not done: ", OneLine(settings.status().message()));
  } else if (is_paused) {
    view_.prompt = absl::StrCat("filling ", name, " again");
  } else {
    view_.prompt = absl::StrCat("filling ", name, " is paused; p resumes it");
  }
}

}  // namespace pipefill
