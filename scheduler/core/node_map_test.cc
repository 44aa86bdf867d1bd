#include "scheduler/core/node_map.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "scheduler/core/node_table.h"

namespace pipefill::scheduler {
namespace {

// Node -> version.
using Expected = std::map<std::string, std::string>;

std::shared_ptr<const Node> NodeOf(const std::string& name, const std::string& version) {
  Node node;
  node.name = name;
  node.version = version;
  return std::make_shared<const Node>(std::move(node));
}

Expected Contents(const NodeMap& nodes) {
  Expected contents;
  std::string last;
  for (const auto& [name, node] : nodes) {
    EXPECT_LT(last, name);
    last = name;
    contents[name] = node->version;
  }
  EXPECT_EQ(contents.size(), nodes.size());
  return contents;
}

TEST(NodeMapTest, EmptyMapHasNothing) {
  const NodeMap nodes;
  EXPECT_EQ(nodes.size(), 0U);
  EXPECT_TRUE(nodes.begin() == nodes.end());
  EXPECT_TRUE(nodes.find("a") == nodes.end());
}

TEST(NodeMapTest, NodesAreFoundAndComeInTheOrderOfTheirNames) {
  NodeMap nodes;
  constexpr int kNodes = 1'000;
  for (int i = 0; i < kNodes; ++i) nodes.Set(NodeOf(absl::StrCat("node-", i * 7 % kNodes), "1"));
  EXPECT_EQ(Contents(nodes).size(), static_cast<size_t>(kNodes));
  for (int i = 0; i < kNodes; ++i) {
    const auto found = nodes.find(absl::StrCat("node-", i));
    ASSERT_TRUE(found != nodes.end()) << i;
    EXPECT_EQ(found->second->name, absl::StrCat("node-", i));
    EXPECT_EQ(found->first, found->second->name);
  }
  EXPECT_TRUE(nodes.find("node-") == nodes.end());
  EXPECT_TRUE(nodes.find("zebra") == nodes.end());
}

TEST(NodeMapTest, CopyStaysAsItWas) {
  NodeMap nodes;
  nodes.Set(NodeOf("a", "1"));
  nodes.Set(NodeOf("b", "1"));
  const NodeMap copy = nodes.Share();
  nodes.Set(NodeOf("a", "2"));
  nodes.Erase("b");
  nodes.Set(NodeOf("c", "1"));
  EXPECT_EQ(Contents(copy), (Expected{{"a", "1"}, {"b", "1"}}));
  EXPECT_EQ(Contents(nodes), (Expected{{"a", "2"}, {"c", "1"}}));
}

TEST(NodeMapTest, MapThatWasEmptiedCanBeFilledAgain) {
  NodeMap nodes;
  nodes.Set(NodeOf("a", "1"));
  nodes.Erase("a");
  nodes.Erase("a");
  EXPECT_TRUE(nodes.begin() == nodes.end());
  nodes.Set(NodeOf("a", "2"));
  EXPECT_EQ(Contents(nodes), (Expected{{"a", "2"}}));
}

// Like std::map, whatever happens in whatever order, and every copy as it was made.
RC_GTEST_PROP(NodeMapProperty, IsAMapAndItsCopiesNeverChange, ()) {
  NodeMap nodes;
  Expected expected;
  std::vector<std::pair<NodeMap, Expected>> copies;
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      300, rc::gen::pair(rc::gen::inRange(0, 10), rc::gen::inRange(0, 200)));
  for (const auto& [kind, number] : steps) {
    const std::string name = absl::StrCat("node-", number);
    if (kind == 0) {
      copies.emplace_back(nodes.Share(), expected);
    } else if (kind <= 2) {
      nodes.Erase(name);
      expected.erase(name);
    } else {
      const std::string version = absl::StrCat(copies.size());
      nodes.Set(NodeOf(name, version));
      expected[name] = version;
    }
    RC_ASSERT((nodes.find(name) != nodes.end()) == expected.contains(name));
  }
  RC_ASSERT(Contents(nodes) == expected);
  for (const auto& [copy, contents] : copies) RC_ASSERT(Contents(copy) == contents);
}

}  // namespace
}  // namespace pipefill::scheduler
