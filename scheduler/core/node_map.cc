#include "scheduler/core/node_map.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/node_table.h"

namespace pipefill::scheduler {
namespace {

// A change copies so many pointers at most, a copy of the map one for each half as many nodes.
constexpr size_t kBlockMax = 64;

using Nodes = std::vector<std::shared_ptr<const Node>>;

size_t PlaceOf(const Nodes& nodes, const std::string& name) {
  const auto at = std::lower_bound(
      nodes.begin(), nodes.end(), name,
      [](const auto& node, const std::string& wanted) { return node->name < wanted; });
  return static_cast<size_t>(at - nodes.begin());
}

bool IsAt(const Nodes& nodes, size_t place, const std::string& name) {
  return place < nodes.size() && nodes[place]->name == name;
}

}  // namespace

NodeMap::Entry NodeMap::Iterator::operator*() const {
  const std::shared_ptr<const Node>& node = (*blocks_)[block_]->nodes[place_];
  return {node->name, node};
}

NodeMap::Iterator& NodeMap::Iterator::operator++() {
  if (++place_ < (*blocks_)[block_]->nodes.size()) return *this;
  ++block_;
  place_ = 0;
  return *this;
}

NodeMap NodeMap::Share() const {
  ++edition_;
  return *this;
}

NodeMap::Iterator NodeMap::find(const std::string& name) const {
  if (blocks_.empty()) return end();
  const size_t block = BlockOf(name);
  const size_t place = PlaceOf(blocks_[block]->nodes, name);
  return IsAt(blocks_[block]->nodes, place, name) ? Iterator(&blocks_, block, place) : end();
}

void NodeMap::Set(std::shared_ptr<const Node> node) {
  if (blocks_.empty()) blocks_.push_back(std::make_shared<Block>(Block{.edition = edition_}));
  const size_t block = size_ == 0 ? 0 : BlockOf(node->name);
  Nodes& nodes = Edit(block).nodes;
  const size_t place = PlaceOf(nodes, node->name);
  if (IsAt(nodes, place, node->name)) {
    nodes[place] = std::move(node);
    return;
  }
  nodes.insert(nodes.begin() + static_cast<ptrdiff_t>(place), std::move(node));
  ++size_;
  if (nodes.size() > kBlockMax) Split(block);
}

void NodeMap::Erase(const std::string& name) {
  if (find(name) == end()) return;
  const size_t block = BlockOf(name);
  Nodes& nodes = Edit(block).nodes;
  nodes.erase(nodes.begin() + static_cast<ptrdiff_t>(PlaceOf(nodes, name)));
  --size_;
  if (nodes.empty()) blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(block));
}

size_t NodeMap::BlockOf(const std::string& name) const {
  const auto after =
      std::upper_bound(blocks_.begin() + 1, blocks_.end(), name,
                       [](const std::string& wanted, const std::shared_ptr<Block>& block) {
                         return wanted < block->nodes.front()->name;
                       });
  return static_cast<size_t>(after - blocks_.begin()) - 1;
}

NodeMap::Block& NodeMap::Edit(size_t block) {
  std::shared_ptr<Block>& own = blocks_[block];
  if (own->edition != edition_) {
    own = std::make_shared<Block>(*own);
    own->edition = edition_;
  }
  return *own;
}

void NodeMap::Split(size_t block) {
  Nodes& nodes = blocks_[block]->nodes;
  const auto half = nodes.begin() + static_cast<ptrdiff_t>(nodes.size() / 2);
  auto second =
      std::make_shared<Block>(Block{.nodes = Nodes(half, nodes.end()), .edition = edition_});
  nodes.erase(half, nodes.end());
  blocks_.insert(blocks_.begin() + static_cast<ptrdiff_t>(block) + 1, std::move(second));
}

}  // namespace pipefill::scheduler
