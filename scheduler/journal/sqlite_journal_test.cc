#include "scheduler/journal/sqlite_journal.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SqliteJournalTest : public testing::Test {
 protected:
  SqliteJournalTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
  }
  ~SqliteJournalTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<SqliteJournal> Open() {
    auto journal = SqliteJournal::Open(folder_.string());
    EXPECT_TRUE(journal.ok()) << journal.status();
    return journal.ok() ? *std::move(journal) : nullptr;
  }

  absl::Status OpenStatus() { return SqliteJournal::Open(folder_.string()).status(); }

  static absl::Status Read(SqliteJournal& journal, std::vector<std::string>* records) {
    return journal.ForEachRecord(0, [&](int64_t sequence, absl::string_view record) {
      EXPECT_EQ(sequence, static_cast<int64_t>(records->size()) + 1);
      records->emplace_back(record);
      return absl::OkStatus();
    });
  }

  // Changes the store behind the journal's back.
  void Execute(const std::string& statement) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "journal.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
  }

  const std::filesystem::path folder_;
};

TEST_F(SqliteJournalTest, RecordsSurviveClosing) {
  ASSERT_TRUE(Open()->Append({"one", "two"}).ok());
  ASSERT_TRUE(Open()->Append({std::string("th\0ree", 6)}).ok());
  std::vector<std::string> records;
  ASSERT_TRUE(Read(*Open(), &records).ok());
  EXPECT_THAT(records, ElementsAre("one", "two", std::string("th\0ree", 6)));
}

TEST_F(SqliteJournalTest, VisitorsErrorEndsTheVisit) {
  auto journal = Open();
  ASSERT_TRUE(journal->Append({"one", "two"}).ok());
  int visits = 0;
  const absl::Status status = journal->ForEachRecord(0, [&](int64_t, absl::string_view) {
    ++visits;
    return absl::AbortedError("enough");
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(visits, 1);
}

TEST_F(SqliteJournalTest, FolderInUseIsRefused) {
  const auto journal = Open();
  EXPECT_EQ(OpenStatus().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SqliteJournalTest, StoreOfNewerVersionIsRefusedUnchanged) {
  ASSERT_TRUE(Open()->Append({"one"}).ok());
  constexpr int kNewer = SqliteJournal::kFormat + 1;
  Execute(absl::StrCat("PRAGMA user_version=", kNewer));

  const absl::Status status = OpenStatus();

  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      status.message(),
      absl::StrCat("state folder ", folder_.string(), " was written by a newer version (format ",
                   kNewer, ", this binary reads ", SqliteJournal::kFormat,
                   "); use that version, or choose another folder with state_dir"));
  Execute(absl::StrCat("PRAGMA user_version=", SqliteJournal::kFormat));
  std::vector<std::string> records;
  ASSERT_TRUE(Read(*Open(), &records).ok());
  EXPECT_THAT(records, ElementsAre("one"));
}

TEST_F(SqliteJournalTest, ForeignDatabaseIsRefused) {
  std::filesystem::create_directories(folder_);
  Execute("CREATE TABLE guests(name TEXT)");
  EXPECT_EQ(OpenStatus().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SqliteJournalTest, FileThatIsNoDatabaseIsRefused) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "journal.db") << std::string(8192, 'x');
  EXPECT_EQ(OpenStatus().code(), absl::StatusCode::kDataLoss);
}

TEST_F(SqliteJournalTest, ChangedRecordIsFoundWithItsNumber) {
  ASSERT_TRUE(Open()->Append({"one", "two", "three"}).ok());
  Execute("UPDATE journal SET record = CAST('tvo' AS BLOB) WHERE sequence = 2");
  std::vector<std::string> records;
  const absl::Status status = Read(*Open(), &records);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("journal record 2 is damaged"));
  EXPECT_THAT(records, ElementsAre("one"));
}

