// Space on the disk of the state folder that is held back, so that what runs can still be written
// down when the disk is full: file `reserve` in the state folder.
//
// Thread-compatible: belongs to the scheduler loop.
//
//            less free than the reserve: nothing new is accepted
//    held ------------------------------------------------------> held, refusing
//      ^                                                             |  an append fails
//      +---- three times the reserve is free: taken back ---- given up, refusing
#ifndef SCHEDULER_JOURNAL_DISK_RESERVE_H_
#define SCHEDULER_JOURNAL_DISK_RESERVE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace pipefill::scheduler {

class DiskSpace {
 public:
  virtual ~DiskSpace() = default;

  // ResourceExhausted, with the numbers, if nothing new should be accepted now. Takes the reserve
  // back if it can.
  virtual absl::Status Check() = 0;
  // Gives the reserve up for what must be written. False if there is none (any more).
  virtual bool GiveUpReserve() = 0;
};

class DiskReserve : public DiskSpace {
 public:
  // `folder` exists. The reserve is made if there is space for it.
  DiskReserve(std::string folder, int64_t reserve_bytes);

  absl::Status Check() override;
  bool GiveUpReserve() override;

 private:
  // -1 if it is not known; then nothing is refused.
  int64_t FreeBytes() const;
  bool Take();

  const std::string folder_;
  const std::string path_;
  const int64_t reserve_bytes_;
  bool is_held_ = false;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_JOURNAL_DISK_RESERVE_H_
