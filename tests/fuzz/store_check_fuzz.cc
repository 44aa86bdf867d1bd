// State folders with anything in them: `schedulerd check` says what it finds, `repair` makes a good
// store of it or says why it cannot, and `restore` takes a backup or says why it does not.
//
// An input names one of kFiles (a byte), where (2 bytes) and which bytes (1 byte of length in
// front) are put there instead, as often as it likes.
#include <sstream>

#include "common/check.h"
#include "common/files.h"
#include "common/virtual_time.h"
#include "scheduler/journal/checksum.h"
#include "scheduler/journal/recovery.h"
#include "scheduler/journal/sqlite_journal.h"
#include "scheduler/journal/store_tools.h"
#include "spdlog/spdlog.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"
#include "tests/fuzz/store_parts.h"

namespace pipefill {
namespace {

using Files = std::map<std::string, std::string>;

Files FilesIn(const std::string& folder) {
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().filename() == "lock") continue;
    files[entry.path().filename().string()] = ReadFile(entry.path().string()).value();
  }
  return files;
}

// A store with a snapshot, records behind it, and a log that was not written back.
Files MakeFiles() {
  const ScratchFolder scratch;
  auto journal = scheduler::SqliteJournal::Open(scratch.path()).value();
  const std::vector<std::string> records = scheduler::SomeRecords();
  const size_t half = records.size() / 2;
  CHECK(journal->Append({records.begin(), records.begin() + static_cast<int64_t>(half)}).ok());
  scheduler::ClusterState state{scheduler::ClusterLimits{}};
  int64_t last = 0;
  CHECK(scheduler::ReplayAfter(*journal, 0, scheduler::kNow, &state, &last).ok());
  scheduler::FileSnapshotStore snapshots(scratch.path());
  CHECK(snapshots
            .Write(scheduler::FrameWriter(scheduler::SnapshotEncoder(
                       state.Durable(), {.sequence = last, .wall = absl::FromUnixSeconds(1)})),
                   std::atomic<bool>(false))
            .ok());
  for (size_t i = half; i < records.size(); ++i) CHECK(journal->Append({records[i]}).ok());
  return FilesIn(scratch.path());
}

const Files& TheFiles() {
  static const Files files = MakeFiles();
  return files;
}

Files FilesFrom(absl::string_view input) {
  Files files = TheFiles();
  InputReader reader(input);
  while (!reader.is_at_end()) {
    const size_t which = reader.Take<uint8_t>() % files.size();
    std::string& bytes = std::next(files.begin(), static_cast<int64_t>(which))->second;
    const size_t at = bytes.empty() ? 0 : reader.Take<uint16_t>() % bytes.size();
    const absl::string_view change = reader.TakeBytes(reader.Take<uint8_t>());
    // Without bytes: the file ends there.
    if (change.empty()) bytes.resize(at);
    for (size_t i = 0; i < change.size() && at + i < bytes.size(); ++i) bytes[at + i] = change[i];
  }
  return files;
}

void WriteFiles(const Files& files, const ScratchFolder& scratch) {
  for (const auto& [name, bytes] : files) scratch.Write("store/" + name, bytes);
}

void CheckRepair(const std::string& folder, const VirtualTime& clock, bool was_good) {
  std::ostringstream out;
  const absl::Status repaired = scheduler::RepairStore(folder, clock, out);
  if (was_good) CHECK(repaired.ok());
  if (!repaired.ok()) return;
  std::ostringstream checked;
  const absl::Status status = scheduler::CheckStore(folder, clock, checked);
  if (!status.ok()) std::fprintf(stderr, "%s%s\n", out.str().c_str(), status.ToString().c_str());
  CHECK(status.ok());
  // And schedulerd starts with it.
  auto journal = scheduler::SqliteJournal::Open(folder);
  CHECK(journal.ok());
  const scheduler::FileSnapshotStore snapshots(folder);
  CHECK(scheduler::RecoverStore(**journal, snapshots, scheduler::ClusterLimits{}, scheduler::kNow)
            .ok());
}

}  // namespace

bool TakeInput(absl::string_view input) {
  spdlog::set_level(spdlog::level::off);
  const VirtualTime clock;
  const ScratchFolder scratch;
  const Files files = FilesFrom(input);
  WriteFiles(files, scratch);
  const std::string folder = scratch.path() + "/store";
  std::ostringstream out;
  const absl::Status checked = scheduler::CheckStore(folder, clock, out);
  if (!checked.ok()) CHECK(!checked.message().empty());
  CheckRepair(folder, clock, checked.ok());
  for (const auto& [name, bytes] : files) {
    if (name.find("snapshot-") != 0) continue;
    scratch.Write("backup", bytes);
    const std::string fresh = scratch.path() + "/fresh";
    const absl::Status restored =
        scheduler::RestoreStore(fresh, scratch.path() + "/backup", clock, out);
    if (restored.ok()) CHECK(scheduler::CheckStore(fresh, clock, out).ok());
  }
  return checked.ok();
}

std::vector<std::string> Seeds() {
  // As it is.
  return {""};
}

}  // namespace pipefill
