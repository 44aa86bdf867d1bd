// Write-ahead logs: InspectWal must say what SQLite itself makes of the same bytes.
//
// Checksums would hide everything behind the first byte that changes, so an input says with its
// first byte whether those of the head (bit 0) and of the frames (bit 1) are made right.
#include <sqlite3.h>

#include <cstring>
#include <optional>

#include "common/check.h"
#include "common/files.h"
#include "scheduler/journal/wal.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace pipefill {
namespace {

constexpr size_t kHeadBytes = 32;
constexpr size_t kFrameHeadBytes = 24;
constexpr uint32_t kPageBytes = 512;
constexpr int kRows = 6;

uint32_t ReadBig(const std::string& bytes, size_t at) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i) number = number << 8 | static_cast<uint8_t>(bytes[at + i]);
  return number;
}

void WriteBig(uint32_t number, size_t at, std::string* bytes) {
  for (size_t i = 0; i < 4; ++i) (*bytes)[at + i] = static_cast<char>(number >> (24 - 8 * i));
}

// https://sqlite.org/fileformat.html#the_write_ahead_log
class Sums {
 public:
  explicit Sums(bool is_big_endian) : is_big_endian_(is_big_endian) {}

  void Add(const std::string& bytes, size_t from, size_t size) {
    for (size_t at = from; at + 8 <= from + size; at += 8) {
      first_ += Word(bytes, at) + second_;
      second_ += Word(bytes, at + 4) + first_;
    }
  }
  void Write(size_t at, std::string* bytes) const {
    WriteBig(first_, at, bytes);
    WriteBig(second_, at + 4, bytes);
  }

 private:
  uint32_t Word(const std::string& bytes, size_t at) const {
    const uint32_t big = ReadBig(bytes, at);
    return is_big_endian_ ? big : __builtin_bswap32(big);
  }

  const bool is_big_endian_;
  uint32_t first_ = 0;
  uint32_t second_ = 0;
};

void MakeRight(bool is_head_right, bool are_frames_right, std::string* log) {
  if (log->size() < kHeadBytes) return;
  Sums sums((ReadBig(*log, 0) & 1) != 0);
  sums.Add(*log, 0, 24);
  if (is_head_right) sums.Write(24, log);
  const size_t frame_bytes = kFrameHeadBytes + kPageBytes;
  for (size_t at = kHeadBytes; are_frames_right && at + frame_bytes <= log->size();
       at += frame_bytes) {
    sums.Add(*log, at, 8);
    sums.Add(*log, at + kFrameHeadBytes, kPageBytes);
    sums.Write(at + 16, log);
  }
}

// A database in WAL mode whose rows are in its log, one transaction each.
struct Store {
  std::string database;
  std::string log;
};

Store MakeStore() {
  const ScratchFolder scratch;
  const std::string path = scratch.path() + "/made.db";
  sqlite3* database = nullptr;
  CHECK(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  const auto run = [&](const std::string& statement) {
    CHECK(sqlite3_exec(database, statement.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  };
  run("PRAGMA page_size=512; PRAGMA journal_mode=WAL; CREATE TABLE t(x INTEGER PRIMARY KEY)");
  run("PRAGMA wal_checkpoint(TRUNCATE)");
  for (int i = 0; i < kRows; ++i) run("INSERT INTO t VALUES(" + std::to_string(i) + ")");
  Store store = {ReadFile(path).value(), ReadFile(path + "-wal").value()};
  sqlite3_close(database);
  return store;
}

const Store& TheStore() {
  static const Store store = MakeStore();
  return store;
}

// nullopt if SQLite does not open the database.
std::optional<int> FramesForSqlite(const std::string& path) {
  sqlite3* database = nullptr;
  CHECK(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  // Reads the log.
  const int opened = sqlite3_exec(database, "PRAGMA schema_version", nullptr, nullptr, nullptr);
  int frames = -1;
  int copied = 0;
  if (opened == SQLITE_OK) {
    sqlite3_wal_checkpoint_v2(database, nullptr, SQLITE_CHECKPOINT_PASSIVE, &frames, &copied);
  }
  sqlite3_close(database);
  return frames < 0 ? std::nullopt : std::optional(frames);
}

}  // namespace

bool TakeInput(absl::string_view input) {
  InputReader reader(input);
  const auto flags = reader.Take<uint8_t>();
  std::string log(reader.TakeRest());
  MakeRight((flags & 1) != 0, (flags & 2) != 0, &log);
  const ScratchFolder scratch;
  scratch.Write("a.db", TheStore().database);
  scratch.Write("a.db-wal", log);
  const scheduler::WalReport report = scheduler::InspectWal(scratch.path() + "/a.db-wal").value();
  CHECK(report.frames >= 0 && report.torn_frames >= 0);
  if (report.is_damaged) CHECK(report.torn_frames >= 2);
  const bool has_our_pages = log.size() >= kHeadBytes && ReadBig(log, 8) == kPageBytes;
  if (!has_our_pages) return false;
  const std::optional<int> frames = FramesForSqlite(scratch.path() + "/a.db");
  if (frames.has_value()) CHECK(report.frames == *frames);
  return report.frames > 0;
}

std::vector<std::string> Seeds() {
  const std::string& log = TheStore().log;
  const std::string torn = log.substr(0, log.size() - 3);
  return {InputWriter().Put(uint8_t{0}).PutBytes(log).Take(),
          InputWriter().Put(uint8_t{3}).PutBytes(log).Take(),
          InputWriter().Put(uint8_t{3}).PutBytes(torn).Take()};
}

}  // namespace pipefill
