// The promise of the latest starts, kept: a gate in a model, with lengths that the predictor has
// not seen before, as they come.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "agent/learn/bubble_predictor.h"
#include "agent/learn/latest_start.h"
#include "client/pages/window_page.h"

namespace pipefill {
namespace {

constexpr uint32_t kSlot = 0;
constexpr int kWarmUp = 80;
constexpr int kBubbles = 1'000;

// Entries of the ladder and lengths in between.
constexpr int64_t kUnits[] = {300'000, 560'000, 1'700'000};
constexpr double kRatios[] = {0.05, 0.2, 0.5};

using Random = std::mt19937_64;

// Lengths of one bubble, in ms, by the number of the iteration.
struct Lengths {
  std::string name;
  std::function<double(int, Random&)> draw;
  // Of 64 lengths, which are a small sample of what comes, and of the past.
  double tolerance = 1.25;
  // Of what the best share fills that only hindsight knows. Less where the promise first breaks
  // early and 64 lengths cannot say how rarely: the cut-off is the careful side of it.
  double least_fill = 0.97;
};

void PrintTo(const Lengths& lengths, std::ostream* out) { *out << lengths.name; }

double Normal(Random& random, double mean, double deviation) {
  return std::normal_distribution<double>(mean, deviation)(random);
}

std::vector<Lengths> AllLengths() {
  return {
      {"constant", [](int, Random&) { return 12.0; }},
      {"normal", [](int, Random& random) { return Normal(random, 12.0, 1.5); }},
      {"bimodal",
       [](int, Random& random) {
         return std::bernoulli_distribution(0.2)(random) ? Normal(random, 4.0, 0.2)
                                                         : Normal(random, 16.0, 0.8);
       },
       /*tolerance=*/1.25, /*least_fill=*/0.75},
      // A fifth longer within 200 iterations, then back.
      {"drifting",
       [](int i, Random& random) {
         const int phase = i % 400;
         const double way = phase < 200 ? phase / 200.0 : 2.0 - phase / 200.0;
         return 12.0 * (1.0 + 0.2 * way) * Normal(random, 1.0, 0.02);
       },
       // While it shortens the kept lengths are 3 % too long, which shows in the latest starts.
       /*tolerance=*/1.6},
      {"heavy_tailed",
       [](int, Random& random) { return std::lognormal_distribution<double>(2.3, 0.8)(random); },
       /*tolerance=*/1.25, /*least_fill=*/0.75},
  };
}

int64_t DrawNs(const Lengths& lengths, int iteration, Random& random) {
  return std::max<int64_t>(1, static_cast<int64_t>(lengths.draw(iteration, random) * 1e6));
}

// Even over the units.
int64_t PhaseNs(int i, int64_t unit_ns) { return i % 16 * unit_ns / 16; }

struct Filled {
  double started_ns = 0.0;  // of whole units
  double overrun_ns = 0.0;
  double inside_ns() const { return started_ns - overrun_ns; }
};

// When a unit may start, both included.
struct Starts {
  int64_t earliest_ns = 0;
  int64_t latest_ns = 0;
};

// Starts unit after unit while it may, the first one `phase_ns` late: else a cut-off just above a
// multiple of the unit would look better than one just below.
void Fill(int64_t length_ns, int64_t unit_ns, int64_t phase_ns, const Starts& starts,
          Filled* filled) {
  for (int64_t start_ns = starts.earliest_ns + phase_ns;
       start_ns <= starts.latest_ns && start_ns < length_ns; start_ns += unit_ns) {
    filled->started_ns += static_cast<double>(unit_ns);
    filled->overrun_ns += static_cast<double>(std::max<int64_t>(0, start_ns + unit_ns - length_ns));
  }
}

// What a gate reads out of its page.
class Published {
 public:
  Starts StartsOf(const BubblePredictor& predictor, int64_t unit_ns) {
    const BubbleWindow& window = predictor.WindowOf(kSlot);
    WindowEntry& entry = page_->entries[kSlot];
    entry.offered.store(window.is_offered ? 1 : 0);
    for (size_t i = 0; i < kUnitLadder; ++i) {
      page_->unit_ns[i].store(static_cast<uint64_t>(predictor.unit_ns()[i]));
      entry.latest_start_ns[i].store(window.latest_start_ns[i]);
    }
    return {.earliest_ns = window.earliest_start_ns,
            .latest_ns = LatestStart(*page_, kSlot, static_cast<uint64_t>(unit_ns))};
  }

