// Checkpoints in a folder of a POSIX file system, local or shared.
//
// A blob is written to a hidden file, synced, linked to its name (the link fails if the name is
// taken, on NFS too), and the folder is synced. Hidden files that a crash left behind are removed
// at the next Open; a process whose file goes that way writes it again.
//
// Thread-compatible.
#ifndef CLIENT_FILL_POSIX_CHECKPOINT_STORE_H_
#define CLIENT_FILL_POSIX_CHECKPOINT_STORE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/fill/checkpoint_store.h"
#include "client/platform/descriptor.h"
#include "client/platform/error.h"

namespace pipefill::sdk {

class PosixCheckpointStore final : public CheckpointStore {
 public:
  // Makes the folder if it is not there; that in which it lies must be.
  static Error Open(const std::string& folder, std::unique_ptr<CheckpointStore>* store);

  Error PutIfAbsent(const std::string& name, std::string_view content, bool* is_new) override;
  Error Get(const std::string& name, std::string* content) override;
  Error List(std::vector<std::string>* names) override;
  Error Remove(const std::string& name) override;

 private:
  struct Blob {
    const std::string& name;
    std::string_view content;
  };

  PosixCheckpointStore(std::string folder, Descriptor descriptor)
      : folder_(std::move(folder)), descriptor_(std::move(descriptor)) {}

  // Every entry but "." and "..".
  Error ReadFolder(std::vector<std::string>* names);
  void RemoveHidden();
  // `*is_disturbed`: another process was in the way; try again.
  Error TryPut(const Blob& blob, bool* is_new, bool* is_disturbed);
  // False with errno set.
  bool Link(const std::string& hidden, const std::string& name, const Descriptor& file,
            bool* is_new);
  // errno, with what was tried.
  Error Failed(const std::string& what, const std::string& name) const;

  const std::string folder_;
  const Descriptor descriptor_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_POSIX_CHECKPOINT_STORE_H_
