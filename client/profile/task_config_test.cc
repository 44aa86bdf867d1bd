#include "client/profile/task_config.h"

#include <gtest/gtest.h>

namespace pipefill::sdk {
namespace {

constexpr char kConfig[] = R"({"name":"batch_size","batch_size":8,"memory_saving":"plain"})";

TEST(TaskConfigTest, FindsTheNumberBehindItsName) {
  EXPECT_EQ(NumberIn(kConfig, "batch_size", 1), 8U);
  EXPECT_EQ(NumberIn("{ \"batch_size\" :\t12 }", "batch_size", 1), 12U);
  EXPECT_EQ(NumberIn(R"({"batch_size":7)", "batch_size", 1), 7U);
}

TEST(TaskConfigTest, TakesTheCallersValueWhereThereIsNoNumber) {
  for (const char* config :
       {"", "{}", "batch_size", "\"batch_size", R"({"batch_size":0})", R"({"batch_size":-3})",
        R"({"batch_size":"8"})", R"({"batch_size":})", R"({"batch_size":8.5})",
        R"({"batch_size":1e3})", R"({"batch_size":99999999999999999999})"}) {
    EXPECT_EQ(NumberIn(config, "batch_size", 5), 5U) << config;
  }
  EXPECT_EQ(NumberIn(kConfig, "name", 5), 5U);
  EXPECT_EQ(NumberIn(kConfig, "size", 5), 5U);
}

}  // namespace
}  // namespace pipefill::sdk
