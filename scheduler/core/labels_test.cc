#include "scheduler/core/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

bool Takes(const std::string& selector, const Labels& labels) {
  const auto parsed = Selector::Parse(selector);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed.ok() && parsed->Takes(labels);
}

// --- Labels ---

TEST(CheckLabelsTest, TakesWhatKubernetesTakes) {
  const std::string longest(63, 'a');
  EXPECT_TRUE(CheckLabels({}).ok());
  EXPECT_TRUE(CheckLabels({{"team", "vision"}, {"gpu", ""}, {"Tier_1.x-y", "9"}}).ok());
  EXPECT_TRUE(CheckLabels({{"example.com/team", "a"}, {longest, longest}}).ok());
}

TEST(CheckLabelsTest, NamesTheKeyOrTheValueThatIsWrong) {
  for (const std::string& key : std::vector<std::string>{
           "", "-a", "a-", "a b", "a=b", "a,b", "!a", std::string(64, 'a'), "/a", "a/", "A.com/a",
           "a..b/c", "a/b/c", std::string(254, 'a') + "/a"}) {
    const absl::Status status = CheckLabels({{key, "x"}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << key;
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("\"", key, "\""))) << key;
  }
  for (const std::string& value :
       std::vector<std::string>{"-a", "a_", "a b", "a=b", "a,b", std::string(64, 'a'), "a/b"}) {
    const absl::Status status = CheckLabels({{"team", value}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << value;
    EXPECT_THAT(std::string(status.message()), HasSubstr("team: ")) << value;
  }
}

TEST(CheckLabelsTest, TakesSixtyFourAndNotOneMore) {
  Labels labels;
  for (int i = 0; i < 64; ++i) labels[absl::StrCat("k", i)] = "v";
  EXPECT_TRUE(CheckLabels(labels).ok());
  labels["one-more"] = "v";
  EXPECT_EQ(CheckLabels(labels).message(), "65 labels, at most 64");
}

// --- Selectors ---

TEST(SelectorTest, EmptyOneTakesEverything) {
  EXPECT_TRUE(Takes("", {}));
  EXPECT_TRUE(Takes("  ", {{"team", "a"}}));
}

TEST(SelectorTest, EqualityNeedsTheLabelAndItsValue) {
  EXPECT_TRUE(Takes("team=a", {{"team", "a"}}));
  EXPECT_TRUE(Takes("team==a", {{"team", "a"}}));
  EXPECT_FALSE(Takes("team=a", {{"team", "b"}}));
  EXPECT_FALSE(Takes("team=a", {}));
  EXPECT_TRUE(Takes("team=", {{"team", ""}}));
  EXPECT_FALSE(Takes("team=", {}));
}

TEST(SelectorTest, InequalityTakesJobsWithoutTheLabelToo) {
  EXPECT_FALSE(Takes("tier!=b", {{"tier", "b"}}));
  EXPECT_TRUE(Takes("tier!=b", {{"tier", "a"}}));
  EXPECT_TRUE(Takes("tier!=b", {}));
}

TEST(SelectorTest, KeyAloneAsksWhetherItIsThere) {
  EXPECT_TRUE(Takes("gpu", {{"gpu", ""}}));
  EXPECT_FALSE(Takes("gpu", {}));
  EXPECT_FALSE(Takes("!gpu", {{"gpu", "x"}}));
  EXPECT_TRUE(Takes("!gpu", {}));
}

TEST(SelectorTest, AllRequirementsMustHold) {
  const std::string selector = " team = a , tier!=b, example.com/gpu, !draft ";
  EXPECT_TRUE(Takes(selector, {{"team", "a"}, {"example.com/gpu", "1"}}));
  EXPECT_FALSE(Takes(selector, {{"team", "a"}}));
  EXPECT_FALSE(Takes(selector, {{"team", "a"}, {"tier", "b"}, {"example.com/gpu", "1"}}));
  EXPECT_FALSE(Takes(selector, {{"team", "a"}, {"example.com/gpu", "1"}, {"draft", ""}}));
}

TEST(SelectorTest, WhatIsWrongIsNamed) {
  for (const std::string& text :
       std::vector<std::string>{",", "team=a,", "=a", "!=a", "!", "!a=b", "a=b=c", "a===b", "a b",
                                "a=b c", "team in (a)", "a!b", "a>3"}) {
    const absl::Status status = Selector::Parse(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr("write KEY=VALUE")) << text;
  }
  EXPECT_THAT(std::string(Selector::Parse("team=a,b c").status().message()), HasSubstr("\"b c\""));
  EXPECT_FALSE(Selector::Parse(std::string(4097, 'a')).ok());
}

// Whatever the requirements, they mean what their four kinds mean one by one.
RC_GTEST_PROP(SelectorPropertyTest, IsTheConjunctionOfItsRequirements, ()) {
  const auto key = rc::gen::element<std::string>("a", "b", "c");
  const auto value = rc::gen::element<std::string>("", "x", "y");
  Labels labels;
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) labels[*key] = *value;
  std::vector<std::string> parts;
  bool expected = true;
  for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
    const std::string k = *key;
    const std::string v = *value;
    const auto label = labels.find(k);
    const bool is_there = label != labels.end();
    const bool is_equal = is_there && label->second == v;
    const std::vector<std::pair<std::string, bool>> kinds = {
        {k + "=" + v, is_equal}, {k + "!=" + v, !is_equal}, {k, is_there}, {"!" + k, !is_there}};
    const auto& [text, holds] = kinds[*rc::gen::inRange<size_t>(0, kinds.size())];
    parts.push_back(text);
    expected = expected && holds;
  }
  const auto selector = Selector::Parse(absl::StrJoin(parts, ","));
  RC_ASSERT(selector.ok());
  RC_ASSERT(selector->Takes(labels) == expected);
}

// Random text is refused or taken, and never more than that.
RC_GTEST_PROP(SelectorPropertyTest, AnyTextIsParsedOrRefused, (const std::string& text)) {
  const auto selector = Selector::Parse(text);
  if (selector.ok()) selector->Takes({{"a", "b"}});
  RC_ASSERT(selector.ok() || absl::IsInvalidArgument(selector.status()));
}

}  // namespace
}  // namespace pipefill::scheduler
