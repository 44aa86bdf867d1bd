// What the targets of the scheduler's store share.
//
// Thread-compatible.
#ifndef TESTS_FUZZ_STORE_PARTS_H_
#define TESTS_FUZZ_STORE_PARTS_H_

#include <google/protobuf/util/message_differencer.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/instant.h"
#include "scheduler/core/cluster_state.h"

namespace pipefill::scheduler {

// One record of each kind, which can follow each other.
std::vector<std::string> SomeRecords();

// The state after SomeRecords.
ClusterState SomeState();

// Of the state as it is, from its head to its end.
std::vector<std::string> PiecesOf(ClusterState& state);

// Into `state`, which has seen no event.
absl::Status TakePieces(const std::vector<std::string>& pieces, ClusterState* state);

// Whether no id in them is so large that the table of jobs alone would take long to make. That is
// no fault (a store may have ids of up to 2^36), but nothing is learned from it either.
bool HasModestIds(const std::vector<std::string>& pieces);

// CHECKs that the state comes back from its own snapshot.
void CheckSnapshotOf(ClusterState& state);

// Whether both are encodings of one message; the order of a map's entries is no difference.
template <typename Message>
bool IsSame(const std::string& a, const std::string& b) {
  Message message_a;
  Message message_b;
  if (!message_a.ParseFromString(a) || !message_b.ParseFromString(b)) return false;
  google::protobuf::util::MessageDifferencer differencer;
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  differencer.set_field_comparator(&comparator);
  return differencer.Compare(message_a, message_b);
}

inline constexpr Instant kNow = Instant::FromNs(1'000'000'000'000);

}  // namespace pipefill::scheduler

#endif  // TESTS_FUZZ_STORE_PARTS_H_
