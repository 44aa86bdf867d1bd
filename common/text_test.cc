#include "common/text.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(CutTextTest, ShortTextStaysAsItIs) {
  EXPECT_EQ(CutText("", 0), "");
  EXPECT_EQ(CutText("abc", 3), "abc");
}

TEST(CutTextTest, LongTextEndsAtTheLimit) { EXPECT_EQ(CutText("abcd", 3), "abc"); }

TEST(CutTextTest, CharacterIsNeverCut) {
  EXPECT_EQ(CutText("a\xc3\xa9", 2), "a");
  EXPECT_EQ(CutText("a\xc3\xa9z", 3), "a\xc3\xa9");
  EXPECT_EQ(CutText("\xe2\x82\xac\xe2\x82\xac", 5), "\xe2\x82\xac");
  EXPECT_EQ(CutText("\xe2\x82\xac", 2), "");
}

}  // namespace
}  // namespace pipefill
