#include "scheduler/journal/sqlite_journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/files.h"
#include "common/status.h"
#include "scheduler/journal/checksum.h"
#include "scheduler/journal/high_water_mark.h"
#include "scheduler/journal/wal.h"

namespace pipefill::scheduler {
namespace {

// "pfsj" as the file's application_id: tells our store from any other SQLite file.
constexpr int kApplicationId = 0x7066736a;
constexpr char kFileName[] = "/journal.db";
constexpr char kTable[] =
    "CREATE TABLE journal("
    "sequence INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, record BLOB NOT NULL)";

absl::Status StatusOf(const SQLite::Exception& error, absl::string_view what) {
  const std::string text = absl::StrCat(what, ": ", error.what());
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return absl::DataLossError(
          absl::StrCat(text, "; see `schedulerd check` and `schedulerd repair`"));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(absl::StrCat(text, "; free disk space"));
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return absl::PermissionDeniedError(text);
    case SQLITE_BUSY:
      return absl::FailedPreconditionError(absl::StrCat(text, "; another process uses it"));
    default:
      return absl::InternalError(text);
  }
}

// Runs `body`, which may throw, and returns its status.
template <typename Body>
absl::Status CatchErrors(absl::string_view what, Body body) {
  try {
    return body();
  } catch (const SQLite::Exception& error) {
    return StatusOf(error, what);
  }
}

bool IsNew(SQLite::Database& database) {
  return database.execAndGet("PRAGMA application_id").getInt() == 0 &&
         database.execAndGet("PRAGMA user_version").getInt() == 0 &&
         database.execAndGet("SELECT count(*) FROM sqlite_master").getInt() == 0;
}

absl::Status CheckFormat(SQLite::Database& database, const std::string& folder) {
  const int application = database.execAndGet("PRAGMA application_id").getInt();
  const int format = database.execAndGet("PRAGMA user_version").getInt();
  if (application != kApplicationId) {
    return absl::DataLossError(absl::StrCat("state folder ", folder,
                                            " holds a journal.db that schedulerd did not write; ",
                                            "choose another with state_dir"));
  }
  if (format > SqliteJournal::kFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("state folder ", folder, " was written by a newer version (format ", format,
                     ", this binary reads ", SqliteJournal::kFormat,
                     "); use that version, or choose another folder with state_dir"));
  }
  // With other types for its columns, rows would be looked for in the wrong place.
  const std::string table =
      database.execAndGet("SELECT ifnull(max(sql), '') FROM sqlite_master WHERE name = 'journal'")
          .getString();
  if (table == kTable) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("state folder ", folder,
                                          " holds a journal.db without its table; ",
                                          "see `schedulerd check` and `schedulerd repair`"));
}

// All or nothing: a kill in between leaves a new store.
absl::Status MakeTables(SQLite::Database& database, const std::string& folder) {
  database.exec("PRAGMA journal_mode=WAL");
  SQLite::Transaction transaction(database);
  database.exec(absl::StrCat("PRAGMA application_id=", kApplicationId));
  database.exec(absl::StrCat("PRAGMA user_version=", SqliteJournal::kFormat));
  database.exec(kTable);
  transaction.commit();
  return SyncFolder(folder);
}

}  // namespace

struct SqliteJournal::Store {
  Store(const std::string& folder, int flags)
      : database(folder + kFileName, flags, /*aBusyTimeoutMs=*/1000), mark(folder) {}

  // Held while this object lives.
  FileDescriptor lock;
  SQLite::Database database;
  HighWaterMark mark;
  std::unique_ptr<SQLite::Statement> insert;
  std::unique_ptr<SQLite::Statement> remove;
  int64_t first_sequence = 1;
  int64_t last_sequence = 0;
  std::vector<std::string> warnings;
};

namespace {

// Leaves the statement usable whatever happened to it.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(SQLite::Statement& statement) : statement_(statement) {}
  ~ResetAtEnd() { statement_.tryReset(); }
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;

 private:
  SQLite::Statement& statement_;
};

