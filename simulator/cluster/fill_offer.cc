#include "simulator/cluster/fill_offer.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "agent/learn/bubble_predictor.h"
#include "client/pages/signal_page.h"

namespace pipefill::simulator {
namespace {

// Iterations from which agentd learns before anything is filled: all of its window, twice.
constexpr int kLearnIterations = 128;
// Units that one bubble of one iteration may take: more are no fill job but a mistake.
constexpr int kUnitsPerBubbleMax = 1'000'000;

absl::Status CheckRule(const FillRule& rule) {
  if (!(rule.static_share >= 0 && rule.static_share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("static_share=", rule.static_share, ": must be 0 (learned) or up to 1"));
  }
  if (!(rule.overrun_ratio > 0 && rule.overrun_ratio < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("overrun_ratio=", rule.overrun_ratio, ": must be between 0 and 1"));
  }
  if (rule.filled_share <= 0 || rule.filled_share > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("filled_share=", rule.filled_share, ": must be above 0 and at most 1"));
  }
  return absl::OkStatus();
}

// What agentd has learned of the stage after it has watched it for a while.
BubblePredictor Learn(const StageRun& stage, int64_t iteration_ns, const FillRule& rule) {
  BubblePredictor predictor(PredictorOptions{.overrun_ratio = rule.overrun_ratio});
  if (rule.static_share > 0) predictor.SetStaticShare(rule.static_share);
  int64_t now_ns = 0;
  for (int i = 0; i < kLearnIterations; ++i) {
    predictor.OnIterationBegin(now_ns);
    for (size_t k = 0; k < stage.bubbles.size(); ++k) {
      const std::vector<int64_t>& lengths = stage.bubbles[k].lengths_ns;
      predictor.OnLength(static_cast<uint32_t>(k),
                         lengths[static_cast<size_t>(i) % lengths.size()]);
    }
    now_ns += iteration_ns;
    predictor.OnIterationEnd(now_ns);
  }
  return predictor;
}

OfferedBubble OfferedFrom(const StageBubble& bubble, const BubbleWindow& window,
                          const UnitLadder& unit_ns, int64_t memory_free_bytes) {
  OfferedBubble offered{
      .bubble_class = bubble.bubble_class,
      .ordinal = bubble.ordinal,
      .calendar = {.name = absl::StrCat("bubble ", bubble.ordinal),
                   .p10_ns = bubble.p10_ns,
                   .p50_ns = bubble.p50_ns,
                   .p90_ns = bubble.p90_ns,
                   .memory_free_bytes = bubble.memory_free_bytes.value_or(memory_free_bytes),
                   .earliest_start_ns = window.earliest_start_ns},
      .lengths_ns = bubble.lengths_ns};
  for (size_t i = 0; i < unit_ns.size(); ++i) {
    offered.calendar.start_limits.push_back({unit_ns[i], window.latest_start_ns[i]});
  }
  return offered;
}

// Goes through a chain, again and again.
class ChainWalk {
 public:
  explicit ChainWalk(const Configuration& configuration) : configuration_(configuration) {}

  const ProfileNode& node() const { return configuration_.chain[node_]; }
  int64_t units() const { return units_; }
  void Next() {
    ++units_;
    if (++repeat_ < node().repeats) return;
    repeat_ = 0;
    node_ = (node_ + 1) % configuration_.chain.size();
  }

 private:
  const Configuration& configuration_;
  size_t node_ = 0;
  int64_t repeat_ = 0;
  int64_t units_ = 0;
};

// How a job fills bubbles.
struct Filling {
  const Configuration& configuration;
  double slowness;

  int64_t Slowed(int64_t time_ns) const {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(time_ns) * slowness));
  }
};

// One bubble of one iteration.
UnitRun FillBubble(const OfferedBubble& bubble, int64_t length_ns, const Filling& filling,
                   ChainWalk& walk) {
  static constexpr int64_t kHandOverNs = Calendar().hand_over_ns;
  UnitRun run;
  run.begin_ns = run.end_ns = std::max(kHandOverNs, bubble.calendar.earliest_start_ns);
  while (run.units < kUnitsPerBubbleMax && run.end_ns < length_ns) {
    const ProfileNode& node = walk.node();
    const int64_t memory_bytes = filling.configuration.resident_bytes + node.memory_bytes;
    if (memory_bytes > bubble.calendar.memory_free_bytes) break;
    if (run.end_ns > LatestStart(bubble.calendar, filling.Slowed(node.high_ns()))) break;
    run.end_ns += filling.Slowed(node.time_ns);
    ++run.units;
    walk.Next();
  }
  return run;
}

// Sums over iterations.
struct Filled {
  double filled_ns = 0;
  double overrun_ns = 0;
  PerClass by_class_ns;

