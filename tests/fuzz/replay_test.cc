// Hands one target its kept corpus (the folder in PIPEFILL_CORPUS), and its seeds as they are made
// today.
//
//   NAME_replay_test --write FOLDER    writes the seeds there, as seed-NN
//
// Files that are called seed-* are encodings of some version: they must be taken for ever. All
// others are what fuzzing has found: no promise may be broken by them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "common/environment.h"
#include "common/files.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {
namespace {

std::vector<std::filesystem::path> CorpusFiles() {
  std::vector<std::filesystem::path> files;
  const std::string folder = EnvironmentOr("PIPEFILL_CORPUS", "");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(ReplayTest, SeedsAreTaken) {
  const std::vector<std::string> seeds = Seeds();
  EXPECT_FALSE(seeds.empty());
  for (size_t i = 0; i < seeds.size(); ++i) EXPECT_TRUE(TakeInput(seeds[i])) << "seed " << i;
}

TEST(ReplayTest, CorpusBreaksNoPromise) {
  int64_t seeds = 0;
  for (const std::filesystem::path& path : CorpusFiles()) {
    // Should it end the process, this was the last file.
    std::fprintf(stderr, "%s\n", path.filename().c_str());
    const std::string input = ReadFile(path.string()).value();
    const bool is_taken = TakeInput(input);
    if (!absl::StartsWith(path.filename().string(), "seed-")) continue;
    ++seeds;
    EXPECT_TRUE(is_taken) << path << " of an earlier version is not taken any more";
  }
  EXPECT_GT(seeds, 0);
}

int WriteSeeds(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  const std::vector<std::string> seeds = Seeds();
  for (size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream(folder / absl::StrFormat("seed-%02d", i), std::ios::binary) << seeds[i];
  }
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::string(argv[1]) == "--write") return pipefill::WriteSeeds(argv[2]);
  return RUN_ALL_TESTS();
}