 private:
  const std::unique_ptr<WindowPage> page_ = std::make_unique<WindowPage>();
};

class PromiseTest : public ::testing::TestWithParam<Lengths> {
 protected:
  // What a gate fills that learns as it goes.
  Filled RunGate(int64_t unit_ns, double ratio) {
    BubblePredictor predictor({.overrun_ratio = ratio});
    Published published;
    Random random(17);
    Filled filled;
    for (int i = 0; i < kWarmUp + kBubbles; ++i) {
      const int64_t length_ns = DrawNs(GetParam(), i, random);
      if (i >= kWarmUp) {
        Fill(length_ns, unit_ns, PhaseNs(i, unit_ns), published.StartsOf(predictor, unit_ns),
             &filled);
      }
      predictor.OnLength(kSlot, length_ns);
    }
    return filled;
  }

  // What one fixed share of the median fills, as in PipeFill, if somebody knew the distribution and
  // had chosen the largest share with which units of all lengths keep the promise.
  Filled RunBestShare(int64_t unit_ns, double ratio) {
    std::vector<int64_t> known;
    Random of_known(99);
    for (int i = 0; i < 20'000; ++i) known.push_back(DrawNs(GetParam(), i, of_known));
    std::sort(known.begin(), known.end());
    int64_t end_ns = known[known.size() / 2];
    for (const int64_t unit : kUnits) {
      end_ns = std::min(end_ns, FindLatestStart(known, unit, ratio) + unit);
    }
    Random random(17);
    Filled filled;
    for (int i = 0; i < kWarmUp + kBubbles; ++i) {
      const int64_t length_ns = DrawNs(GetParam(), i, random);
      if (i < kWarmUp) continue;
      Fill(length_ns, unit_ns, PhaseNs(i, unit_ns), {.latest_ns = end_ns - unit_ns}, &filled);
    }
    return filled;
  }
};

TEST_P(PromiseTest, OverrunOfAllUnitsIsWithinThePromisedShareOfTheirTime) {
  for (const int64_t unit_ns : kUnits) {
    for (const double ratio : kRatios) {
      const Filled filled = RunGate(unit_ns, ratio);
      EXPECT_LE(filled.overrun_ns, ratio * filled.started_ns)
          << "unit " << unit_ns << " ratio " << ratio;
    }
  }
}

// The promise is for each start by itself, so it must hold for a gate that starts each of its units
// as late as it may.
TEST_P(PromiseTest, OverrunOfTheLastPossibleStartsIsWhatWasPromised) {
  for (const double ratio : kRatios) {
    constexpr int64_t kUnit = 560'000;
    BubblePredictor predictor({.overrun_ratio = ratio});
    Published published;
    Random random(23);
    Filled filled;
    for (int i = 0; i < kWarmUp + 5 * kBubbles; ++i) {
      const int64_t length_ns = DrawNs(GetParam(), i, random);
      const int64_t start_ns = published.StartsOf(predictor, kUnit).latest_ns;
      if (i >= kWarmUp && start_ns >= 0 && start_ns < length_ns) {
        filled.started_ns += static_cast<double>(kUnit);
        filled.overrun_ns +=
            static_cast<double>(std::max<int64_t>(0, start_ns + kUnit - length_ns));
      }
      predictor.OnLength(kSlot, length_ns);
    }
    EXPECT_LE(filled.overrun_ns, GetParam().tolerance * ratio * filled.started_ns) << ratio;
  }
}

TEST_P(PromiseTest, FillsNoLessThanTheBestFixedShareThatKeepsThePromise) {
  for (const int64_t unit_ns : kUnits) {
    for (const double ratio : kRatios) {
      EXPECT_GE(RunGate(unit_ns, ratio).inside_ns(),
                GetParam().least_fill * RunBestShare(unit_ns, ratio).inside_ns())
          << "unit " << unit_ns << " ratio " << ratio;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PromiseTest, ::testing::ValuesIn(AllLengths()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace pipefill
