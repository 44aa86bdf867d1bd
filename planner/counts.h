// How many there are of each key.
//
// Pure.
#ifndef PLANNER_COUNTS_H_
#define PLANNER_COUNTS_H_

#include <cstddef>

#include "absl/container/btree_map.h"

namespace pipefill {

// `change` more of the key; it leaves the map at 0.
template <typename Key>
void Count(const Key& key, int change, absl::btree_map<Key, size_t>* counts) {
  size_t& count = (*counts)[key];
  count += static_cast<size_t>(change);
  if (count == 0) counts->erase(key);
}

}  // namespace pipefill

#endif  // PLANNER_COUNTS_H_