TEST_F(SqliteJournalTest, MissingRecordIsFoundWithItsNumber) {
  ASSERT_TRUE(Open()->Append({"one", "two", "three"}).ok());
  Execute("DELETE FROM journal WHERE sequence = 2");
  std::vector<std::string> records;
  const absl::Status status = Read(*Open(), &records);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("journal record 2 is missing"));
}

TEST_F(SqliteJournalTest, ExchangedRecordsAreFound) {
  ASSERT_TRUE(Open()->Append({"one", "two"}).ok());
  Execute(
      "UPDATE journal SET sequence = -1 WHERE sequence = 1;"
      "UPDATE journal SET sequence = 1 WHERE sequence = 2;"
      "UPDATE journal SET sequence = 2 WHERE sequence = -1");
  std::vector<std::string> records;
  EXPECT_EQ(Read(*Open(), &records).code(), absl::StatusCode::kDataLoss);
}

// Flips each byte of a small store in turn. Whatever is flipped: all records are read, or an error
// is returned; other records than those written are never read.
TEST_F(SqliteJournalTest, AnyFlippedByteIsFoundOrHarmless) {
  const std::vector<std::string> written = {"first record", "second record", "third record"};
  ASSERT_TRUE(Open()->Append(written).ok());
  const std::filesystem::path file = folder_ / "journal.db";
  std::string content;
  {
    std::ifstream in(file, std::ios::binary);
    content.assign(std::istreambuf_iterator<char>(in), {});
  }
  int found = 0;
  // Free space inside pages is long and the same everywhere: every 61st byte is enough there.
  for (size_t at = 0; at < content.size(); at += content[at] == 0 ? 61 : 1) {
    std::string flipped = content;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x55);
    std::filesystem::remove(folder_ / "journal.db-wal");
    std::filesystem::remove(folder_ / "journal.db-shm");
    std::ofstream(file, std::ios::binary | std::ios::trunc) << flipped;
    auto journal = SqliteJournal::Open(folder_.string());
    std::vector<std::string> records;
    const absl::Status status = journal.ok() ? Read(**journal, &records) : journal.status();
    if (status.ok()) {
      EXPECT_EQ(records, written) << "byte " << at;
    } else {
      ++found;
    }
  }
  EXPECT_GT(found, 0);
}

// A child appends and says so; it is killed in the middle. What it had said is there.
TEST_F(SqliteJournalTest, WhatWasAcknowledgedSurvivesKill) {
  for (int round = 0; round < 3; ++round) {
    std::filesystem::remove_all(folder_);
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto journal = SqliteJournal::Open(folder_.string());
      for (int i = 1; journal.ok(); ++i) {
        if (!(*journal)->Append({absl::StrCat("record ", i), "and another"}).ok()) break;
        if (write(pipe_ends[1], "x", 1) != 1) break;
      }
      _exit(1);
    }
    close(pipe_ends[1]);
    // Other rounds end at other moments between two acknowledgements.
    char byte = 0;
    int64_t acknowledged = 0;
    while (acknowledged < 20 + 7 * round && read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
    kill(child, SIGKILL);
    while (read(pipe_ends[0], &byte, 1) == 1) ++acknowledged;
    close(pipe_ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));

    std::vector<std::string> records;
    ASSERT_TRUE(Read(*Open(), &records).ok());
    EXPECT_GE(static_cast<int64_t>(records.size()), 2 * acknowledged);
    EXPECT_EQ(records.size() % 2, 0U) << "a batch is there in full or not at all";
  }
}

