#include "scheduler/core/job_forecast.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "planner/profile.h"

namespace pipefill::scheduler {
namespace {

// Share of iterations that are filled until the agent's own counts say more: its default.
constexpr double kFilledShare = 15.0 / 16;
// From this many hold-outs on they do.
constexpr int64_t kHoldOutsMin = 9;

// Units before the job's own times are worth a forecast.
constexpr int64_t kUnitsMin = 8;

// A plan is not corrected by more than this: what is further off has another reason, such as a
// neighbour that starts up.
constexpr double kYieldMin = 0.25;
constexpr double kYieldMax = 1.5;

// Units are not taken to be faster than in the profile by more than this.
constexpr double kRatioMin = 1e-3;

std::string NameOf(const DeviceKey& device) { return absl::StrCat(device.node, "/", device.name); }

std::string NameOf(const BubbleStats& bubble) {
  static constexpr const char* kClasses[] = {"unknown", "head",    "middle", "scattered",
                                             "tail",    "failure", "custom"};
  return absl::StrCat(kClasses[static_cast<size_t>(bubble.bubble_class)], " ", bubble.ordinal);
}

const Device* FindDevice(const NodeMap& nodes, const DeviceKey& key) {
  const auto node = nodes.find(key.node);
  if (node == nodes.end()) return nullptr;
  const auto device = std::find_if(node->second->devices.begin(), node->second->devices.end(),
                                   [&](const Device& known) { return known.key == key; });
  return device == node->second->devices.end() ? nullptr : &*device;
}

double FilledShare(const MainRank& rank) {
  if (!rank.control.has_value() || rank.control->hold_outs < kHoldOutsMin) return kFilledShare;
  const auto filled = static_cast<double>(rank.control->filled);
  return filled / (filled + static_cast<double>(rank.control->hold_outs));
}

CalendarBubble BubbleOf(const BubbleStats& stats, int64_t memory_free_bytes) {
  CalendarBubble bubble{.name = NameOf(stats),
                        .p10_ns = stats.p10_ns,
                        .p50_ns = stats.p50_ns,
                        .p90_ns = stats.p90_ns,
                        .memory_free_bytes = memory_free_bytes};
  if (stats.memory_free_bytes > 0) {  // 0 = the main job does not say
    bubble.memory_free_bytes = std::min(memory_free_bytes, stats.memory_free_bytes);
  }
  const size_t limits = std::min(stats.unit_ns.size(), stats.latest_start_ns.size());
  for (size_t i = 0; i < limits; ++i) {
    bubble.start_limits.push_back({stats.unit_ns[i], stats.latest_start_ns[i]});
  }
  bubble.earliest_start_ns = stats.earliest_start_ns;
  return bubble;
}

bool IsOffered(const BubbleStats& stats, const DeviceKey& device) {
  return stats.device == device && stats.offer == BubbleOffer::kYes &&
         stats.bubble_class != BubbleClass::kFailure;
}

// The longest unit that may start in the bubble; 0 if none may.
int64_t LongestUnitNs(const BubbleStats& stats) {
  int64_t longest_ns = 0;
  const size_t limits = std::min(stats.unit_ns.size(), stats.latest_start_ns.size());
  for (size_t i = 0; i < limits; ++i) {
    if (stats.latest_start_ns[i] >= 0) longest_ns = std::max(longest_ns, stats.unit_ns[i]);
  }
  return limits > 0 ? longest_ns : stats.p90_ns;
}

// The configuration to reckon with, and what is known of the work done.
struct Work {
  Configuration configuration;
  double samples_done = 0;
  double slowdown = 1;  // of units, against the profile
};

// Units and their time since the attempt has settled, if there are enough; else all of them.
FillProgress TellingUnits(const Attempt& attempt) {
  FillProgress telling = attempt.progress;
  if (!attempt.pace.has_value()) return telling;
  const FillProgress& settled = attempt.pace->settled;
  if (telling.units - settled.units < kUnitsMin) return telling;
  telling.units -= settled.units;
  telling.pieces -= settled.pieces;
  telling.unit_cpu_ns -= settled.unit_cpu_ns;
  return telling;
}

double SamplesPerUnit(const Configuration& configuration) {
  return static_cast<double>(configuration.samples_per_pass) /
         static_cast<double>(configuration.units_per_pass());
}

// Whether its samples are the pieces of elastic units, as `pipefill profile` writes it.
bool IsElastic(const Configuration& configuration) {
  return configuration.units_per_pass() == 1 && configuration.batch_size > 0 &&
         configuration.batch_size == configuration.samples_per_pass;
}

Work WorkOf(const Attempt& attempt, const Configuration* chosen) {
  const auto units = static_cast<double>(attempt.progress.units);
  const FillProgress telling = TellingUnits(attempt);
  if (chosen == nullptr) {
    return {LearnedConfiguration(std::max<int64_t>(1, telling.units), telling.unit_cpu_ns,
                                 telling.unit_estimate_ns),
            units};
  }
  if (telling.units < kUnitsMin) return {*chosen, units * SamplesPerUnit(*chosen)};
  if (telling.pieces > 0 && IsElastic(*chosen)) {
    const double piece_ns =
        static_cast<double>(telling.unit_cpu_ns) / static_cast<double>(telling.pieces);
    const double slowdown =
        std::max(piece_ns * SamplesPerUnit(*chosen) / chosen->unit_mean_ns(), kRatioMin);
    return {Slowed(*chosen, slowdown), static_cast<double>(attempt.progress.pieces), slowdown};
  }
  const double unit_ns =
      static_cast<double>(telling.unit_cpu_ns) / static_cast<double>(telling.units);
  const double ratio = std::max(unit_ns / chosen->unit_mean_ns(), kRatioMin);
  const double slowdown = std::max(1.0, ratio);
  return {Slowed(*chosen, slowdown), units * std::min(1.0, ratio) * SamplesPerUnit(*chosen),
          slowdown};
}

// Samples per second in the last seconds; nullopt while that is not known.
std::optional<double> RecentRate(const Attempt& attempt, const Configuration* chosen) {
  if (!attempt.pace.has_value()) return std::nullopt;
  const ProgressMark& mark = attempt.pace->older_mark;
  if (!mark.at.has_value() || attempt.progress_at - *mark.at < kMarkEvery) return std::nullopt;
  const auto units = static_cast<double>(attempt.progress.units - mark.progress.units);
  const auto pieces = static_cast<double>(attempt.progress.pieces - mark.progress.pieces);
  double samples = chosen == nullptr ? units : units * SamplesPerUnit(*chosen);
  if (chosen != nullptr && IsElastic(*chosen) && pieces > 0) samples = pieces;
  return samples / absl::ToDoubleSeconds(attempt.progress_at - *mark.at);
}

// What of the planned rate comes about, going by the last seconds. What a plan does not know: work
// between units, and what gates pass over.
double YieldOf(const Attempt& attempt, const Configuration* chosen, double planned_per_s) {
  const std::optional<double> recent = RecentRate(attempt, chosen);
  return recent.has_value() ? std::clamp(*recent / planned_per_s, kYieldMin, kYieldMax) : 1;
}

std::string ProfileText(const Job& job) {
  return absl::StrCat("from its profile, ", job.profile.source,
                      job.profile.source.empty() ? "" : ", ");
}

std::string PlaceText(const Calendar& calendar, const DeviceKey& device, size_t neighbours) {
  std::string text = absl::StrCat(calendar.bubbles.size(), " bubbles of ", NameOf(device));
  if (neighbours > 0)
    absl::StrAppend(&text, ", beside ", neighbours, " other(s) taken to be alike");
  return text;
}

std::string SourceText(const Job& job, const Work& work, const Calendar& calendar,
                       size_t neighbours) {
  const int64_t units = job.live_attempt().progress.units;
  std::string text = job.live_attempt().configuration.empty()
                         ? absl::StrCat("from ", units, " units so far, ")
                         : ProfileText(job);
  if (work.slowdown > 1.05) {
    absl::StrAppend(&text, "with units ", absl::StrFormat("%.2g", work.slowdown),
                    " times as long, as they were so far, ");
  }
  return absl::StrCat(text, PlaceText(calendar, job.live_attempt().device, neighbours));
}

// The rate beside others that are taken to be alike: who they are does not show in a report; their
// memory was looked at when it was placed.
std::optional<Interval> RateBesideAlike(const Configuration& configuration,
                                        const Calendar& calendar, size_t neighbours) {
  Configuration alike = configuration;
  alike.resident_bytes = 0;
  ForecastOptions options;
  options.neighbours.assign(neighbours, &alike);
  return ForecastConfiguration(configuration, calendar, options);
}

constexpr char kNoRoomText[] = "the jobs beside it leave no room for its units";

// More others than that are not reckoned with.
constexpr size_t kNeighboursMax = 7;

JobForecast Unknown(std::string text) {
  JobForecast forecast;
  forecast.text = std::move(text);
  return forecast;
}

}  // namespace

std::optional<Calendar> CalendarOf(const NodeMap& nodes, const DeviceKey& key,
                                   int64_t memory_free_bytes) {
  const Device* device = FindDevice(nodes, key);
  const bool is_measured =
      device != nullptr && device->main_rank.has_value() && device->main_rank->iteration_p50_ns > 0;
  if (!is_measured) return std::nullopt;
  Calendar calendar;
  calendar.iteration_ns = device->main_rank->iteration_p50_ns;
  calendar.filled_share = FilledShare(*device->main_rank);
  for (const BubbleStats& stats : nodes.find(key.node)->second->bubbles) {
    if (IsOffered(stats, key)) calendar.bubbles.push_back(BubbleOf(stats, memory_free_bytes));
  }
  if (calendar.bubbles.empty()) return std::nullopt;
  return calendar;
}

std::optional<BubbleRoom> RoomOf(const Node& node, const DeviceKey& device) {
  BubbleRoom room{.most_bytes = 0};
  for (const BubbleStats& stats : node.bubbles) {
    if (!IsOffered(stats, device)) continue;
    const int64_t longest_ns = LongestUnitNs(stats);
    if (longest_ns <= 0) continue;
    const int64_t free_bytes = stats.memory_free_bytes > 0 ? stats.memory_free_bytes : INT64_MAX;
    room.longest_unit_ns = std::max(room.longest_unit_ns, longest_ns);
    room.least_bytes = std::min(room.least_bytes, free_bytes);
    room.most_bytes = std::max(room.most_bytes, free_bytes);
  }
  return room.longest_unit_ns > 0 ? std::optional(room) : std::nullopt;
}

std::shared_ptr<const std::vector<UnitNeed>> NeedsOf(const JobProfile& profile) {
  const bool is_measured = profile.is_of_this_content && !profile.is_learned;
  if (!is_measured || profile.profile->configurations.empty()) return nullptr;
  std::vector<UnitNeed> needs;
  for (const Configuration& configuration : profile.profile->configurations) {
    UnitNeed need{.resident_bytes = configuration.resident_bytes,
                  .peak_bytes = configuration.resident_bytes};
    for (const ProfileNode& node : configuration.chain) {
      need.unit_ns = std::max(need.unit_ns, node.high_ns());
      need.peak_bytes = std::max(need.peak_bytes, configuration.resident_bytes + node.memory_bytes);
    }
    needs.push_back(need);
  }
  return std::make_shared<const std::vector<UnitNeed>>(std::move(needs));
}

std::string ChooseConfiguration(const Job& job, const NodeMap& nodes, const DeviceKey& device) {
  const FillProfile& profile = *job.profile.profile;
  if (profile.configurations.empty()) return "";
  const std::optional<Calendar> calendar = CalendarOf(nodes, device, job.memory_bytes);
  if (!calendar.has_value()) return "";
  const std::optional<RateForecast> forecast = ForecastRate(profile, *calendar, {});
  return forecast.has_value() ? profile.configurations[forecast->configuration].name : "";
}

JobForecast ForecastStart(const Job& job, const NodeMap& nodes, const DeviceKey& device,
                          size_t neighbours) {
  const FillProfile& profile = *job.profile.profile;
  if (profile.configurations.empty()) {
    return Unknown("no profile; `pipefill profile -o FILE -- PROGRAM` measures one");
  }
  const std::optional<Calendar> calendar = CalendarOf(nodes, device, job.memory_bytes);
  if (!calendar.has_value()) {
    return Unknown(absl::StrCat("no bubble of ", NameOf(device), " is offered now"));
  }
  std::string why;
  const std::optional<RateForecast> alone = ForecastRate(profile, *calendar, {}, &why);
  if (!alone.has_value()) return Unknown(why);
  const Configuration& chosen = profile.configurations[alone->configuration];
  const size_t others = std::min(neighbours, kNeighboursMax);
  const std::optional<Interval> rate = RateBesideAlike(chosen, *calendar, others);
  if (!rate.has_value()) return Unknown(kNoRoomText);
  JobForecast forecast{
      .rate = *rate,
      .seconds_left = std::nullopt,
      .configuration = chosen.name,
      .text = absl::StrCat(ProfileText(job), PlaceText(*calendar, device, others))};
  if (profile.samples_total > 0) {
    forecast.seconds_left = SecondsLeft(static_cast<double>(profile.samples_total), *rate);
  }
  return forecast;
}

std::optional<JobForecast> ForecastJob(const Job& job, const NodeMap& nodes) {
  if (job.phase != JobPhase::kStarting && job.phase != JobPhase::kRunning) return std::nullopt;
  const Attempt& attempt = job.live_attempt();
  const std::optional<Calendar> calendar = CalendarOf(nodes, attempt.device, job.memory_bytes);
  if (!calendar.has_value()) {
    return Unknown(absl::StrCat("no bubble of ", NameOf(attempt.device), " is offered now"));
  }
  const FillProfile& profile = *job.profile.profile;
  const Configuration* chosen = profile.Find(attempt.configuration);
  const FillProgress& progress = attempt.progress;
  if (chosen == nullptr && progress.units < kUnitsMin) {
    return Unknown(absl::StrCat("no profile, and only ", progress.units, " units so far"));
  }
  const Work work = WorkOf(attempt, chosen);
  const int32_t resident = FindDevice(nodes, attempt.device)->resident;
  const size_t neighbours =
      std::min(static_cast<size_t>(std::max(resident - 1, 0)), kNeighboursMax);
  const std::optional<Interval> rate = RateBesideAlike(work.configuration, *calendar, neighbours);
  if (!rate.has_value()) {
    FillProfile one;
    one.configurations = {work.configuration};
    std::string why;
    ForecastRate(one, *calendar, {}, &why);
    return Unknown(why.empty() ? kNoRoomText : why);
  }
  const double yield = YieldOf(attempt, chosen, rate->mid);
  JobForecast forecast{.rate = {rate->low * yield, rate->mid * yield, rate->high * yield},
                       .seconds_left = std::nullopt,
                       .configuration = attempt.configuration,
                       .text = SourceText(job, work, *calendar, neighbours)};
  if (yield != 1) {
    absl::StrAppend(&forecast.text, ", times ", absl::StrFormat("%.3f", yield),
                    ", as in the last seconds");
  }
  // Without a chosen configuration, what a unit is worth in samples of a profile is not known.
  const bool counts_samples = chosen != nullptr || profile.configurations.empty();
  if (profile.samples_total > 0 && counts_samples) {
    const auto total = static_cast<double>(profile.samples_total);
    forecast.seconds_left = SecondsLeft(total - work.samples_done, forecast.rate);
  }
  return forecast;
}

}  // namespace pipefill::scheduler
