// How a task ended, as its keeper (keeper.h) leaves it in the attempt's folder: one line of the
// file `exit`, for the agentd that started the task or the one after it.
//
//   code=0 signal=9 log_error=0
//
// The file is whole or absent, and on disk once it has its name. Its room on the disk is taken when
// the task starts, under another name, so that a task whose output fills the disk has an end all
// the same; there the keeper also notes that a log cannot be written any more.
//
// WriteExitRecord and NoteLogError are async-signal-safe; the rest is for agentd.
// Thread-compatible.
#ifndef AGENT_TASKS_EXIT_RECORD_H_
#define AGENT_TASKS_EXIT_RECORD_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "agent/tasks/attempt.h"

namespace pipefill {

struct ExitRecord {
  ProcessExit exit;
  int log_error = 0;  // errno value that ended the copying of a log; 0 = none did
};

inline constexpr char kExitFile[] = "exit";
// Its name until the task has ended.
inline constexpr char kFreshExitFile[] = "exit.new";

// Takes the room, in the folder of this descriptor. False if that is impossible.
bool ReserveExitRecord(int folder) noexcept;
// The task still runs. Best effort.
void NoteLogError(int folder, int error_number) noexcept;
// The errno value so noted of a task that runs; 0 = none.
int ReadLogError(const std::string& folder);

// Into the folder of this descriptor. False if that is impossible.
bool WriteExitRecord(int folder, const ExitRecord& record) noexcept;

// nullopt if the folder has none that can be read.
std::optional<ExitRecord> ReadExitRecord(const std::string& folder);
std::optional<ExitRecord> ParseExitRecord(absl::string_view text);

}  // namespace pipefill

#endif  // AGENT_TASKS_EXIT_RECORD_H_
