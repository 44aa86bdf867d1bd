#include "scheduler/journal/store_tools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "scheduler/journal/record.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/sqlite_journal.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;
using testing::Not;

class StoreToolsTest : public testing::Test {
 protected:
  StoreToolsTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
    Submit(1, 6);
  }
  ~StoreToolsTest() override { std::filesystem::remove_all(folder_); }

  // Jobs first .. last, one record each.
  void Submit(int64_t first, int64_t last) {
    auto journal = SqliteJournal::Open(folder_.string());
    ASSERT_TRUE(journal.ok()) << journal.status();
    for (int64_t id = first; id <= last; ++id) {
      const JobSubmitted event{JobId(id), absl::StrCat("k", id), SpecThatNeeds(kMiB)};
      ASSERT_TRUE((*journal)->Append({EncodeRecord(event, TimeAt(1).wall)}).ok());
    }
  }

  void TakeSnapshot() {
    auto recovered = Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.status();
    FileSnapshotStore store(folder_.string());
    const SnapshotStamp stamp = {.sequence = recovered->snapshot_sequence + recovered->records,
                                 .wall = TimeAt(1).wall};
    ASSERT_TRUE(store
                    .Write(FrameWriter(SnapshotEncoder(recovered->state.Durable(), stamp)),
                           std::atomic<bool>(false))
                    .ok());
  }

  void Execute(const std::string& statement) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "journal.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  absl::StatusOr<Recovered> Recover() {
    auto journal = SqliteJournal::Open(folder_.string());
    if (!journal.ok()) return journal.status();
    return RecoverStore(**journal, FileSnapshotStore(folder_.string()), ClusterLimits{},
                        AtSecond(100));
  }

  absl::Status Check() { return CheckStore(folder_.string(), SystemClock(), out_); }
  absl::Status Repair() { return RepairStore(folder_.string(), SystemClock(), out_); }

  const std::filesystem::path folder_;
  std::ostringstream out_;
};

TEST_F(StoreToolsTest, GoodStoreIsCalledGoodAndRepairLeavesItAlone) {
  TakeSnapshot();
  Submit(7, 8);
  EXPECT_TRUE(Check().ok());
  EXPECT_THAT(out_.str(),
              HasSubstr("snapshot 6: 6 pending, 0 running, 0 ended\n"
                        "journal: records 1 to 8\n"
                        "state: 8 pending, 0 running, 0 ended; the next job gets id 9"));
  EXPECT_TRUE(Repair().ok());
  EXPECT_THAT(out_.str(), HasSubstr("nothing is damaged; nothing was changed"));
  EXPECT_EQ(Recover()->state.next_job_id(), JobId(9));
}

TEST_F(StoreToolsTest, DamagedRecordIsNamedAndCutOffWithAllBehindIt) {
  Execute("UPDATE journal SET record = x'00' WHERE sequence = 4");
  EXPECT_THAT(std::string(Check().message()), HasSubstr("journal record 4 is damaged"));
  EXPECT_EQ(Recover().status().code(), absl::StatusCode::kDataLoss);

  ASSERT_TRUE(Repair().ok());

  EXPECT_THAT(out_.str(), HasSubstr("lost: records 4 to 6\n"
                                    "lost: jobs submitted in them that can still be read: 5, 6\n"));
  const auto repaired = Recover();
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  EXPECT_EQ(repaired->state.counts().pending, 3);
  EXPECT_EQ(repaired->state.next_job_id(), JobId(6 + kIdJump)) << "5 and 6 were given";
  EXPECT_GT(repaired->state.NextAttempt(JobId(1)).fence, Fence(kFenceJump));
  EXPECT_TRUE(Check().ok());
}

TEST_F(StoreToolsTest, RepairKeepsTheFolderAsItWas) {
  Execute("UPDATE journal SET record = x'00' WHERE sequence = 4");
  ASSERT_TRUE(Repair().ok());
  int copies = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (!entry.is_directory()) continue;
    ++copies;
    std::ostringstream out;
    EXPECT_THAT(std::string(CheckStore(entry.path().string(), SystemClock(), out).message()),
                HasSubstr("journal record 4 is damaged"));
  }
  EXPECT_EQ(copies, 1);
}

TEST_F(StoreToolsTest, JournalThatIsNoneLeavesTheSnapshot) {
  TakeSnapshot();
  Submit(7, 8);
  std::ofstream(folder_ / "journal.db", std::ios::trunc) << std::string(9'000, 'x');
  EXPECT_EQ(Check().code(), absl::StatusCode::kDataLoss);

  ASSERT_TRUE(Repair().ok());

  EXPECT_THAT(out_.str(), HasSubstr("lost: records 7 to 8"));
  EXPECT_EQ(Recover()->state.counts().pending, 6);
}

TEST_F(StoreToolsTest, MissingEndIsSaid) {
  Execute("DELETE FROM journal WHERE sequence > 4");
  EXPECT_THAT(std::string(Check().message()),
              HasSubstr("records 5 to 6 were on disk and are gone"));
  ASSERT_TRUE(Repair().ok());
  EXPECT_EQ(Recover()->state.counts().pending, 4);
}

TEST_F(StoreToolsTest, NothingToKeepIsSaidAndNothingIsChanged) {
  Execute("DELETE FROM journal WHERE sequence < 3");
  const absl::Status status = Repair();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("schedulerd restore"));
}

