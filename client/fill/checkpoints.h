// The checkpoints of one job, as one writer sees them: a process of one of its attempts.
//
//   Claim: "from now on I write"   claim -> look -> base -> look
//   Save:                          look -> save -> look -> prune
//
// Attempts of a job may overlap: one that was stopped in the middle of a call wakes up when another
// has long taken over. Each step is one atomic operation of the store; whatever they interleave:
//   - the looks find later claims, and a writer that sees one is refused, for good;
//   - a save that was reported as done is what every later claim goes on from, or something made of
//     it;
//   - a save that was not may be found or not; if a later writer has gone on without it, it never
//     counts again (CheckpointHistory).
//
// A save that cannot be read, or whose checksum is wrong, is skipped with a line, and the one
// before it used. The newest two are kept.
//
// Thread-compatible.
#ifndef CLIENT_FILL_CHECKPOINTS_H_
#define CLIENT_FILL_CHECKPOINTS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/fill/checkpoint_format.h"
#include "client/fill/checkpoint_history.h"
#include "client/fill/checkpoint_store.h"
#include "client/platform/error.h"

namespace pipefill::sdk {

class Checkpoints {
 public:
  static constexpr size_t kKept = 2;

  // What the job goes on from.
  struct Latest {
    SaveName name;
    uint64_t useful_ns = 0;
    std::string blob;
    std::string_view content() const { return std::string_view(blob).substr(kBlobHeaderBytes); }
  };
  using Report = std::function<void(const std::string& line)>;

  // `store` outlives this; `report` gets one line, without its end, per thing that people should
  // know.
  Checkpoints(CheckpointStore& store, uint64_t fence, Report report)
      : store_(store), report_(std::move(report)), writer_{.fence = fence} {}

  // Once, first. `*latest` is nullopt if there is nothing to go on from. PF_REFUSED: an attempt
  // with a higher fence is there. After any error nothing can be saved.
  Error Claim(std::optional<Latest>* latest);
  // Durable once it returns without an error. `blob` is sealed. PF_REFUSED: a later writer is
  // there; so it will be forever. After other errors a later Save may succeed.
  // REQUIRES: Claim has succeeded.
  Error Save(std::string_view blob);

  uint64_t saves() const { return number_; }

 private:
  static constexpr int kClaimTries = 64;
  static constexpr int kReadTries = 8;

  Error PutClaim();
  Error PutBase(const std::optional<Latest>& latest);
  // PF_REFUSED if a later writer's claim is there.
  Error Look();
  Error Refused(const Writer& newest) const;
  Error ReadHistory(CheckpointHistory* history);
  // False if `writer`'s base has gone meanwhile.
  bool ReadBase(const Writer& writer, Error* error);
  std::optional<Latest> ReadNewest(const CheckpointHistory& history);
  void Prune();

  CheckpointStore& store_;
  const Report report_;
  Writer writer_;
  uint64_t number_ = 0;                              // of the last try
  std::map<Writer, std::optional<SaveName>> bases_;  // those read so far
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_CHECKPOINTS_H_
