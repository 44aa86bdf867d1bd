#include "common/config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <limits>
#include <string>

#include "common/config_test.pb.h"
#include "common/files.h"

namespace pipefill {
namespace {

absl::Status Parse(const std::string& text) {
  test::Farm farm;
  return ParseJson(text, "farm.json", &farm);
}

// The message of the error that `text` gives.
std::string ErrorOf(const std::string& text) {
  const absl::Status status = Parse(text);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
  return std::string(status.message());
}

TEST(ParseJsonTest, ReadsEveryKindOfField) {
  test::Farm farm;
  const absl::Status status = ParseJson(R"(
      // A comment, and an indented one:
        // "owner": "nobody",
      {
        "owner": "Ada // not a comment",
        "fields": [{"name": "north", "area": 12}, {"name": "south", "area": "9007199254740993"}],
        "labels": {"any key": "value"},
        "by_name": {"west": {"area": 3}},
        "cows": -4, "seeds_max": 18446744073709551615, "rain": 2, "is_organic": true,
        "crop": "CROP_BARLEY", "years": [2024, 2025.0]
      })",
                                        "farm.json", &farm);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(farm.owner(), "Ada // not a comment");
  EXPECT_EQ(farm.fields(1).area(), 9007199254740993);
  EXPECT_EQ(farm.labels().at("any key"), "value");
  EXPECT_EQ(farm.by_name().at("west").area(), 3);
  EXPECT_EQ(farm.cows(), -4);
  EXPECT_EQ(farm.seeds_max(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(farm.rain(), 2.0);
  EXPECT_EQ(farm.crop(), test::CROP_BARLEY);
  EXPECT_EQ(farm.years(1), 2025);
}

TEST(ParseJsonTest, NullAndAbsentMeanTheDefault) {
  EXPECT_TRUE(Parse(R"({"owner": null, "fields": null})").ok());
  EXPECT_TRUE(Parse("{}").ok());
}

TEST(ParseJsonTest, TakesNamesInCamelCase) {
  test::Farm farm;
  ASSERT_TRUE(ParseJson(R"({"isOrganic": true})", "farm.json", &farm).ok());
  EXPECT_TRUE(farm.is_organic());
}

TEST(ParseJsonTest, UnknownFieldNamesLinePathAndTheNearestName) {
  EXPECT_EQ(ErrorOf("{\n\"fields\": [\n{\"name\": \"a\"},\n{\"nmae\": \"b\"}]}"),
            "farm.json:4: fields[1].nmae: no such field; did you mean name?");
}

TEST(ParseJsonTest, UnknownFieldLikeNoOtherListsTheKnownOnes) {
  EXPECT_EQ(ErrorOf(R"({"fields": [{"colour_of_the_fence": 1}]})"),
            "farm.json:1: fields[0].colour_of_the_fence: no such field; known are: name, area");
}

TEST(ParseJsonTest, PathsGoThroughMaps) {
  EXPECT_EQ(ErrorOf("{\"by_name\": {\"west\":\n{\"area\": \"wide\"}}}"),
            "farm.json:2: by_name.west.area: must be a whole number that fits 64 bits, "
            "not a string");
}

TEST(ParseJsonTest, CommentsCountAsLines) {
  EXPECT_EQ(ErrorOf("// one\n{\n  // three\n  \"cow\": 1\n}"),
            "farm.json:4: cow: no such field; did you mean cows?");
}

TEST(ParseJsonTest, WrongTypesSayWhatMustBeThere) {
  EXPECT_EQ(ErrorOf(R"({"owner": 7})"), "farm.json:1: owner: must be a string, not 7");
  EXPECT_EQ(ErrorOf(R"({"is_organic": "yes"})"),
            "farm.json:1: is_organic: must be true or false, not a string");
  EXPECT_EQ(ErrorOf(R"({"rain": true})"), "farm.json:1: rain: must be a number, not true or false");
  EXPECT_EQ(ErrorOf(R"({"owner": {"name": "Ada"}})"),
            "farm.json:1: owner: must be a string, not an object");
  EXPECT_EQ(ErrorOf(R"({"owner": ["Ada"]})"), "farm.json:1: owner: must be a string, not a list");
  EXPECT_EQ(ErrorOf(R"({"fields": {"name": "a"}})"),
            "farm.json:1: fields: must be a list, not an object");
  EXPECT_EQ(ErrorOf(R"({"fields": ["a"]})"),
            "farm.json:1: fields[0]: must be an object, not a string");
  EXPECT_EQ(ErrorOf(R"({"years": [1, [2]]})"),
            "farm.json:1: years[1]: must be a whole number that fits 32 bits, not a list");
  EXPECT_EQ(ErrorOf(R"({"labels": ["a"]})"), "farm.json:1: labels: must be an object, not a list");
  EXPECT_EQ(ErrorOf(R"({"labels": {"a": 1}})"), "farm.json:1: labels.a: must be a string, not 1");
  EXPECT_EQ(ErrorOf(R"({"years": [null]})"),
            "farm.json:1: years[0]: must be a whole number that fits 32 bits, not null");
}

TEST(ParseJsonTest, NumbersOutOfRangeAreRefused) {
  EXPECT_EQ(ErrorOf(R"({"cows": 2147483648})"),
            "farm.json:1: cows: must be a whole number that fits 32 bits, not 2147483648");
  EXPECT_EQ(ErrorOf(R"({"cows": 1.5})"),
            "farm.json:1: cows: must be a whole number that fits 32 bits, not 1.5");
  EXPECT_EQ(ErrorOf(R"({"seeds_max": -1})"),
            "farm.json:1: seeds_max: must be a whole number from 0 that fits 64 bits, not -1");
}

TEST(ParseJsonTest, LineOfANumberAtTheEndOfItsLineIsRight) {
  EXPECT_EQ(ErrorOf("{\n\"owner\": 7\n}"), "farm.json:2: owner: must be a string, not 7");
}

TEST(ParseJsonTest, UnknownValueOfAnEnumSuggestsTheNearest) {
  EXPECT_EQ(ErrorOf(R"({"crop": "CROP_WEAT"})"),
            "farm.json:1: crop: no such value: CROP_WEAT; did you mean CROP_WHEAT?");
}

TEST(ParseJsonTest, FieldGivenTwiceIsRefused) {
  EXPECT_EQ(ErrorOf("{\"owner\": \"a\",\n\"owner\": \"b\"}"), "farm.json:2: owner: given twice");
  EXPECT_TRUE(Parse(R"({"fields": [{"name": "a"}, {"name": "b"}]})").ok());
}

TEST(ParseJsonTest, FieldGivenInBothSpellingsIsRefused) {
  EXPECT_EQ(ErrorOf(R"({"is_organic": true, "isOrganic": true})"),
            "farm.json:1: isOrganic: given twice");
}

TEST(ParseJsonTest, TextThatIsNoObjectIsRefused) {
  EXPECT_EQ(ErrorOf("[1]"), "farm.json:1: must be an object, not a list");
  EXPECT_EQ(ErrorOf("\n3"), "farm.json:2: must be an object, not 3");
}

TEST(ParseJsonTest, BrokenTextGivesLineAndColumn) {
  EXPECT_EQ(ErrorOf("{\n  \"owner\": }\n"),
            "farm.json:2:12: broken JSON: unexpected '}'; expected '[', '{', or a literal");
  EXPECT_EQ(ErrorOf("{\"owner\": \"a\",}"),
            "farm.json:1:15: broken JSON: unexpected '}'; expected string literal");
  EXPECT_EQ(ErrorOf(""),
            "farm.json:1:1: broken JSON: unexpected end of input; expected '[', '{', or a literal");
  EXPECT_EQ(ErrorOf("{}\n{}"), "farm.json:2:1: broken JSON: unexpected '{'; expected end of input");
}

RC_GTEST_PROP(ParseJsonProperty, NoTextEndsTheProcess, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element(
      '{', '}', '[', ']', '"', ':', ',', '1', '.', 'e', '-', '\n', '/', '\\', 'u', '\xff'));
  const absl::Status status = Parse(text);
  RC_ASSERT(status.ok() || absl::IsInvalidArgument(status));
}

RC_GTEST_PROP(ParseJsonProperty, TruncatedTextIsAlwaysRefused, ()) {
  const std::string text = R"({"owner": "a", "fields": [{"area": 1}], "labels": {"b": "c"}})";
  const auto size = *rc::gen::inRange<size_t>(0, text.size());
  RC_ASSERT(absl::IsInvalidArgument(Parse(text.substr(0, size))));
}

TEST(ReadJsonFileTest, ErrorsNameTheFile) {
  test::Farm farm;
  const std::string path = ::testing::TempDir() + "config_test." + std::to_string(getpid());
  EXPECT_TRUE(absl::IsNotFound(ReadJsonFile(path, &farm)));
  ASSERT_TRUE(WriteFileAtomically(path, "{\"cows\": \"many\"}").ok());
  EXPECT_EQ(ReadJsonFile(path, &farm).message(),
            path + ":1: cows: must be a whole number that fits 32 bits, not a string");
  unlink(path.c_str());
}

}  // namespace
}  // namespace pipefill