TEST_F(StoreToolsTest, RestoredStoreGivesNoIdTwice) {
  TakeSnapshot();
  const std::string backup = (folder_ / "snapshot-6").string();
  const std::string fresh = folder_.string() + "-restored";
  std::filesystem::remove_all(fresh);

  ASSERT_TRUE(RestoreStore(fresh, backup, SystemClock(), out_).ok());

  auto journal = SqliteJournal::Open(fresh);
  ASSERT_TRUE(journal.ok());
  const auto restored =
      RecoverStore(**journal, FileSnapshotStore(fresh), ClusterLimits{}, AtSecond(1));
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->state.counts().pending, 6);
  EXPECT_EQ(restored->state.next_job_id(), JobId(7 + kIdJump));
  EXPECT_EQ(restored->state.NextAttempt(JobId(1)).fence, Fence(kFenceJump + 1));
  *journal = nullptr;
  EXPECT_EQ(RestoreStore(fresh, backup, SystemClock(), out_).code(),
            absl::StatusCode::kFailedPrecondition)
      << "there is a store now";
  std::filesystem::remove_all(fresh);
}

TEST_F(StoreToolsTest, RestoredFolderThatWasNeverStartedIsFine) {
  TakeSnapshot();
  const std::string fresh = folder_.string() + "-restored";
  std::filesystem::remove_all(fresh);
  ASSERT_TRUE(RestoreStore(fresh, (folder_ / "snapshot-6").string(), SystemClock(), out_).ok());

  const absl::Status checked = CheckStore(fresh, SystemClock(), out_);
  EXPECT_TRUE(checked.ok()) << checked;
  EXPECT_THAT(out_.str(), HasSubstr("snapshot 6: 6 pending, 0 running, 0 ended\n"
                                    "journal: no records\n"
                                    "state: 6 pending"));
  EXPECT_TRUE(RepairStore(fresh, SystemClock(), out_).ok());
  EXPECT_THAT(out_.str(), HasSubstr("nothing is damaged; nothing was changed"));

  std::filesystem::copy(folder_ / "journal.mark", fresh);
  EXPECT_TRUE(CheckStore(fresh, SystemClock(), out_).ok()) << "the snapshot has all records";
  std::filesystem::resize_file(std::filesystem::path(fresh) / "snapshot-6", 100);
  EXPECT_EQ(CheckStore(fresh, SystemClock(), out_).code(), absl::StatusCode::kDataLoss);
  std::filesystem::remove_all(fresh);
}

TEST_F(StoreToolsTest, RemovedJournalIsNotTakenForOneThatNeverWas) {
  TakeSnapshot();
  Submit(7, 8);
  for (const char* name : {"journal.db", "journal.db-wal", "journal.db-shm"}) {
    std::filesystem::remove(folder_ / name);
  }
  EXPECT_THAT(std::string(Check().message()),
              HasSubstr("records 7 to 8 were on disk and are gone"));
}

TEST_F(StoreToolsTest, FolderWithoutAStoreIsNotFound) {
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(Check().code(), absl::StatusCode::kNotFound);
  std::filesystem::create_directories(folder_);
  EXPECT_EQ(Check().code(), absl::StatusCode::kNotFound);
}

// A file where the copy of the folder is to be made.
TEST_F(StoreToolsTest, RepairThatCannotCopyChangesNothing) {
  Execute("UPDATE journal SET record = x'00' WHERE sequence = 4");
  const int64_t now = absl::ToUnixSeconds(SystemClock().WallNow());
  for (int64_t second = now; second < now + 30; ++second) {
    std::ofstream(folder_ / absl::StrCat("damaged-", second)) << "in the way";
  }
  EXPECT_FALSE(Repair().ok());
  EXPECT_THAT(std::string(Check().message()), HasSubstr("journal record 4 is damaged"));
}

TEST_F(StoreToolsTest, DamagedBackupRestoresNothing) {
  TakeSnapshot();
  const std::string backup = (folder_ / "snapshot-6").string();
  std::filesystem::resize_file(backup, std::filesystem::file_size(backup) - 1);
  const std::string fresh = folder_.string() + "-restored";
  EXPECT_EQ(RestoreStore(fresh, backup, SystemClock(), out_).code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(std::filesystem::exists(fresh));
}

TEST_F(StoreToolsTest, FolderInUseIsLeftAlone) {
  const auto journal = SqliteJournal::Open(folder_.string());
  EXPECT_EQ(Check().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Repair().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(out_.str(), Not(HasSubstr("lost")));
}

}  // namespace
}  // namespace pipefill::scheduler
