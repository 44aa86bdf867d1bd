#include "client/profile/profile_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "client/testing/fakes.h"

namespace pipefill::sdk {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class ProfileRecorderTest : public testing::Test {
 protected:
  // A unit of one kind that took so long.
  void Unit(uint32_t label, uint32_t size, uint64_t wall_ns, uint64_t cpu_ns = UINT64_MAX / 2) {
    recorder_->Begin(label, size);
    ++stats_.units;
    stats_.unit_wall_ns += wall_ns;
    stats_.unit_cpu_ns += std::min(cpu_ns, 2 * wall_ns);
    clock_.now_ns += wall_ns;
    recorder_->OnStats(stats_);
  }

  const std::string path_ = testing::TempDir() + "/units." +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
  FakeClock clock_;
  pf_task_stats stats_ = {};
  std::unique_ptr<ProfileRecorder> recorder_ = std::make_unique<ProfileRecorder>(clock_, path_);
};

TEST_F(ProfileRecorderTest, TellsKindsAndSizesApart) {
  for (const uint64_t wall_ns : {90, 10, 20}) Unit(0, 0, wall_ns);
  for (const uint64_t wall_ns : {90, 30}) Unit(1, 8, wall_ns);
  EXPECT_EQ(recorder_->Text(),
            "pipefill-units 1\n"
            "unit label=0 size=0 count=2 total_ns=30 p50_ns=10 p90_ns=20 max_ns=20\n"
            "unit label=1 size=8 count=1 total_ns=30 p50_ns=30 p90_ns=30 max_ns=30\n");
}

TEST_F(ProfileRecorderTest, TimeThatOthersTookDoesNotCount) {
  Unit(0, 0, 90);
  Unit(0, 0, 80, 30);
  EXPECT_NE(recorder_->Text().find("count=1 total_ns=30 "), std::string::npos);
}

TEST_F(ProfileRecorderTest, OnlyUnitOfAKindCountsThoughItWarmsUp) {
  Unit(2, 0, 70);
  EXPECT_EQ(recorder_->Text(),
            "pipefill-units 1\n"
            "unit label=2 size=0 count=1 total_ns=70 p50_ns=70 p90_ns=70 max_ns=70\n");
}

TEST_F(ProfileRecorderTest, CallsWithoutANewUnitChangeNothing) {
  Unit(0, 0, 5);
  const std::string before = recorder_->Text();
  recorder_->Begin(1, 0);
  recorder_->OnStats(stats_);
  EXPECT_EQ(recorder_->Text(), before);
}

TEST_F(ProfileRecorderTest, TriesSizesByDoublingRoundAndRound) {
  std::vector<uint32_t> sizes;
  for (int i = 0; i < 6; ++i) sizes.push_back(recorder_->ChooseSize(3, 20));
  EXPECT_EQ(sizes, (std::vector<uint32_t>{3, 6, 12, 20, 3, 6}));
  EXPECT_EQ(recorder_->ChooseSize(5, 5), 5U);
  EXPECT_EQ(recorder_->ChooseSize(UINT32_MAX - 1, UINT32_MAX), UINT32_MAX - 1);
  EXPECT_EQ(recorder_->ChooseSize(UINT32_MAX - 1, UINT32_MAX), UINT32_MAX);
}

TEST_F(ProfileRecorderTest, WritesEverySecondAndAtItsEnd) {
  Unit(0, 0, 1000);
  EXPECT_EQ(ReadText(path_), "");
  Unit(0, 0, ProfileRecorder::kWriteNs);
  EXPECT_EQ(ReadText(path_), recorder_->Text());
  Unit(0, 0, 2000);
  const std::string last = recorder_->Text();
  EXPECT_NE(ReadText(path_), last);
  recorder_.reset();
  EXPECT_EQ(ReadText(path_), last);
}

TEST_F(ProfileRecorderTest, FolderThatIsGoneIsNobodysError) {
  recorder_ = std::make_unique<ProfileRecorder>(clock_, "/nowhere/at/all/units.1");
  Unit(0, 0, ProfileRecorder::kWriteNs);
  EXPECT_NE(recorder_->Text(), "");
}

TEST_F(ProfileRecorderTest, KindsAreBounded) {
  for (uint32_t size = 1; size < 1000; ++size) Unit(0, size, 5);
  const std::string text = recorder_->Text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            1 + static_cast<int>(ProfileRecorder::kKindsMax));
}

}  // namespace
}  // namespace pipefill::sdk
