// Runs of the whole cluster in trouble: some seeds in which nothing may break, seeds that once
// found something, and bugs that are planted and must be found.
#include "simulator/faults/fault_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/log.h"

namespace pipefill::simulator {
namespace {

using ::testing::IsEmpty;

class Quiet : public ::testing::Environment {
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
};
const auto* const kQuiet = ::testing::AddGlobalTestEnvironment(new Quiet);

FaultRunResult RunSeed(uint64_t seed, Plant plant = Plant::kNone) {
  return RunFaults({.seed = seed, .plant = plant});
}

// How to see what happened.
std::string Replay(uint64_t seed) {
  return absl::StrCat("replay: bazel run //tests/simulation:explore -- --count 1 --events --first ",
                      seed);
}

TEST(FaultRunTest, NoPromiseIsBrokenInTheFirstSeeds) {
  Moves moves;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const FaultRunResult result = RunSeed(seed);
    EXPECT_THAT(result.violations, IsEmpty()) << Replay(seed);
    EXPECT_THAT(result.moves.illegal(), IsEmpty()) << Replay(seed);
    // A run in which nothing happens proves nothing.
    EXPECT_GT(result.attempts, 0) << Replay(seed);
    moves.Add(result.moves);
  }
  EXPECT_GT(moves.share(), 0.6) << absl::StrJoin(moves.missing(), ", ");
}

// Seeds that found a fault, or would have: see the file.
TEST(FaultRunTest, SeedsThatFoundSomethingFindNothingMore) {
  std::ifstream file("simulator/faults/regression_seeds.txt");
  ASSERT_TRUE(file.is_open());
  int seeds = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const uint64_t seed = std::stoull(line);
    const FaultRunResult result = RunSeed(seed);
    EXPECT_THAT(result.violations, IsEmpty()) << Replay(seed);
    EXPECT_THAT(result.moves.illegal(), IsEmpty()) << Replay(seed);
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
}

TEST(FaultRunTest, SameSeedIsTheSameRunAndAnotherOneIsNot) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    EXPECT_EQ(RunSeed(seed).fingerprint, RunSeed(seed).fingerprint) << Replay(seed);
  }
  EXPECT_NE(RunSeed(1).fingerprint, RunSeed(2).fingerprint);
}

TEST(FaultRunTest, ChanceFromOutsideOfTheSeedIsFound) {
  EXPECT_NE(RunFaults({.seed = 1, .other_chance = 1}).fingerprint,
            RunFaults({.seed = 1, .other_chance = 2}).fingerprint);
}

struct Planted {
  Plant plant;
  // Of the violation that must be found.
  std::string text;
};

class PlantedBugTest : public ::testing::TestWithParam<Planted> {};

// The checkers are worth what they find.
TEST_P(PlantedBugTest, IsFoundWithinSomeSeeds) {
  std::set<std::string> others;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    for (const std::string& violation : RunSeed(seed, GetParam().plant).violations) {
      if (absl::StrContains(violation, GetParam().text)) return;
      others.insert(violation);
    }
  }
  FAIL() << "not found: " << GetParam().text << "; but " << absl::StrJoin(others, "; ");
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedBugTest,
    ::testing::Values(Planted{Plant::kForgetfulDisk, "begins with another state"},
                      Planted{Plant::kForgetfulDisk, "was acknowledged, and is lost"},
                      Planted{Plant::kForgetfulDisk, "is given a second time"},
                      Planted{Plant::kEndlessLease, "work at the same time"},
                      Planted{Plant::kForgetfulAgent, "seats"},
                      Planted{Plant::kHastyAgent, "a task is left that nobody knows"},
                      Planted{Plant::kGreedyNode, "bytes; the device has"},
                      Planted{Plant::kGreedyNode, "seats"},
                      Planted{Plant::kSilentAgent, "long after all is well again"},
                      Planted{Plant::kDeafAgent, "still has ends to tell"},
                      Planted{Plant::kDeafUsers, "a user is never answered"},
                      Planted{Plant::kBrokenDisk, "schedulerd cannot begin"},
                      Planted{Plant::kDeafGates, "though filling the main job was paused"}));

}  // namespace
}  // namespace pipefill::simulator
