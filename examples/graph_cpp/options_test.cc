#include "examples/graph_cpp/options.h"

#include "gtest/gtest.h"

namespace pipefill {
namespace {

TEST(GraphJobOptionsTest, KeepsDefaultsOfWhatIsNotGiven) {
  GraphJobOptions options;

  EXPECT_EQ(ParseGraphJobOptions({"--rounds", "7", "--output", "o"}, options), "");
  EXPECT_EQ(options.rounds, 7u);
  EXPECT_EQ(options.output_path, "o");
  EXPECT_EQ(options.result_path, "result.json");
}

TEST(GraphJobOptionsTest, PutsTheOutputBesideTheResultUnlessItIsNamed) {
  GraphJobOptions options;

  EXPECT_EQ(ParseGraphJobOptions({"--result", "folder/r.json"}, options), "");
  EXPECT_EQ(options.output_path, "folder/r.json.txt");
}

TEST(GraphJobOptionsTest, NamesWhatIsWrong) {
  GraphJobOptions options;

  EXPECT_NE(ParseGraphJobOptions({"--ruonds", "7"}, options).find("--ruonds"), std::string::npos);
  EXPECT_NE(ParseGraphJobOptions({"--result"}, options).find("value missing"), std::string::npos);
  for (const char* value : {"0", "-1", "7x", ""}) {
    EXPECT_NE(ParseGraphJobOptions({"--rounds", value}, options).find("not a positive number"),
              std::string::npos)
        << value;
  }
}

}  // namespace
}  // namespace pipefill