// What SQLite would pass over in silence; see wal.h.
absl::StatusOr<WalReport> CheckLog(const std::string& folder, std::vector<std::string>* warnings) {
  ASSIGN_OR_RETURN(const WalReport log, InspectWal(absl::StrCat(folder, kFileName, "-wal")));
  if (log.is_damaged) {
    return absl::DataLossError(
        absl::StrCat("the log of the journal in ", folder, " is damaged in its frame ",
                     log.frames + 1, ", and later records are behind it; see `schedulerd check`"));
  }
  if (log.torn_frames > 0) {
    warnings->push_back(
        absl::StrCat("the last write to the journal was torn: ", log.torn_frames,
                     " pages of a transaction that was never answered are cut off"));
  }
  return log;
}

// Moves the log into the file and empties it. Else torn frames would stay behind the next ones, and
// with one more torn write they would look like damage in the middle.
absl::Status EmptyLog(SQLite::Database& database, std::vector<std::string>* warnings) {
  const absl::Status emptied = CatchErrors("empty the journal's log", [&] {
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    return absl::OkStatus();
  });
  if (emptied.code() != absl::StatusCode::kResourceExhausted) return emptied;
  warnings->emplace_back(emptied.message());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteJournal>> SqliteJournal::Open(
    const std::string& state_folder) {
  RETURN_IF_ERROR(MakeWritableFolder(state_folder));
  ASSIGN_OR_RETURN(FileDescriptor lock, LockFolder(state_folder));
  std::vector<std::string> warnings;
  ASSIGN_OR_RETURN(const WalReport log, CheckLog(state_folder, &warnings));
  std::unique_ptr<Store> store;
  RETURN_IF_ERROR(CatchErrors(absl::StrCat("open journal ", state_folder, kFileName), [&] {
    store = std::make_unique<Store>(state_folder, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    store->lock = std::move(lock);
    store->warnings = std::move(warnings);
    SQLite::Database& database = store->database;
    // One process: its index of the log needs no file, and no lock is taken for each transaction.
    database.exec("PRAGMA locking_mode=EXCLUSIVE");
    database.exec("PRAGMA synchronous=FULL");
    RETURN_IF_ERROR(IsNew(database) ? MakeTables(database, state_folder)
                                    : CheckFormat(database, state_folder));
    if (log.torn_frames > 0) RETURN_IF_ERROR(EmptyLog(database, &store->warnings));
    if (database.execAndGet("PRAGMA user_version").getInt() < kFormat) {
      database.exec(absl::StrCat("PRAGMA user_version=", kFormat));
    }
    store->insert = std::make_unique<SQLite::Statement>(
        database, "INSERT INTO journal(sequence, checksum, record) VALUES(?, ?, ?)");
    store->remove =
        std::make_unique<SQLite::Statement>(database, "DELETE FROM journal WHERE sequence <= ?");
    return absl::OkStatus();
  }));
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(std::move(store)));
  RETURN_IF_ERROR(journal->ReadNumbers());
  return journal;
}

absl::StatusOr<std::unique_ptr<SqliteJournal>> SqliteJournal::OpenToRead(
    const std::string& state_folder) {
  ASSIGN_OR_RETURN(FileDescriptor lock, LockFolder(state_folder));
  std::vector<std::string> warnings;
  const absl::Status log = CheckLog(state_folder, &warnings).status();
  if (!log.ok()) warnings.emplace_back(log.message());
  if (access((state_folder + kFileName).c_str(), F_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("there is no journal in ", state_folder));
  }
  std::unique_ptr<Store> store;
  RETURN_IF_ERROR(CatchErrors(absl::StrCat("open journal ", state_folder, kFileName), [&] {
    store = std::make_unique<Store>(state_folder, SQLite::OPEN_READWRITE);
    store->lock = std::move(lock);
    store->warnings = std::move(warnings);
    // The log stays as it is, also when the file is closed.
    sqlite3_db_config(store->database.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    store->database.exec("PRAGMA locking_mode=EXCLUSIVE");
    store->database.exec("PRAGMA query_only=1");
    return CheckFormat(store->database, state_folder);
  }));
  std::unique_ptr<SqliteJournal> journal(new SqliteJournal(std::move(store)));
  RETURN_IF_ERROR(journal->ReadNumbers());
  return journal;
}

SqliteJournal::SqliteJournal(std::unique_ptr<Store> store) : store_(std::move(store)) {}
SqliteJournal::~SqliteJournal() = default;

absl::Status SqliteJournal::ReadNumbers() {
  return CatchErrors("read journal", [&] {
    SQLite::Database& database = store_->database;
    store_->last_sequence =
        database.execAndGet("SELECT ifnull(max(sequence), 0) FROM journal").getInt64();
    store_->first_sequence =
        database.execAndGet("SELECT ifnull(min(sequence), 1) FROM journal").getInt64();
    if (!store_->mark.problem().empty()) store_->warnings.push_back(store_->mark.problem());
    return absl::OkStatus();
  });
}

absl::Status SqliteJournal::ForEachRecord(int64_t after, const RecordVisitor& visit) {
  return CatchErrors("read journal", [&] {
    SQLite::Statement select(store_->database,
                             "SELECT sequence, checksum, record FROM journal WHERE sequence > ? "
                             "ORDER BY sequence");
    select.bind(1, after);
    int64_t expected = after + 1;
    for (; select.executeStep(); ++expected) {
      const int64_t sequence = select.getColumn(0).getInt64();
      const SQLite::Column blob = select.getColumn(2);
      const absl::string_view record(static_cast<const char*>(blob.getBlob()),
                                     static_cast<size_t>(blob.getBytes()));
      if (sequence != expected) {
        return absl::DataLossError(
            absl::StrCat("journal record ", expected, " is missing; see `schedulerd check`"));
      }
      if (select.getColumn(1).getInt64() != ChecksumOf(sequence, record)) {
        return absl::DataLossError(absl::StrCat("journal record ", sequence,
                                                " is damaged (its checksum does not match); ",
                                                "see `schedulerd check`"));
      }
      RETURN_IF_ERROR(visit(sequence, record));
    }
    return absl::OkStatus();
  });
}

absl::Status SqliteJournal::Append(const std::vector<std::string>& records) {
  const absl::Status appended = CatchErrors("append to journal", [&] {
    SQLite::Transaction transaction(store_->database);
    int64_t sequence = store_->last_sequence;
    const ResetAtEnd reset(*store_->insert);
    for (const std::string& record : records) {
      ++sequence;
      store_->insert->bind(1, sequence);
      store_->insert->bind(2, static_cast<int64_t>(ChecksumOf(sequence, record)));
      store_->insert->bindNoCopy(3, record.data(), static_cast<int>(record.size()));
      store_->insert->exec();
      store_->insert->reset();
    }
    transaction.commit();
    store_->last_sequence = sequence;
    return absl::OkStatus();
  });
  if (appended.ok()) store_->mark.Set(store_->last_sequence);
  return appended;
}

absl::StatusOr<bool> SqliteJournal::RemoveUpTo(int64_t last, int64_t limit) {
  const int64_t end = std::min({last, store_->last_sequence, store_->first_sequence + limit - 1});
  if (end < store_->first_sequence) return true;
  RETURN_IF_ERROR(CatchErrors("remove from journal", [&] {
    SQLite::Transaction transaction(store_->database);
    const ResetAtEnd reset(*store_->remove);
    store_->remove->bind(1, end);
    store_->remove->exec();
    transaction.commit();
    store_->first_sequence = end + 1;
    return absl::OkStatus();
  }));
  return end >= std::min(last, store_->last_sequence);
}

int64_t SqliteJournal::first_sequence() const { return store_->first_sequence; }
int64_t SqliteJournal::last_sequence() const { return store_->last_sequence; }
int64_t SqliteJournal::high_water() const { return store_->mark.value(); }

void SqliteJournal::SkipTo(int64_t sequence) {
  if (sequence <= store_->last_sequence) return;
  store_->last_sequence = sequence;
  store_->first_sequence = sequence + 1;
}

const std::vector<std::string>& SqliteJournal::warnings() const { return store_->warnings; }

}  // namespace pipefill::scheduler
