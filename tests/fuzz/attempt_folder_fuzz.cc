// The folder of an attempt, in which a task runs and may write: record, progress and exit of it, as
// the next agentd reads them.
#include "agent/tasks/attempt_folders.h"
#include "agent/tasks/exit_record.h"
#include "common/check.h"
#include "common/files.h"
#include "spdlog/spdlog.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_folder.h"

namespace pipefill {
namespace {

const AttemptKey kKey = {JobId(7), AttemptNumber(1), Fence(3)};

void CheckExit(absl::string_view text) {
  const std::optional<ExitRecord> record = ParseExitRecord(text);
  if (!record.has_value()) return;
  CHECK(record->exit.exit_code >= 0 && record->exit.signal >= 0 && record->log_error >= 0);
}

// What was read can be written, and reads the same.
void CheckRecord(const AttemptFolders& folders, const AttemptRecord& record) {
  CHECK(record.keeper.pid != 1 && record.keeper.pid >= 0);
  CHECK(record.leader.pid != 1 && record.leader.pid >= 0);
  AttemptRecord moved = record;
  moved.key = kKey;
  CHECK(folders.WriteRecord(moved).ok());
  const std::vector<AttemptRecord> again = folders.ReadRecords();
  CHECK(again.size() == 1);
  const AttemptRecord& back = again[0];
  CHECK(back.key == kKey && back.job_name == record.job_name && back.device == record.device);
  CHECK(back.memory_bytes == record.memory_bytes && back.policy_rank == record.policy_rank);
  CHECK(back.way == record.way && back.boot_id == record.boot_id);
  CHECK(back.keeper == record.keeper && back.leader == record.leader);
  CHECK(back.stop.has_value() == record.stop.has_value());
  CHECK(back.end.has_value() == record.end.has_value());
}

}  // namespace

bool TakeInput(absl::string_view input) {
  spdlog::set_level(spdlog::level::off);
  InputReader reader(input);
  const ScratchFolder scratch;
  const AttemptFolders folders = AttemptFolders::Open(scratch.path()).value();
  const absl::string_view exit = reader.TakePiece();
  CheckExit(exit);
  scratch.Write("attempts/7.1/exit", exit);
  scratch.Write("attempts/7.1/progress", reader.TakePiece());
  scratch.Write("attempts/7.1/task.json", reader.TakePiece());
  const std::vector<AttemptRecord> records = folders.ReadRecords();
  CHECK(records.size() <= 1);
  folders.ReadExit(kKey);
  folders.ReadProgress(kKey);
  if (records.empty()) return false;
  CheckRecord(folders, records[0]);
  return true;
}

std::vector<std::string> Seeds() {
  const ScratchFolder scratch;
  const AttemptFolders folders = AttemptFolders::Open(scratch.path()).value();
  const AttemptPaths paths = folders.Create(kKey).value();
  const AttemptRecord record = {
      .key = kKey,
      .job_name = "embed",
      .device = "cpu0",
      .memory_bytes = 1 << 20,
      .policy_rank = -3,
      .way = FillWay::kProcess,
      .boot_id = "b",
      .keeper = {.pid = 20, .start_ticks = 99},
      .leader = {.pid = 21, .start_ticks = 99},
      .stop = StopNote{.cause = EndCause::kCancelled, .text = "cancelled"},
      .end = AttemptEnd{.cause = EndCause::kExited, .exit_code = 3, .signal = 0, .text = "3"}};
  CHECK(folders.WriteRecord(record).ok());
  folders.WriteProgress(kKey, "units");
  return {InputWriter()
              .PutPiece("code=3 signal=0 log_error=28\n")
              .PutPiece(ReadFile(paths.progress).value())
              .PutPiece(ReadFile(paths.record).value())
              .Take()};
}

}  // namespace pipefill
