// Which checkpoints of a job count, given what its writers have left behind.
//
// A save counts if its writer's claim is there, and every later writer that has gone on from
// something went on from this save or a later one. So what a stopped attempt saves after its
// successor has begun never counts, nor does what a successor of that one saves.
//
// Pure.
#ifndef CLIENT_FILL_CHECKPOINT_HISTORY_H_
#define CLIENT_FILL_CHECKPOINT_HISTORY_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/fill/checkpoint_format.h"

namespace pipefill::sdk {

struct CheckpointHistory {
  std::set<Writer> claims;
  // nullopt: that writer began without one.
  std::map<Writer, std::optional<SaveName>> bases;
  std::set<SaveName> saves;

  // Puts the names in their place; of those of bases it returns the writers, whose blobs tell more.
  // Unknown names are left alone.
  std::vector<Writer> TakeNames(const std::vector<std::string>& names);

  bool IsStale(const Writer& writer) const;
  bool Counts(const SaveName& save) const;
  // Those that count, newest first.
  std::vector<SaveName> NewestFirst() const;
  // Names that are of no use any more once the newest `kept` that count are kept, in the order in
  // which they have to go: a crash in between must not let anything count that did not before.
  std::vector<std::string> Prunable(size_t kept) const;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_CHECKPOINT_HISTORY_H_
