#include "common/variable_name.h"

#include <gtest/gtest.h>

namespace pipefill {
namespace {

TEST(VariableNameTest, TakesWhatAShellTakes) {
  for (const char* name : {"A", "_", "a1", "_1", "LD_LIBRARY_PATH"}) {
    EXPECT_TRUE(IsVariableName(name)) << name;
  }
  for (const char* name : {"", "1a", "a-b", "a=b", "a b", "\xc3\xa4"}) {
    EXPECT_FALSE(IsVariableName(name)) << name;
  }
}

}  // namespace
}  // namespace pipefill
