// What an operator does with a state folder while no schedulerd uses it: look, repair, restore.
//
// Each tells on `out`, line by line, what it found and did; the status is the verdict.
//
// Thread-compatible. FailedPrecondition: the folder is in use, or of a newer version.
#ifndef SCHEDULER_JOURNAL_STORE_TOOLS_H_
#define SCHEDULER_JOURNAL_STORE_TOOLS_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"

namespace pipefill::scheduler {

// By how much ids and fences go up where some that were given may not be known any more: none is
// given twice unless more than that are lost. No store has ids above 2^36.
// Each jump costs the table of jobs some 400 KB.
inline constexpr int64_t kIdJump = 100'000'000;
inline constexpr uint64_t kFenceJump = uint64_t{1} << 32;

// Reads every snapshot and every record, changes nothing. DataLoss: something is damaged or
// missing, the first of it named. NotFound: there is no store. A folder that was restored and never
// started has no journal yet, and is fine.
absl::Status CheckStore(const std::string& state_folder, const Clock& clock, std::ostream& out);

// Keeps the longest undamaged row of records and drops what comes after it; says what that is. The
// folder as it was is copied to `damaged-SECONDS` in it first. Does nothing to a good store.
// DataLoss: nothing can be kept.
absl::Status RepairStore(const std::string& state_folder, const Clock& clock, std::ostream& out);

// Makes the state folder out of the backup `file`. FailedPrecondition: there is a store already.
// DataLoss: the backup is damaged, or not whole.
absl::Status RestoreStore(const std::string& state_folder, const std::string& file,
                          const Clock& clock, std::ostream& out);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_STORE_TOOLS_H_
