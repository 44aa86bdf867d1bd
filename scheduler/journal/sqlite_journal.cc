#include "scheduler/journal/sqlite_journal.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/file_descriptor.h"
#include "common/files.h"
#include "common/status.h"

namespace pipefill::scheduler {
namespace {

// "pfsj" as the file's application_id: tells our store from any other SQLite file.
constexpr int kApplicationId = 0x7066736a;
constexpr char kFileName[] = "/journal.db";

uint32_t ChecksumOf(int64_t sequence, absl::string_view record) {
  unsigned char number[8];
  for (int i = 0; i < 8; ++i) {
    number[i] = static_cast<unsigned char>(static_cast<uint64_t>(sequence) >> (8 * i));
  }
  uLong checksum = crc32(0, number, sizeof(number));
  checksum = crc32(checksum, reinterpret_cast<const Bytef*>(record.data()),
                   static_cast<uInt>(record.size()));
  return static_cast<uint32_t>(checksum);
}

absl::Status StatusOf(const SQLite::Exception& error, absl::string_view what) {
  const std::string text = absl::StrCat(what, ": ", error.what());
  switch (error.getErrorCode()) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return absl::DataLossError(
          absl::StrCat(text, "; set the state folder aside and restore a copy"));
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

// Makes the entry of a new file durable.
absl::Status SyncFolder(const std::string& path) {
  const FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || fsync(folder.get()) != 0) {
    return ErrnoStatus(errno, absl::StrCat("sync of folder ", path));
  }
  return absl::OkStatus();
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
  return absl::OkStatus();
}

// All or nothing: a kill in between leaves a new store.
absl::Status MakeTables(SQLite::Database& database, const std::string& folder) {
  database.exec("PRAGMA journal_mode=WAL");
  SQLite::Transaction transaction(database);
  database.exec(absl::StrCat("PRAGMA application_id=", kApplicationId));
  database.exec(absl::StrCat("PRAGMA user_version=", SqliteJournal::kFormat));
  database.exec(
      "CREATE TABLE journal("
      "sequence INTEGER PRIMARY KEY, checksum INTEGER NOT NULL, record BLOB NOT NULL)");
  transaction.commit();
  return SyncFolder(folder);
}

}  // namespace

struct SqliteJournal::Store {
  explicit Store(const std::string& path)
      : database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE, /*aBusyTimeoutMs=*/1000) {}

  // Held while this object lives.
  FileDescriptor lock;
  SQLite::Database database;
  std::unique_ptr<SQLite::Statement> insert;
  int64_t last_sequence = 0;
};

absl::StatusOr<std::unique_ptr<SqliteJournal>> SqliteJournal::Open(
    const std::string& state_folder) {
  RETURN_IF_ERROR(MakeWritableFolder(state_folder));
  ASSIGN_OR_RETURN(FileDescriptor lock, LockFolder(state_folder));
  const std::string path = state_folder + kFileName;
  std::unique_ptr<Store> store;
  RETURN_IF_ERROR(CatchErrors(absl::StrCat("open journal ", path), [&] {
    store = std::make_unique<Store>(path);
    store->lock = std::move(lock);
    store->database.exec("PRAGMA synchronous=FULL");
    RETURN_IF_ERROR(IsNew(store->database) ? MakeTables(store->database, state_folder)
                                           : CheckFormat(store->database, state_folder));
    store->last_sequence =
        store->database.execAndGet("SELECT ifnull(max(sequence), 0) FROM journal").getInt64();
    store->insert = std::make_unique<SQLite::Statement>(
        store->database, "INSERT INTO journal(sequence, checksum, record) VALUES(?, ?, ?)");
    return absl::OkStatus();
  }));
  return std::unique_ptr<SqliteJournal>(new SqliteJournal(std::move(store)));
}

SqliteJournal::SqliteJournal(std::unique_ptr<Store> store) : store_(std::move(store)) {}
SqliteJournal::~SqliteJournal() = default;

absl::Status SqliteJournal::ForEachRecord(const RecordVisitor& visit) {
  return CatchErrors("read journal", [&] {
    SQLite::Statement select(store_->database,
                             "SELECT sequence, checksum, record FROM journal ORDER BY sequence");
    int64_t expected = 1;
    for (; select.executeStep(); ++expected) {
      const int64_t sequence = select.getColumn(0).getInt64();
      const SQLite::Column blob = select.getColumn(2);
      const absl::string_view record(static_cast<const char*>(blob.getBlob()),
                                     static_cast<size_t>(blob.getBytes()));
      if (sequence != expected) {
        return absl::DataLossError(absl::StrCat("journal record ", expected,
                                                " is missing; restore a copy of the state folder"));
      }
      if (select.getColumn(1).getInt64() != ChecksumOf(sequence, record)) {
        return absl::DataLossError(absl::StrCat("journal record ", sequence,
                                                " is damaged (its checksum does not match); ",
                                                "restore a copy of the state folder"));
      }
      RETURN_IF_ERROR(visit(sequence, record));
    }
    return absl::OkStatus();
  });
}

absl::Status SqliteJournal::Append(const std::vector<std::string>& records) {
  return CatchErrors("append to journal", [&] {
    SQLite::Transaction transaction(store_->database);
    int64_t sequence = store_->last_sequence;
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
}

}  // namespace pipefill::scheduler