TEST_F(SqliteJournalTest, RemovedRecordsAreGoneAndNumbersGoOn) {
  {
    auto journal = Open();
    for (int i = 1; i <= 10; ++i) ASSERT_TRUE(journal->Append({absl::StrCat(i)}).ok());
    EXPECT_FALSE(*journal->RemoveUpTo(7, 5));
    EXPECT_TRUE(*journal->RemoveUpTo(7, 5));
    EXPECT_EQ(journal->first_sequence(), 8);
  }
  auto journal = Open();
  EXPECT_EQ(journal->first_sequence(), 8);
  EXPECT_EQ(journal->last_sequence(), 10);
  std::vector<std::string> records;
  const auto keep = [&](int64_t, absl::string_view record) {
    records.emplace_back(record);
    return absl::OkStatus();
  };
  EXPECT_EQ(journal->ForEachRecord(6, keep).code(), absl::StatusCode::kDataLoss);
  ASSERT_TRUE(journal->ForEachRecord(7, keep).ok());
  EXPECT_THAT(records, ElementsAre("8", "9", "10"));
}

TEST_F(SqliteJournalTest, NumbersGoOnBehindASnapshot) {
  {
    auto journal = Open();
    journal->SkipTo(41);
    ASSERT_TRUE(journal->Append({"a"}).ok());
  }
  EXPECT_EQ(Open()->last_sequence(), 42);
}

TEST_F(SqliteJournalTest, StoreOfTheFormatBeforeBecomesOfThisOne) {
  ASSERT_TRUE(Open()->Append({"one"}).ok());
  Execute("PRAGMA user_version=1");
  std::vector<std::string> records;
  ASSERT_TRUE(Read(*Open(), &records).ok());
  EXPECT_THAT(records, ElementsAre("one"));
  Execute("PRAGMA user_version=1");
  EXPECT_EQ(Open()->last_sequence(), 1);
}

// The state folder as a kill leaves it: the log is not yet moved into the file.
class KilledJournalTest : public SqliteJournalTest {
 protected:
  KilledJournalTest() {
    auto journal = Open();
    for (int i = 1; i <= 5; ++i) EXPECT_TRUE(journal->Append({absl::StrCat("record ", i)}).ok());
    std::filesystem::create_directories(killed_);
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::filesystem::copy(entry.path(), killed_ / entry.path().filename());
    }
  }
  ~KilledJournalTest() override { std::filesystem::remove_all(killed_); }

  std::filesystem::path Log() const { return killed_ / "journal.db-wal"; }
  // Changes one byte of the log.
  void Flip(int64_t at) {
    std::fstream file(Log(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 0x55));
  }
  absl::StatusOr<std::unique_ptr<SqliteJournal>> OpenKilled() {
    return SqliteJournal::Open(killed_.string());
  }

  // Opens the folder, and leaves it as a kill and a power cut right after the append do.
  absl::Status AppendAndKill(const std::string& record) {
    const std::filesystem::path next = killed_.string() + "-next";
    std::filesystem::remove_all(next);
    {
      auto journal = OpenKilled();
      if (!journal.ok()) return journal.status();
      const absl::Status appended = (*journal)->Append({record});
      if (!appended.ok()) return appended;
      std::filesystem::copy(killed_, next);
    }
    std::filesystem::remove_all(killed_);
    std::filesystem::rename(next, killed_);
    std::filesystem::remove(killed_ / "journal.mark");
    return absl::OkStatus();
  }

  const std::filesystem::path killed_ = folder_.string() + "-killed";
};

TEST_F(KilledJournalTest, AllRecordsAreThere) {
  const auto journal = OpenKilled();
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ((*journal)->last_sequence(), 5);
  EXPECT_EQ((*journal)->high_water(), 5);
  EXPECT_THAT((*journal)->warnings(), ElementsAre());
}

// SQLite alone would open the store with the records before the damage, and say nothing.
TEST_F(KilledJournalTest, DamageInTheMiddleOfTheLogIsRefusedAndNothingIsChanged) {
  const auto size = std::filesystem::file_size(Log());
  Flip(static_cast<int64_t>(size) / 2);
  for (int round = 0; round < 2; ++round) {
    const absl::Status status = OpenKilled().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("is damaged in its frame "));
    EXPECT_EQ(std::filesystem::file_size(Log()), size);
  }
}

