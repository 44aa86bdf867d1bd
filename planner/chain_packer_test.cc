#include "planner/chain_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

namespace pipefill {
namespace {

Configuration ChainOf(std::vector<ProfileNode> chain) {
  Configuration configuration;
  configuration.name = "c";
  configuration.chain = std::move(chain);
  return configuration;
}

int Draw(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

Configuration DrawConfiguration(std::mt19937& random) {
  std::vector<ProfileNode> chain(static_cast<size_t>(Draw(random, 1, 4)));
  for (ProfileNode& node : chain) {
    node.time_ns = Draw(random, 1, 5);
    node.time_p90_ns = Draw(random, 0, 1) == 0 ? 0 : node.time_ns + Draw(random, 0, 2);
    node.memory_bytes = Draw(random, 0, 3);
    node.repeats = Draw(random, 1, 3);
  }
  Configuration configuration = ChainOf(std::move(chain));
  configuration.resident_bytes = Draw(random, 0, 1);
  return configuration;
}

std::vector<Window> DrawWindows(std::mt19937& random) {
  std::vector<Window> windows(static_cast<size_t>(Draw(random, 1, 4)));
  for (Window& window : windows) {
    window.length_ns = Draw(random, 0, 9);
    if (Draw(random, 0, 3) == 0) window.unit_max_ns = Draw(random, 1, 6);
    window.memory_free_bytes = Draw(random, 1, 5);
  }
  return windows;
}

// The most units that any way to start nodes in order, with idle time wherever it pleases, gets
// done in `windows`: tries them all.
class BruteForce {
 public:
  BruteForce(const Configuration& configuration, const std::vector<Window>& windows)
      : windows_(windows), resident_bytes_(configuration.resident_bytes) {
    for (const ProfileNode& node : configuration.chain) {
      for (int64_t i = 0; i < node.repeats; ++i) nodes_.push_back(node);
    }
  }

  int64_t MostUnits() { return More(0, 0, 0); }

 private:
  int64_t More(size_t window, int64_t offset_ns, int64_t units) {
    if (window == windows_.size()) return 0;
    const auto [known, is_new] = known_.try_emplace({window, offset_ns, units}, 0);
    if (!is_new) return known->second;
    int64_t most = More(window + 1, 0, units);
    if (offset_ns < windows_[window].length_ns) {
      most = std::max(most, More(window, offset_ns + 1, units));
    }
    const ProfileNode& next = nodes_[static_cast<size_t>(units) % nodes_.size()];
    if (MayStart(next, windows_[window], offset_ns)) {
      most = std::max(most, 1 + More(window, offset_ns + next.time_ns, units + 1));
    }
    known_[{window, offset_ns, units}] = most;
    return most;
  }

  bool MayStart(const ProfileNode& node, const Window& window, int64_t offset_ns) const {
    return offset_ns + node.high_ns() <= window.length_ns && node.high_ns() <= window.unit_max_ns &&
           resident_bytes_ + node.memory_bytes <= window.memory_free_bytes;
  }

  const std::vector<Window>& windows_;
  const int64_t resident_bytes_;
  std::vector<ProfileNode> nodes_;
  std::map<std::tuple<size_t, int64_t, int64_t>, int64_t> known_;
};

TEST(ChainPackerTest, GetsAsFarAsAnyWayToPackInOrder) {
  constexpr int kInstances = 12'000;
  std::mt19937 random(1);
  for (int i = 0; i < kInstances; ++i) {
    const Configuration configuration = DrawConfiguration(random);
    const std::vector<Window> windows = DrawWindows(random);
    ChainPacker packer(configuration, NodeTime::kMean);
    for (const Window& window : windows) packer.Pack(window);
    ASSERT_EQ(packer.units(), BruteForce(configuration, windows).MostUnits()) << "instance " << i;
  }
}

TEST(ChainPackerTest, GoesOnWhereItStopped) {
  const Configuration configuration = ChainOf({{.time_ns = 4}, {.time_ns = 2, .repeats = 2}});
  ChainPacker packer(configuration, NodeTime::kMean);
  EXPECT_EQ(packer.Pack({.length_ns = 5}), 4);
  EXPECT_EQ(packer.position(), 1);
  EXPECT_EQ(packer.next_node(), 1U);
  EXPECT_EQ(packer.Pack({.length_ns = 3}), 2);
  EXPECT_EQ(packer.position(), 2);
  EXPECT_EQ(packer.Pack({.length_ns = 7}), 6);  // the last repeat, and round to the first
  EXPECT_EQ(packer.position(), 1);
  EXPECT_EQ(packer.units(), 4);
}

TEST(ChainPackerTest, FitsByTheHighTimeAndSpendsTheMean) {
  const Configuration configuration = ChainOf({{.time_ns = 2, .time_p90_ns = 4, .repeats = 9}});
  const auto units = [&](NodeTime time) {
    ChainPacker packer(configuration, time);
    packer.Pack({.length_ns = 9});
    return packer.units();
  };
  EXPECT_EQ(units(NodeTime::kMean), 3);      // start at 0, 2, 4; at 6 there are 3 left
  EXPECT_EQ(units(NodeTime::kHigh), 2);      // start at 0, 4
  EXPECT_EQ(units(NodeTime::kMeanFits), 4);  // start at 0, 2, 4, 6
}

TEST(ChainPackerTest, CostsAsMuchInAnHourAsInASecond) {
  const Configuration configuration = ChainOf({{.time_ns = 10}, {.time_ns = 20, .repeats = 7}});
  ChainPacker packer(configuration, NodeTime::kMean);
  EXPECT_EQ(packer.Pack({.length_ns = 3'600'000'000'000}), 3'600'000'000'000);
  EXPECT_EQ(packer.units(), 3'600'000'000'000 / 150 * 8);
  EXPECT_LE(packer.steps(), 10);
}

TEST(ChainPackerTest, TurnEndsOnceItsBudgetIsUsed) {
  const Configuration configuration = ChainOf({{.time_ns = 4, .repeats = 100}});
  ChainPacker packer(configuration, NodeTime::kMean);
  EXPECT_EQ(packer.PackTurn({.length_ns = 100}, {.offset_ns = 0, .budget_ns = 10}), 12);
  EXPECT_EQ(packer.PackTurn({.length_ns = 100}, {.offset_ns = 90, .budget_ns = 10}), 8);
  EXPECT_EQ(packer.PackTurn({.length_ns = 100}, {.offset_ns = 98, .budget_ns = 10}), 0);
}

}  // namespace
}  // namespace pipefill
