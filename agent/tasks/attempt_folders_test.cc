#include "agent/tasks/attempt_folders.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

AttemptKey KeyOf(int64_t job, int32_t attempt) {
  return {.job = JobId(job), .attempt = AttemptNumber(attempt), .fence = Fence(1000)};
}

class AttemptFoldersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    state_dir_ = absl::StrCat(::testing::TempDir(), "/attempt_folders_",
                              ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(state_dir_);
    Open(512);
  }
  void Open(size_t ended_kept) {
    auto folders = AttemptFolders::Open(state_dir_, ended_kept);
    ASSERT_TRUE(folders.ok()) << folders.status();
    folders_.emplace(*std::move(folders));
  }
  AttemptPaths CreateWithLog(int64_t job, int32_t attempt, const std::string& log) {
    const absl::StatusOr<AttemptPaths> paths = folders_->Create(KeyOf(job, attempt));
    EXPECT_TRUE(paths.ok()) << paths.status();
    std::ofstream(paths->stdout_log) << log;
    return *paths;
  }
  // Makes the log of `paths` look `seconds` old.
  static void Age(const AttemptPaths& paths, int seconds) {
    const timespec at[] = {{.tv_sec = 1'000'000 - seconds, .tv_nsec = 0},
                           {.tv_sec = 1'000'000 - seconds, .tv_nsec = 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, paths.stdout_log.c_str(), at, 0), 0);
  }

  std::string state_dir_;
  std::optional<AttemptFolders> folders_;
};

TEST_F(AttemptFoldersTest, LaysAttemptOutByJobAndNumber) {
  const AttemptPaths paths = CreateWithLog(7, 2, "");
  EXPECT_EQ(paths.folder, state_dir_ + "/attempts/7.2");
  EXPECT_TRUE(std::filesystem::is_directory(state_dir_ + "/attempts/7.2/work"));
}

TEST_F(AttemptFoldersTest, MovesFolderOfAnEarlierClusterAside) {
  const AttemptPaths paths = CreateWithLog(7, 1, "old");
  CreateWithLog(7, 1, "newer");
  CreateWithLog(7, 1, "newest");
  EXPECT_TRUE(std::filesystem::exists(paths.folder + ".1/stdout"));
  EXPECT_TRUE(std::filesystem::exists(paths.folder + ".2/stdout"));
  EXPECT_EQ(folders_->ReadLog({JobId(7), AttemptNumber(1)}, LogKind::kStdout, 0, 100)->data,
            "newest");
}

TEST_F(AttemptFoldersTest, ReadsLogInPiecesUntilItsEnd) {
  CreateWithLog(1, 1, "0123456789");
  const AttemptFolders::Name name(JobId(1), AttemptNumber(1));
  const auto first = folders_->ReadLog(name, LogKind::kStdout, 0, 6);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->data, "012345");
  EXPECT_EQ(first->next_offset, 6);
  EXPECT_FALSE(first->is_at_end);
  const auto second = folders_->ReadLog(name, LogKind::kStdout, 6, 6);
  EXPECT_EQ(second->data, "6789");
  EXPECT_TRUE(second->is_at_end);
  const auto beyond = folders_->ReadLog(name, LogKind::kStdout, 999, 6);
  EXPECT_EQ(beyond->data, "");
  EXPECT_TRUE(beyond->is_at_end);
}

TEST_F(AttemptFoldersTest, RefusesLogsThatItDoesNotHave) {
  const AttemptFolders::Name name(JobId(1), AttemptNumber(1));
  EXPECT_EQ(folders_->ReadLog(name, LogKind::kStdout, 0, 6).status().code(),
            absl::StatusCode::kNotFound);
  CreateWithLog(1, 1, "x");
  EXPECT_EQ(folders_->ReadLog(name, LogKind::kStdout, -1, 6).status().code(),
            absl::StatusCode::kOutOfRange);
  EXPECT_EQ(folders_->ReadLog(name, LogKind::kStdout, 0, -6).status().code(),
            absl::StatusCode::kOutOfRange);
}

TEST_F(AttemptFoldersTest, RemembersRunningProcessesOverARestart) {
  CreateWithLog(1, 1, "");
  CreateWithLog(2, 1, "");
  const ProcessRecord record = {
      .key = KeyOf(1, 1), .pid = 4711, .start_ticks = 99, .boot_id = "boot"};
  ASSERT_TRUE(folders_->WriteRecord(record).ok());
  Open(512);
  const std::vector<ProcessRecord> records = folders_->ReadRecords();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].key, KeyOf(1, 1));
  EXPECT_EQ(records[0].pid, 4711);
  EXPECT_EQ(records[0].start_ticks, 99u);
  EXPECT_EQ(records[0].boot_id, "boot");
  folders_->RemoveRecord(KeyOf(1, 1));
  EXPECT_THAT(folders_->ReadRecords(), IsEmpty());
}

TEST_F(AttemptFoldersTest, DropsRecordsThatMakeNoSense) {
  for (const char* text : {"", "{", "[]", "{\"job\":1}",
                           "{\"job\":1,\"attempt\":1,\"fence\":1,\"pid\":-1,\"start_ticks\":1,"
                           "\"boot_id\":\"b\"}",
                           "{\"job\":1,\"attempt\":1,\"fence\":1,\"pid\":\"x\",\"start_ticks\":1,"
                           "\"boot_id\":\"b\"}"}) {
    const AttemptPaths paths = CreateWithLog(1, 1, "");
    std::ofstream(paths.record) << text;
    EXPECT_THAT(folders_->ReadRecords(), IsEmpty()) << text;
    EXPECT_FALSE(std::filesystem::exists(paths.record));
  }
}

TEST_F(AttemptFoldersTest, KeepsTheNewestEndedAndAllLiveLogs) {
  Open(2);
  const AttemptPaths oldest_but_live = CreateWithLog(1, 1, "a");
  const AttemptPaths old = CreateWithLog(2, 1, "b");
  const AttemptPaths newer = CreateWithLog(3, 1, "c");
  const AttemptPaths newest = CreateWithLog(4, 1, "d");
  Age(oldest_but_live, 40);
  Age(old, 30);
  Age(newer, 20);
  Age(newest, 10);
  folders_->Prune({{JobId(1), AttemptNumber(1)}});
  EXPECT_TRUE(std::filesystem::exists(oldest_but_live.stdout_log));
  EXPECT_FALSE(std::filesystem::exists(old.folder));
  EXPECT_TRUE(std::filesystem::exists(newer.stdout_log));
  EXPECT_TRUE(std::filesystem::exists(newest.stdout_log));
}

TEST_F(AttemptFoldersTest, NeverDeletesWhatTheTaskWrote) {
  Open(0);
  const AttemptPaths paths = CreateWithLog(1, 1, "log");
  std::ofstream(paths.work + "/result") << "precious";
  folders_->Prune({});
  EXPECT_FALSE(std::filesystem::exists(paths.stdout_log));
  EXPECT_TRUE(std::filesystem::exists(paths.work + "/result"));
}

}  // namespace
}  // namespace pipefill
