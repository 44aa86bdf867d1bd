// How a task ended, as its keeper (keeper.h) leaves it in the attempt's folder: one line of the
// file `exit`, for the agentd that started the task or the one after it.
//
//   code=0 signal=9 log_error=0
//
// The file is whole or absent, and on disk once it has its name.
//
// WriteExitRecord is async-signal-safe; the rest is for agentd. Thread-compatible.
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

// Into the folder of this descriptor. False if that is impossible.
bool WriteExitRecord(int folder, const ExitRecord& record) noexcept;

// nullopt if the folder has none that can be read.
std::optional<ExitRecord> ReadExitRecord(const std::string& folder);
std::optional<ExitRecord> ParseExitRecord(absl::string_view text);

}  // namespace pipefill

#endif  // AGENT_TASKS_EXIT_RECORD_H_
