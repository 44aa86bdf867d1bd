// Nodes by name, so that a copy of all of them costs little however many there are: it is made each
// time that something is published, and agents report all the time.
//
// Sorted blocks of nodes, which copies share. A block that a copy may see is copied before its
// first change.
//
// Thread-compatible: the map that is changed belongs to one loop. A copy that nobody changes may be
// read by any thread.
#ifndef SCHEDULER_CORE_NODE_MAP_H_
#define SCHEDULER_CORE_NODE_MAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace pipefill::scheduler {

struct Node;

class NodeMap {
 private:
  struct Block {
    std::vector<std::shared_ptr<const Node>> nodes = {};  // by name; not empty
    uint64_t edition = 0;                                 // that of the map in which it was made
  };
  using Blocks = std::vector<std::shared_ptr<Block>>;

 public:
  // As that of a map from names; both live as long as the map is not changed.
  struct Entry {
    const std::string& first;
    const std::shared_ptr<const Node>& second;

    const Entry* operator->() const { return this; }
  };

  class Iterator {
   public:
    Entry operator*() const;
    Entry operator->() const { return **this; }
    Iterator& operator++();

    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    friend class NodeMap;
    Iterator(const Blocks* blocks, size_t block, size_t place)
        : blocks_(blocks), block_(block), place_(place) {}

    const Blocks* blocks_;
    size_t block_;
    size_t place_;
  };

  NodeMap() = default;
  NodeMap(NodeMap&&) = default;
  NodeMap& operator=(NodeMap&&) = default;

  // All nodes as they are now.
  NodeMap Share() const;

  // By name.
  Iterator begin() const { return {&blocks_, 0, 0}; }
  Iterator end() const { return {&blocks_, blocks_.size(), 0}; }
  Iterator find(const std::string& name) const;
  size_t size() const { return size_; }

  // Takes the place of the node of that name, if there is one.
  void Set(std::shared_ptr<const Node> node);
  // Does nothing if there is no such node.
  void Erase(const std::string& name);

 private:
  NodeMap(const NodeMap&) = default;

  // The block that has the node of that name, or would have it. REQUIRES: the map is not empty.
  size_t BlockOf(const std::string& name) const;
  // The block, not shared with any copy.
  Block& Edit(size_t block);
  void Split(size_t block);

  Blocks blocks_;
  size_t size_ = 0;
  // Grows with each copy. What was made in an older edition may be shared.
  mutable uint64_t edition_ = 1;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_NODE_MAP_H_
