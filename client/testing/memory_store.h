// A checkpoint store in memory, over blobs that several stores can share, as processes share a
// folder. A test decides before each call what becomes of it.
//
// Thread-compatible; calls of stores over the same blobs must not overlap.
#ifndef CLIENT_TESTING_MEMORY_STORE_H_
#define CLIENT_TESTING_MEMORY_STORE_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "client/fill/checkpoint_store.h"

namespace pipefill::sdk {

class MemoryStore final : public CheckpointStore {
 public:
  using Blobs = std::map<std::string, std::string>;
  enum class Call { kPut, kGet, kList, kRemove };
  enum class Fate {
    kGood,
    kFailed,         // nothing happened
    kDoneButFailed,  // it happened, and an error was said
  };

  explicit MemoryStore(Blobs& blobs) : blobs_(blobs) {}

  // Asked before each call; may use other stores over the same blobs.
  std::function<Fate(Call, const std::string& name)> fate;

  Error PutIfAbsent(const std::string& name, std::string_view content, bool* is_new) override {
    *is_new = false;
    const Fate result = FateOf(Call::kPut, name);
    if (result != Fate::kFailed) *is_new = blobs_.emplace(name, content).second;
    return ErrorOf(result, "put " + name);
  }
  Error Get(const std::string& name, std::string* content) override {
    const Fate result = FateOf(Call::kGet, name);
    const auto found = blobs_.find(name);
    if (found == blobs_.end()) return ErrorOf(Fate::kFailed, "get " + name);
    *content = found->second;
    return ErrorOf(result, "get " + name);
  }
  Error List(std::vector<std::string>* names) override {
    const Fate result = FateOf(Call::kList, "");
    names->clear();
    for (const auto& [name, content] : blobs_) names->push_back(name);
    return ErrorOf(result, "list");
  }
  Error Remove(const std::string& name) override {
    const Fate result = FateOf(Call::kRemove, name);
    if (result != Fate::kFailed) blobs_.erase(name);
    return ErrorOf(result, "remove " + name);
  }

 private:
  Fate FateOf(Call call, const std::string& name) { return fate ? fate(call, name) : Fate::kGood; }
  static Error ErrorOf(Fate fate, const std::string& what) {
    if (fate == Fate::kGood) return {};
    return {.code = PF_SYSTEM, .text = what + ": failed by the test"};
  }

  Blobs& blobs_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_TESTING_MEMORY_STORE_H_