TEST_F(KilledJournalTest, TornLastTransactionIsCutOffWithAWarning) {
  std::filesystem::resize_file(Log(), std::filesystem::file_size(Log()) - 100);
  // As a power cut leaves it: the mark was not written back.
  std::filesystem::remove(killed_ / "journal.mark");
  const auto journal = OpenKilled();
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ((*journal)->last_sequence(), 4);
}

// Its frames would stay behind the next ones, and after another torn write stand for transactions.
TEST_F(KilledJournalTest, TornTransactionIsNotTakenForDamageAfterAnotherOne) {
  const auto large = static_cast<int64_t>(std::filesystem::file_size(Log()));
  ASSERT_TRUE(AppendAndKill(std::string(100'000, 'x')).ok());
  Flip(large + 100);

  ASSERT_TRUE(AppendAndKill("small").ok());
  const auto size = static_cast<int64_t>(std::filesystem::file_size(Log()));
  EXPECT_LT(size, large) << "the log began anew";
  Flip(size < large ? 100 : large + 100);

  const auto journal = OpenKilled();
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ((*journal)->last_sequence(), 5);
  ASSERT_EQ((*journal)->warnings().size(), 1U);
}

TEST_F(KilledJournalTest, RemovedLogIsNoticedByTheMark) {
  std::filesystem::remove(Log());
  const auto journal = OpenKilled();
  if (!journal.ok()) return;  // the file alone may be no journal yet
  EXPECT_LT((*journal)->last_sequence(), 5);
  EXPECT_EQ((*journal)->high_water(), 5);
}

TEST_F(KilledJournalTest, DamagedMarkIsAWarning) {
  std::ofstream(killed_ / "journal.mark", std::ios::trunc) << "not a mark at all";
  const auto journal = OpenKilled();
  ASSERT_TRUE(journal.ok()) << journal.status();
  EXPECT_EQ((*journal)->last_sequence(), 5);
  ASSERT_EQ((*journal)->warnings().size(), 1U);
  EXPECT_THAT((*journal)->warnings()[0], HasSubstr("journal.mark is damaged"));
}

// Cut at any length, the log gives a prefix of what was written, and the mark says what is missing.
TEST_F(KilledJournalTest, LogOfAnyLengthGivesAPrefixOrIsRefused) {
  const std::filesystem::path whole = killed_.string() + "-whole";
  std::filesystem::remove_all(whole);
  std::filesystem::copy(killed_, whole);
  const auto size = static_cast<int64_t>(std::filesystem::file_size(Log()));
  for (int64_t length = 0; length <= size; length += 97) {
    std::filesystem::remove_all(killed_);
    std::filesystem::copy(whole, killed_);
    std::filesystem::resize_file(Log(), static_cast<uintmax_t>(length));
    auto journal = OpenKilled();
    if (!journal.ok()) continue;
    std::vector<std::string> records;
    ASSERT_TRUE(Read(**journal, &records).ok());
    for (size_t i = 0; i < records.size(); ++i) {
      EXPECT_EQ(records[i], absl::StrCat("record ", i + 1)) << length;
    }
    EXPECT_TRUE(records.size() == 5 || (*journal)->high_water() == 5) << length;
  }
  std::filesystem::remove_all(whole);
}

TEST_F(KilledJournalTest, LookingChangesNothing) {
  const auto size = std::filesystem::file_size(Log());
  {
    const auto journal = SqliteJournal::OpenToRead(killed_.string());
    ASSERT_TRUE(journal.ok()) << journal.status();
    EXPECT_EQ((*journal)->last_sequence(), 5);
  }
  EXPECT_EQ(std::filesystem::file_size(Log()), size);
  EXPECT_EQ((*OpenKilled())->last_sequence(), 5);
}

TEST_F(SqliteJournalTest, UnwritableFolderIsRefused) {
  EXPECT_EQ(SqliteJournal::Open("/proc/no-such-folder").status().code(),
            absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace pipefill::scheduler
