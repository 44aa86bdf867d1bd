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

AttemptRecord RecordOf(int64_t job) {
  return {.key = KeyOf(job, 1),
          .job_name = "sort \"it\"",
          .device = "cpu0",
          .memory_bytes = 4096,
          .policy_rank = -2,
          .boot_id = "boot",
          .keeper = {.pid = 4710, .start_ticks = 98},
          .leader = {.pid = 4711, .start_ticks = 99},
          .launched_ns = 17,
          .max_runtime_ns = 18,
          .stop = {},
          .end = {}};
}

TEST_F(AttemptFoldersTest, RemembersAttemptsOverARestart) {
  CreateWithLog(1, 1, "");
  CreateWithLog(2, 1, "");
  ASSERT_TRUE(folders_->WriteRecord(RecordOf(1)).ok());
  Open(512);
  const std::vector<AttemptRecord> records = folders_->ReadRecords();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].key, KeyOf(1, 1));
  EXPECT_EQ(records[0].job_name, "sort \"it\"");
  EXPECT_EQ(records[0].device, "cpu0");
  EXPECT_EQ(records[0].memory_bytes, 4096);
  EXPECT_EQ(records[0].policy_rank, -2);
  EXPECT_EQ(records[0].boot_id, "boot");
  EXPECT_EQ(records[0].keeper, RecordOf(1).keeper);
  EXPECT_EQ(records[0].leader, RecordOf(1).leader);
  EXPECT_EQ(records[0].launched_ns, 17);
  EXPECT_EQ(records[0].max_runtime_ns, 18);
  EXPECT_FALSE(records[0].stop.has_value());
  EXPECT_FALSE(records[0].end.has_value());
}

TEST_F(AttemptFoldersTest, RemembersStopAndEnd) {
  CreateWithLog(1, 1, "");
  AttemptRecord record = RecordOf(1);
  record.stop = {.cause = EndCause::kOutOfMemory, .text = "too large"};
  record.end = {.cause = EndCause::kSignalled, .exit_code = 1, .signal = 9, .text = "gone"};
  ASSERT_TRUE(folders_->WriteRecord(record).ok());
  const std::vector<AttemptRecord> records = folders_->ReadRecords();
  ASSERT_THAT(records, SizeIs(1));
  EXPECT_EQ(records[0].stop->cause, EndCause::kOutOfMemory);
  EXPECT_EQ(records[0].stop->text, "too large");
  EXPECT_EQ(records[0].end->cause, EndCause::kSignalled);
  EXPECT_EQ(records[0].end->exit_code, 1);
  EXPECT_EQ(records[0].end->signal, 9);
  EXPECT_EQ(records[0].end->text, "gone");
}