  void Add(const OfferedBubble& bubble, int64_t length_ns, const UnitRun& run) {
    const auto ran_ns = static_cast<double>(run.end_ns - run.begin_ns);
    filled_ns += ran_ns;
    by_class_ns[bubble.bubble_class] += ran_ns;
    if (run.units > 0) {
      overrun_ns += static_cast<double>(std::max<int64_t>(0, run.end_ns - length_ns));
    }
  }
};

}  // namespace

absl::StatusOr<StageOffer> OfferOf(const StageRun& stage, int64_t iteration_ns,
                                   const FillRule& rule, int64_t memory_free_bytes) {
  if (absl::Status status = CheckRule(rule); !status.ok()) return status;
  if (stage.bubbles.size() > kBubbleSlots) {
    return absl::InvalidArgumentError(absl::StrCat("a stage has ", stage.bubbles.size(),
                                                   " bubbles; agentd learns ", kBubbleSlots));
  }
  StageOffer offer{.iteration_ns = iteration_ns,
                   .filled_share = rule.filled_share,
                   .bubble_share = stage.bubble_share};
  if (stage.bubbles.empty()) return offer;
  offer.iterations = static_cast<int>(stage.bubbles.front().lengths_ns.size());
  const BubblePredictor predictor = Learn(stage, iteration_ns, rule);
  for (size_t k = 0; k < stage.bubbles.size(); ++k) {
    const StageBubble& bubble = stage.bubbles[k];
    offer.bubble_shares[bubble.bubble_class] +=
        static_cast<double>(bubble.mean_ns) / static_cast<double>(iteration_ns);
    const BubbleWindow& window = predictor.WindowOf(static_cast<uint32_t>(k));
    const bool is_left_out =
        bubble.bubble_class == BubbleClass::kScattered && !rule.fills_scattered;
    if (!window.is_offered || is_left_out) continue;
    offer.bubbles.push_back(OfferedFrom(bubble, window, predictor.unit_ns(), memory_free_bytes));
  }
  return offer;
}

std::vector<scheduler::BubbleStats> StatsOf(const StageOffer& offer, const DeviceKey& device) {
  std::vector<scheduler::BubbleStats> all;
  for (const OfferedBubble& bubble : offer.bubbles) {
    scheduler::BubbleStats stats;
    stats.device = device;
    stats.bubble_class = static_cast<scheduler::BubbleClass>(bubble.bubble_class);
    stats.ordinal = static_cast<int32_t>(bubble.ordinal);
    stats.count = kLearnIterations;
    stats.p10_ns = bubble.calendar.p10_ns;
    stats.p50_ns = bubble.calendar.p50_ns;
    stats.p90_ns = bubble.calendar.p90_ns;
    stats.memory_free_bytes = bubble.calendar.memory_free_bytes;
    for (const StartLimit& limit : bubble.calendar.start_limits) {
      stats.unit_ns.push_back(limit.unit_ns);
      stats.latest_start_ns.push_back(limit.latest_start_ns);
    }
    stats.offer = scheduler::BubbleOffer::kYes;
    stats.earliest_start_ns = bubble.calendar.earliest_start_ns;
    all.push_back(std::move(stats));
  }
  return all;
}

std::optional<FillYield> Fill(const Configuration& configuration, const StageOffer& offer,
                              double slowness) {
  ChainWalk walk(configuration);
  Filled filled;
  for (int i = 0; i < offer.iterations; ++i) {
    for (const OfferedBubble& bubble : offer.bubbles) {
      const int64_t length_ns = bubble.lengths_ns[static_cast<size_t>(i)];
      filled.Add(bubble, length_ns, FillBubble(bubble, length_ns, {configuration, slowness}, walk));
    }
  }
  if (walk.units() == 0) return std::nullopt;
  const double time_ns =
      static_cast<double>(offer.iterations) * static_cast<double>(offer.iteration_ns);
  const double passes =
      static_cast<double>(walk.units()) / static_cast<double>(configuration.units_per_pass());
  const double samples = passes * static_cast<double>(configuration.samples_per_pass);
  FillYield yield{.samples_per_s = samples / time_ns * 1e9 * offer.filled_share,
                  .filled_share = filled.filled_ns / time_ns * offer.filled_share,
                  .overrun_share = filled.overrun_ns / time_ns * offer.filled_share,
                  .filled_shares = {}};
  for (const auto& [bubble_class, ns] : filled.by_class_ns) {
    yield.filled_shares[bubble_class] = ns / time_ns * offer.filled_share;
  }
  return yield;
}

std::vector<UnitRun> FillIteration(const Configuration& configuration, const StageOffer& offer,
                                   double slowness, int iteration) {
  ChainWalk walk(configuration);
  std::vector<UnitRun> runs;
  for (const OfferedBubble& bubble : offer.bubbles) {
    const int64_t length_ns = bubble.lengths_ns[static_cast<size_t>(iteration)];
    runs.push_back(FillBubble(bubble, length_ns, {configuration, slowness}, walk));
  }
  return runs;
}

}  // namespace pipefill::simulator
