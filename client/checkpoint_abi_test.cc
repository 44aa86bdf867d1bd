// Checkpoints through the C ABI and the C++ owners over it.
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "client/coverage.hpp"
#include "client/pipefill.hpp"
#include "gtest/gtest.h"

namespace pipefill {
namespace {

// Tasks that run alone, one after the other, as attempts of one job.
class CheckpointAbiTest : public testing::Test {
 protected:
  CheckpointAbiTest() : folder_(testing::TempDir() + "checkpoint-abi-XXXXXX") {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    unsetenv("PIPEFILL_SOCKET");
    setenv("PIPEFILL_CHECKPOINT_DIR", (folder_ + "/job").c_str(), 1);
    // Saves only when the test says so.
    setenv("PIPEFILL_CHECKPOINT_EVERY", "1000:1000", 1);
  }
  ~CheckpointAbiTest() override {
    unsetenv("PIPEFILL_CHECKPOINT_DIR");
    unsetenv("PIPEFILL_CHECKPOINT_EVERY");
    std::filesystem::remove_all(folder_);
  }

  static void Work(FillTask& task) {
    ASSERT_TRUE(task.NextUnit());
    task.EndUnit();
  }

  std::string folder_;
};

TEST_F(CheckpointAbiTest, TheNextTaskGetsTheStateBack) {
  FillTask first;
  EXPECT_EQ(first.SetCheckpoint({.save = [] { return std::string("a\0b", 3); },
                                 .load = [](std::string_view) { return false; }}),
            PF_OK);
  FillTask moved = std::move(first);
  Work(moved);
  EXPECT_EQ(moved.Save(), PF_OK);
  EXPECT_EQ(moved.checkpoint_stats().saves, 1u);

  std::string loaded;
  FillTask second;
  const CheckpointHooks hooks = {.save = [] { return std::string(); },
                                 .load =
                                     [&](std::string_view state) {
                                       loaded = state;
                                       return true;
                                     }};
  EXPECT_EQ(second.SetCheckpoint(hooks), PF_OK);
  EXPECT_EQ(loaded, std::string("a\0b", 3));
  EXPECT_EQ(second.checkpoint_stats().resumed, 1u);
}

TEST_F(CheckpointAbiTest, NoExceptionGetsThroughAHook) {
  FillTask first;
  EXPECT_EQ(first.SetCheckpoint({.save = []() -> std::string { throw std::runtime_error("no"); },
                                 .load = [](std::string_view) { return true; }}),
            PF_OK);
  Work(first);
  EXPECT_EQ(first.Save(), PF_BAD_ARGUMENT);
  EXPECT_EQ(first.checkpoint_stats().saves_failed, 1u);

  FillTask second;
  EXPECT_EQ(second.SetCheckpoint({.save = [] { return std::string("state"); },
                                  .load = [](std::string_view) { return true; }}),
            PF_OK);
  Work(second);
  EXPECT_EQ(second.Save(), PF_OK);
  FillTask third;
  const int code = third.SetCheckpoint(
      {.save = [] { return std::string(); },
       .load = [](std::string_view) -> bool { throw std::runtime_error("no"); }});
  EXPECT_EQ(code, PF_BAD_ARGUMENT);
  EXPECT_NE(third.error().find("could not load its checkpoint"), std::string::npos);
}

TEST_F(CheckpointAbiTest, MissingHooksAndHandlesAreRefused) {
  FillTask task;
  EXPECT_EQ(pf_task_set_checkpoint(nullptr, nullptr), PF_BAD_ARGUMENT);
  pf_checkpoint_stats stats = {};
  pf_task_get_checkpoint_stats(nullptr, &stats);
  EXPECT_EQ(stats.saves, 0u);
  EXPECT_EQ(pf_task_save(nullptr), PF_OK);
  EXPECT_EQ(pf_checkpoint_write(nullptr, "x", 1), PF_BAD_ARGUMENT);
  EXPECT_EQ(task.Save(), PF_OK);  // without hooks there is nothing to do
}

// As many attempts as it takes, each killed by the test after some ranges: what it has written
// since its last save must not count.
TEST_F(CheckpointAbiTest, EverySampleIsInTheOutputOnceAndInOrder) {
  constexpr uint64_t kTotal = 50;
  const std::string path = folder_ + "/out";
  bool is_done = false;
  for (int attempt = 0; !is_done; ++attempt) {
    FillTask task;
    OutputFile output(path);
    DataCursor cursor(kTotal, {&output});
    ASSERT_EQ(task.SetCheckpoint(cursor.hooks()), PF_OK) << task.error();
    int ranges = 0;
    while (const SampleRange range = cursor.Next(task, 1, 3)) {
      for (uint64_t sample = range.begin; sample < range.end; ++sample) {
        ASSERT_TRUE(output.Write(std::to_string(sample) + " "));
      }
      ++ranges;
      // In the middle of a range, which does not count yet.
      if (ranges == 2 + attempt % 3) {
        ASSERT_EQ(task.Save(), PF_OK);
      }
      if (ranges == 3 + attempt % 4) break;
    }
    is_done = cursor.is_done();
    if (is_done) {
      EXPECT_TRUE(output.Close());
    }
    ASSERT_LT(attempt, 100);
  }
  std::string expected;
  for (uint64_t sample = 0; sample < kTotal; ++sample) expected += std::to_string(sample) + " ";
  std::string content(expected.size() + 1, '\0');
  FILE* file = std::fopen(path.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  content.resize(std::fread(content.data(), 1, content.size(), file));
  std::fclose(file);
  EXPECT_EQ(content, expected);
}

}  // namespace
}  // namespace pipefill