TEST_F(AttemptFoldersTest, SyncsARecordWithOrWithoutProgressAndTellsIfThereIsNone) {
  const AttemptRecord record = RecordOf(7);
  EXPECT_EQ(folders_->SyncRecord(record.key).code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(folders_->Create(record.key).ok());
  ASSERT_TRUE(folders_->WriteRecord(record).ok());
  EXPECT_EQ(folders_->SyncRecord(record.key), absl::OkStatus());
  folders_->WriteProgress(record.key, "some");
  EXPECT_EQ(folders_->SyncRecord(record.key), absl::OkStatus());
}

TEST_F(AttemptFoldersTest, KeepsProgressWhateverItsLengthUntilTheRecordIsRemoved) {
  CreateWithLog(1, 1, "");
  const std::string bytes("a\0b longer", 10);
  EXPECT_EQ(folders_->ReadProgress(KeyOf(1, 1)), "");
  folders_->WriteProgress(KeyOf(1, 1), bytes);
  EXPECT_EQ(folders_->ReadProgress(KeyOf(1, 1)), bytes);
  folders_->WriteProgress(KeyOf(1, 1), "short");
  EXPECT_EQ(folders_->ReadProgress(KeyOf(1, 1)), "short");
  folders_->RemoveRecord(KeyOf(1, 1));
  EXPECT_EQ(folders_->ReadProgress(KeyOf(1, 1)), "");
}

TEST_F(AttemptFoldersTest, RemovesTheRecordOfThatAttemptOnly) {
  CreateWithLog(1, 1, "");
  ASSERT_TRUE(folders_->WriteRecord(RecordOf(1)).ok());
  AttemptKey older = KeyOf(1, 1);
  older.fence = Fence(3);
  folders_->RemoveRecord(older);
  EXPECT_THAT(folders_->ReadRecords(), SizeIs(1));
  folders_->RemoveRecord(KeyOf(1, 1));
  EXPECT_THAT(folders_->ReadRecords(), IsEmpty());
}

TEST_F(AttemptFoldersTest, DropsRecordsThatMakeNoSense) {
  const std::string good =
      "{\"job\":1,\"attempt\":1,\"fence\":1,\"job_name\":\"n\",\"device\":\"d\","
      "\"memory_bytes\":1,\"policy_rank\":0,\"boot_id\":\"b\",\"keeper\":{\"pid\":7,\"start_"
      "ticks\":1},"
      "\"leader\":{\"pid\":8,\"start_ticks\":1}}";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("{\"job\":1}"),
        with("\"pid\":7", "\"pid\":-1"), with("\"pid\":8", "\"pid\":1"),
        with("\"pid\":8", "\"pid\":\"x\""), with("\"device\":\"d\"", "\"device\":3"),
        with("{\"pid\":7,\"start_ticks\":1}", "[]")}) {
    const AttemptPaths paths = CreateWithLog(1, 1, "");
    std::ofstream(paths.record) << text;
    EXPECT_THAT(folders_->ReadRecords(), IsEmpty()) << text;
    EXPECT_FALSE(std::filesystem::exists(paths.record));
  }
  const AttemptPaths paths = CreateWithLog(1, 1, "");
  std::ofstream(paths.record) << good;
  EXPECT_THAT(folders_->ReadRecords(), SizeIs(1));
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

TEST_F(AttemptFoldersTest, FolderOfATaskWhoseKeeperWasKilledGoesToo) {
  Open(0);
  const AttemptPaths paths = CreateWithLog(1, 1, "log");
  std::ofstream(paths.folder + "/exit.new") << "code=0 signal=0 log_error=0\n";
  folders_->Prune({});
  EXPECT_FALSE(std::filesystem::exists(paths.folder));
}

TEST_F(AttemptFoldersTest, MakesRoomOnlyWhereThereIsNone) {
  Open(0);
  const AttemptPaths paths = CreateWithLog(1, 1, "log");
  folders_->MakeRoom({}, [] { return true; });
  EXPECT_TRUE(std::filesystem::exists(paths.stdout_log));
  folders_->MakeRoom({}, [] { return false; });
  EXPECT_FALSE(std::filesystem::exists(paths.stdout_log));
}

TEST_F(AttemptFoldersTest, MakesNoRoomOfAttemptsThatLiveOrWhoseEndIsNotKnownYet) {
  Open(0);
  const AttemptPaths live = CreateWithLog(1, 1, "log");
  const AttemptPaths untold = CreateWithLog(2, 1, "log");
  ASSERT_TRUE(folders_->WriteRecord(RecordOf(2)).ok());
  folders_->MakeRoom({{JobId(1), AttemptNumber(1)}}, [] { return false; });
  EXPECT_TRUE(std::filesystem::exists(live.stdout_log));
  EXPECT_TRUE(std::filesystem::exists(untold.stdout_log));
  folders_->RemoveRecord(KeyOf(2, 1));
  folders_->MakeRoom({{JobId(1), AttemptNumber(1)}}, [] { return false; });
  EXPECT_FALSE(std::filesystem::exists(untold.stdout_log));
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
