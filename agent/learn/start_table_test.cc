#include "agent/learn/start_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "agent/learn/latest_start.h"

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;

// What a gate makes of the table: the straight line between two entries.
int64_t OnTheLine(const UnitLadder& table, const UnitLadder& units, int64_t unit_ns) {
  if (unit_ns <= units.front()) return table.front();
  for (size_t i = 1; i < kUnitLadder; ++i) {
    if (unit_ns == units[i]) return table[i];
    if (unit_ns > units[i]) continue;
    if (table[i] == kNever) return kNever;
    const double share =
        static_cast<double>(unit_ns - units[i - 1]) / static_cast<double>(units[i] - units[i - 1]);
    return table[i - 1] -
           static_cast<int64_t>(share * static_cast<double>(table[i - 1] - table[i]));
  }
  return kNever;
}

std::vector<int64_t> Sorted(std::vector<int64_t> lengths) {
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

// Unit lengths between and beyond the entries of the ladder.
std::vector<int64_t> ManyUnits() {
  std::vector<int64_t> units = {1, 50'000, 400'000'000};
  for (size_t i = 1; i < kUnitLadder; ++i) {
    const int64_t width = kDefaultUnitLadder[i] - kDefaultUnitLadder[i - 1];
    for (int64_t k = 0; k <= 40; ++k) {
      units.push_back(kDefaultUnitLadder[i - 1] + width * k / 40 + (k * 7919) % 97);
    }
  }
  return units;
}

void ExpectLinesKeepThePromise(const std::vector<int64_t>& lengths, double ratio) {
  const UnitLadder table = MakeStartTable(lengths, kDefaultUnitLadder, ratio);
  for (const int64_t unit_ns : ManyUnits()) {
    // The line's own rounding is worth a nanosecond.
    ASSERT_LE(OnTheLine(table, kDefaultUnitLadder, unit_ns),
              FindLatestStart(lengths, unit_ns, ratio) + 1)
        << "unit " << unit_ns << " ratio " << ratio;
  }
}

TEST(StartTableTest, HasTheExactLatestStartsWhereOneLengthSetsThem) {
  const std::vector<int64_t> lengths(64, 40 * kMs);
  const UnitLadder table = MakeStartTable(lengths, kDefaultUnitLadder, 0.2);
  for (size_t i = 0; i < kUnitLadder; ++i) {
    EXPECT_EQ(table[i], FindLatestStart(lengths, kDefaultUnitLadder[i], 0.2)) << i;
  }
}

TEST(StartTableTest, LinesReachTheExactLatestStartOfConstantLengths) {
  const std::vector<int64_t> lengths(64, 40 * kMs);
  const UnitLadder table = MakeStartTable(lengths, kDefaultUnitLadder, 0.2);
  EXPECT_NEAR(static_cast<double>(OnTheLine(table, kDefaultUnitLadder, 600'000)),
              static_cast<double>(FindLatestStart(lengths, 600'000, 0.2)), 2.0);
}

TEST(StartTableTest, IsAllNeverWithoutLengths) {
  UnitLadder never;
  never.fill(kNever);
  EXPECT_EQ(MakeStartTable({}, kDefaultUnitLadder, 0.2), never);
}

TEST(StartTableTest, LeadsNoLineToAnEntryThatMayNotStart) {
  const std::vector<int64_t> lengths(64, 6 * kMs);
  const UnitLadder table = MakeStartTable(lengths, kDefaultUnitLadder, 0.2);
  // 5 ms fit, 10 ms do not.
  EXPECT_EQ(table[9], FindLatestStart(lengths, 5 * kMs, 0.2));
  EXPECT_EQ(table[11], kNever);
}

TEST(StartTableTest, LowersTheShorterEntryWhereTheCutOffFallsInBetween) {
  // One bubble in five lasts 2 ms only; units of up to 1 ms may ignore that, longer ones may not.
  std::vector<int64_t> lengths(12, 2 * kMs);
  lengths.insert(lengths.end(), 52, 20 * kMs);
  ExpectLinesKeepThePromise(lengths, 0.19);
}

TEST(StartTableTest, LinesKeepThePromiseForEveryKindOfLengths) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal(10e6, 2e6);
  std::lognormal_distribution<double> heavy(15.0, 1.2);
  std::uniform_real_distribution<double> even(1e6, 30e6);
  for (int round = 0; round < 5; ++round) {
    std::vector<int64_t> of_normal, of_heavy, of_even, of_both;
    for (int i = 0; i < 64; ++i) {
      of_normal.push_back(std::max<int64_t>(1, static_cast<int64_t>(normal(generator))));
      of_heavy.push_back(static_cast<int64_t>(heavy(generator)));
      of_even.push_back(static_cast<int64_t>(even(generator)));
      of_both.push_back(i % 5 == 0 ? 3 * kMs + i : 21 * kMs + i);
    }
    for (const double ratio : {0.02, 0.2, 0.5}) {
      for (const auto& lengths : {of_normal, of_heavy, of_even, of_both}) {
        ExpectLinesKeepThePromise(Sorted(lengths), ratio);
      }
    }
  }
}

// A ladder of small numbers, so that many lengths lie between its entries.
UnitLadder SmallLadder() {
  UnitLadder ladder;
  for (size_t i = 0; i < kUnitLadder; ++i) ladder[i] = static_cast<int64_t>(8 * (i + 1) * (i + 1));
  return ladder;
}

RC_GTEST_PROP(StartTableTest, LinesNeverExceedTheExactCutOffAndEntriesNeverGrow, ()) {
  const int64_t spread = *rc::gen::element<int64_t>(20, 500, 3'000);
  const std::vector<int64_t> lengths = Sorted(*rc::gen::nonEmpty(
      rc::gen::container<std::vector<int64_t>>(rc::gen::inRange<int64_t>(1, spread + 1))));
  const double ratio = *rc::gen::inRange(1, 99) / 100.0;
  const UnitLadder ladder = SmallLadder();
  const UnitLadder table = MakeStartTable(lengths, ladder, ratio);
  RC_ASSERT(std::is_sorted(table.rbegin(), table.rend()));
  for (int64_t unit = 1; unit <= ladder.back(); ++unit) {
    // Entries are whole numbers and so is the line: together that rounds by up to one.
    RC_ASSERT(OnTheLine(table, ladder, unit) <= FindLatestStart(lengths, unit, ratio) + 1);
  }
}

}  // namespace
}  // namespace pipefill
