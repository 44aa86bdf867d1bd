#include "cli/plan/live_plan.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/forecast_text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/waiting_text.h"
#include "cli/words.h"
#include "common/plan_stages.h"

namespace pipefill {
namespace {

std::string JobWord(int64_t id) { return absl::StrCat("job ", id); }

// "job 7 (index), done in 5m".
std::string NeighbourText(const v1::PlanNeighbour& neighbour, absl::Time now) {
  std::string text = JobWord(neighbour.job_id());
  if (!neighbour.name().empty()) absl::StrAppend(&text, " (", OneLine(neighbour.name()), ")");
  if (neighbour.leaving()) return absl::StrCat(text, ", being stopped");
  if (neighbour.finish_unix_ns() == 0) return text;
  return absl::StrCat(text, ", done in ",
                      FormatSpan(absl::FromUnixNanos(neighbour.finish_unix_ns()) - now));
}

// The one that has the device; nullptr if it is not among them.
const v1::PlanCandidate* FindCandidate(const v1::PlanJobResponse& plan, const std::string& node,
                                       const std::string& device) {
  for (const v1::PlanCandidate& candidate : plan.candidates()) {
    if (candidate.node() == node && candidate.device() == device) return &candidate;
  }
  return nullptr;
}

std::string PlaceText(const v1::PlanJobResponse& plan, const std::string& node,
                      const std::string& device) {
  const v1::PlanCandidate* candidate = FindCandidate(plan, node, device);
  std::string text = DeviceName(node, device);
  if (candidate == nullptr) return text;
  return absl::StrCat(text, " (", OneLine(candidate->main_job()), ", stage ", candidate->stage(),
                      ")");
}

std::string Headline(const v1::PlanJobResponse& plan) {
  const std::string job = OneLine(plan.job().spec().name());
  if (!plan.node().empty()) {
    return absl::StrCat(job, " would start now on ", PlaceText(plan, plan.node(), plan.device()));
  }
  if (plan.evicting_node().empty()) return absl::StrCat(job, " would wait");
  const std::vector<int64_t> ids(plan.evicted_job_ids().begin(), plan.evicted_job_ids().end());
  return absl::StrCat(
      job, " would start on ", PlaceText(plan, plan.evicting_node(), plan.evicting_device()),
      " once ",
      absl::StrJoin(ids, ", ",
                    [](std::string* out, int64_t id) { absl::StrAppend(out, JobWord(id)); }),
      ids.size() == 1 ? " is evicted" : " are evicted");
}

// What is known of the place where it would start.
std::string StartFacts(const v1::PlanJobResponse& plan, absl::Time now) {
  const bool is_now = !plan.node().empty();
  const v1::PlanCandidate* candidate =
      is_now ? FindCandidate(plan, plan.node(), plan.device())
             : FindCandidate(plan, plan.evicting_node(), plan.evicting_device());
  Facts facts;
  const v1::PendingDetail& pending = plan.job().pending();
  facts.Add("in line",
            absl::StrCat(FormatCount(pending.place()), " of ", FormatCount(pending.waiting()),
                         ", priority ", plan.job().spec().priority()));
  if (candidate == nullptr) return facts.Text();
  std::vector<std::string> beside;
  for (const v1::PlanNeighbour& neighbour : candidate->neighbours()) {
    beside.push_back(NeighbourText(neighbour, now));
  }
  facts.AddProse("beside", absl::StrJoin(beside, "; "));
  AddForecast(candidate->forecast(), now, &facts);
  return facts.Text();
}

std::string Figure(double rate) { return rate > 0 ? absl::StrFormat("%.4g", rate) : ""; }

std::string CandidateTable(const v1::PlanJobResponse& plan, absl::Time now, size_t width) {
  Table table({{"MAIN JOB", Align::kLeft, /*can_shrink=*/true},
               {"STAGE", Align::kRight},
               {"FREE", Align::kRight},
               {"DEVICE", Align::kLeft, /*can_shrink=*/true},
               {"RATE/S", Align::kRight},
               {"LOW", Align::kRight},
               {"HIGH", Align::kRight},
               {"DONE IN", Align::kRight},
               {"CONFIGURATION", Align::kLeft, /*can_shrink=*/true}});
  for (const v1::PlanCandidate& candidate : plan.candidates()) {
    const v1::Forecast& forecast = candidate.forecast();
    const absl::Duration left = absl::FromUnixNanos(forecast.finish_unix_ns()) - now;
    table.AddRow({OneLine(candidate.main_job()), absl::StrCat(candidate.stage()),
                  absl::StrCat(candidate.devices_free(), "/", candidate.devices()),
                  DeviceName(candidate.node(), candidate.device()), Figure(forecast.rate()),
                  Figure(forecast.rate_low()), Figure(forecast.rate_high()),
                  forecast.finish_unix_ns() == 0 ? "" : FormatSpan(left),
                  OneLine(forecast.configuration())});
  }
  return table.is_empty() ? "" : absl::StrCat("\n", table.Text(width));
}

std::string LeftOutText(const v1::PlanJobResponse& plan, bool wants_all) {
  const int64_t left_out = plan.candidates_left_out();
  if (left_out == 0) return "";
  const std::string more = absl::StrCat(Plural(left_out, "stage"), " more");
  if (wants_all) return absl::StrCat(more, ", beyond those that a plan looks at\n");
  const int64_t shown_by_all =
      std::clamp<int64_t>(kPlanStagesMax - plan.candidates_size(), 0, left_out);
  if (shown_by_all == left_out) return absl::StrCat(more, "; --all shows them\n");
  return absl::StrCat(more, "; --all shows ", FormatCount(shown_by_all), " of them\n");
}

// Of a job that waits no rate may be known, for a reason that is the same in all stages.
std::string RateNotes(const v1::PlanJobResponse& plan) {
  const auto has_rate = [](const v1::PlanCandidate& candidate) {
    return candidate.forecast().rate() > 0;
  };
  Facts facts;
  if (std::none_of(plan.candidates().begin(), plan.candidates().end(), has_rate) &&
      plan.candidates_size() > 0) {
    facts.AddProse("no rate", plan.candidates(0).forecast().text());
  }
  return facts.Text();
}

// Why stages cannot take it now, and how many are not shown.
std::string CandidateNotes(const v1::PlanJobResponse& plan, bool wants_all) {
  Facts facts;
  for (const v1::PlanCandidate& candidate : plan.candidates()) {
    facts.AddProse(absl::StrCat(OneLine(candidate.main_job()), " ", candidate.stage()),
                   candidate.text());
  }
  return absl::StrCat(facts.Text(), LeftOutText(plan, wants_all));
}

Json CandidateJson(const v1::PlanCandidate& candidate) {
  Json json;
  json["main_job"] = candidate.main_job();
  json["stage"] = candidate.stage();
  json["devices"] = candidate.devices();
  json["devices_free"] = candidate.devices_free();
  json["device"] = DeviceName(candidate.node(), candidate.device());
  json["forecast"] = ForecastJson(candidate.forecast());
  if (!candidate.text().empty()) json["text"] = candidate.text();
  json["neighbours"] = Json::array();
  for (const v1::PlanNeighbour& neighbour : candidate.neighbours()) {
    Json one;
    one["job_id"] = neighbour.job_id();
    one["name"] = neighbour.name();
    one["priority"] = neighbour.priority();
    if (neighbour.finish_unix_ns() != 0) one["finish_unix_ns"] = neighbour.finish_unix_ns();
    if (neighbour.leaving()) one["leaving"] = true;
    json["neighbours"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string LivePlanText(const v1::PlanJobResponse& plan, absl::Time now,
                         const LivePlanStyle& style) {
  const bool would_wait = plan.node().empty() && plan.evicting_node().empty();
  return absl::StrCat(
      Headline(plan), "\n",
      would_wait ? absl::StrCat(WaitingFacts(plan.job()), RateNotes(plan)) : StartFacts(plan, now),
      CandidateTable(plan, now, style.width), CandidateNotes(plan, style.wants_all));
}

std::string LivePlanJson(const v1::PlanJobResponse& plan) {
  Json json;
  json["job"] = plan.job().spec().name();
  if (!plan.node().empty()) json["device"] = DeviceName(plan.node(), plan.device());
  if (!plan.evicting_node().empty()) {
    json["evicting_device"] = DeviceName(plan.evicting_node(), plan.evicting_device());
    json["evicted_jobs"] = Json::array();
    for (const int64_t id : plan.evicted_job_ids()) json["evicted_jobs"].push_back(id);
  }
  if (!plan.job().profile_source().empty()) json["profile_source"] = plan.job().profile_source();
  json["pending"] = PendingJson(plan.job().pending());
  json["candidates"] = Json::array();
  for (const v1::PlanCandidate& candidate : plan.candidates()) {
    json["candidates"].push_back(CandidateJson(candidate));
  }
  json["candidates_left_out"] = plan.candidates_left_out();
  json["notes"] = Json::array();
  for (const std::string& note : plan.notes()) json["notes"].push_back(note);
  return JsonText(json);
}

}  // namespace pipefill
