// Where the checkpoints of one job lie: a set of named blobs that are put once and never changed.
// What the blobs mean is the business of Checkpoints; an object store fits behind this as well as a
// folder does.
//
// Names are of [a-z0-9-]. A blob is there as a whole or not at all, whatever dies while it is put.
//
// Thread-compatible; any number of processes may use stores over the same place.
#ifndef CLIENT_FILL_CHECKPOINT_STORE_H_
#define CLIENT_FILL_CHECKPOINT_STORE_H_

#include <string>
#include <string_view>
#include <vector>

#include "client/platform/error.h"

namespace pipefill::sdk {

class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // Durable, and seen by every List that begins later, once it has returned without an error; after
  // an error it may be there or not. `*is_new` is false if the name is taken, by whomever: then
  // nothing has changed.
  virtual Error PutIfAbsent(const std::string& name, std::string_view content, bool* is_new) = 0;
  // An error if there is none of that name.
  virtual Error Get(const std::string& name, std::string* content) = 0;
  // All names, in any order.
  virtual Error List(std::vector<std::string>* names) = 0;
  // No error if there is none of that name.
  virtual Error Remove(const std::string& name) = 0;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_CHECKPOINT_STORE_H_
