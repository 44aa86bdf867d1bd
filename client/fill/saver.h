// What a fill task saves of its work, and when: the program's hooks, the checkpoints of its job,
// and the interval between them.
//
//   Resume --> OnUnit, OnUnit, ... is_due --> Collect (the unit of a save: all that needs the
//                    ^                        processor) --> Write (waits for the disk) --+
//                    +--------------------------------------------------------------------+
//
// An error is told on stderr, which is the attempt's log, and counted; the task goes on and tries
// again an interval later. Only a task that was overtaken by a later attempt is stale, for good: it
// must stop, for whatever it does is done twice.
//
// Thread-compatible: belongs to one fill task's thread.
#ifndef CLIENT_FILL_SAVER_H_
#define CLIENT_FILL_SAVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/fill/checkpoint_store.h"
#include "client/fill/checkpoints.h"
#include "client/fill/save_interval.h"
#include "client/platform/clock.h"
#include "client/platform/environment.h"
#include "client/platform/error.h"

namespace pipefill::sdk {

// Of the program; called on the task's thread, never inside a unit of its own. Must not throw.
struct SaveHooks {
  // Appends the state to `*blob`, which holds something already; false: it cannot now.
  std::function<bool(std::string* blob)> save;
  // Gets it back; false: this state is of no use to it.
  std::function<bool(std::string_view state)> load;
  // After a save, outside of any unit: makes durable what the state refers to. May be empty.
  std::function<bool()> sync = nullptr;
};

struct SaveSettings {
  std::string folder;  // empty = nothing is saved
  uint64_t fence = 0;
  SaveBounds bounds;
};

// Of PIPEFILL_CHECKPOINT_*. PF_BAD_ARGUMENT names the variable that makes no sense; its default
// holds then.
Error ReadSaveSettings(const Environment& environment, SaveSettings* settings);

class Saver {
 public:
  struct Numbers {
    uint64_t done = 0;
    uint64_t failed = 0;
    uint64_t cost_ns = 0;    // of the last try
    uint64_t end_ns = 0;     // when the last one was done; 0 = none yet
    uint64_t useful_ns = 0;  // in all that was loaded or done, over all attempts
    std::optional<SaveName> resumed_from;
    uint64_t resumed_useful_ns = 0;
  };

  // Without a store nothing is ever saved. `clock` outlives this.
  Saver(const Clock& clock, const SaveSettings& settings, SaveHooks hooks,
        std::unique_ptr<CheckpointStore> store);

  // Once, first: claims the job's checkpoints and hands the newest to the program. After
  // PF_BAD_ARGUMENT the program has refused it, and has loaded who knows what: it should leave.
  Error Resume();

  // A unit of the program has used so much CPU time.
  void OnUnit(uint64_t cpu_ns);
  // The unit of a save. False if the program could not.
  bool Collect();
  // Puts what Collect has made on disk. `collect_ns` is what that took.
  Error Write(uint64_t collect_ns);

  // Something on the way to a checkpoint went wrong, here or outside.
  void OnFailure(const Error& error);

  bool is_due() const { return is_able_ && interval_.is_due(); }
  bool is_overdue() const { return is_able_ && interval_.is_overdue(); }
  bool has_unsaved() const { return is_able_ && interval_.unsaved_ns() > 0; }
  bool is_stale() const { return is_stale_; }
  uint64_t unsaved_ns() const { return interval_.unsaved_ns(); }
  const Numbers& numbers() const { return numbers_; }

 private:
  const Clock& clock_;
  const std::unique_ptr<CheckpointStore> store_;
  std::optional<Checkpoints> checkpoints_;
  const SaveHooks hooks_;
  SaveInterval interval_;
  Numbers numbers_;
  std::string blob_;
  bool is_able_ = false;
  bool is_stale_ = false;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_SAVER_H_
