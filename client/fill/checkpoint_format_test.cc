#include "client/fill/checkpoint_format.h"

#include <string>

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

// The sum as its definition has it, bit by bit.
uint32_t SlowCrc32c(const std::string& data) {
  uint32_t sum = ~uint32_t{0};
  for (const char byte : data) {
    sum ^= static_cast<uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~sum;
}

TEST(Crc32cTest, GivesThePublishedSums) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, IsTheSameForEveryLengthAsBitByBit) {
  std::string data;
  for (int i = 0; i < 70; ++i) {
    EXPECT_EQ(Crc32c(data), SlowCrc32c(data)) << i;
    data.push_back(static_cast<char>(i * 37 + 11));
  }
}

TEST(CheckpointNameTest, NamesAreReadAsTheyWereMade) {
  const Writer writer = {.fence = UINT64_MAX, .start = 7};
  EXPECT_EQ(ParseClaim(ClaimText(writer)), writer);
  EXPECT_EQ(ParseBase(BaseText(writer)), writer);
  const SaveName save = {.writer = writer, .number = 12};
  EXPECT_EQ(ParseSave(SaveText(save)), save);
}

TEST(CheckpointNameTest, SortAsTheirWritersDo) {
  EXPECT_LT(ClaimText({.fence = 9, .start = 20}), ClaimText({.fence = 10, .start = 1}));
  EXPECT_LT(SaveText({.writer = {.fence = 9, .start = 2}, .number = 9}),
            SaveText({.writer = {.fence = 9, .start = 2}, .number = 10}));
}

TEST(CheckpointNameTest, OtherNamesAreNone) {
  const std::string good = ClaimText({.fence = 3, .start = 1});
  for (const std::string& text :
       {std::string(), std::string("claim"), std::string("claim-3-1"), good + "x", good + "-1",
        good.substr(1), BaseText({.fence = 3, .start = 1}),
        std::string("claim-99999999999999999999-000001"),
        std::string("claim-0000000000000000000-1-000001")}) {
    EXPECT_FALSE(ParseClaim(text).has_value()) << text;
  }
  EXPECT_FALSE(ParseSave(good).has_value());
}

TEST(CheckpointBlobTest, GivesBackWhatWasSealed) {
  std::string blob(kBlobHeaderBytes, '\0');
  blob += "state";
  SealBlob(77, &blob);
  const std::optional<BlobView> view = OpenBlob(blob);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->content, "state");
  EXPECT_EQ(view->useful_ns, 77u);
  EXPECT_EQ(OpenBlob(MakeBlob(""))->content, "");
}

TEST(CheckpointBlobTest, EveryBitThatChangesIsFound) {
  const std::string blob = MakeBlob("some state");
  for (size_t bit = 0; bit < 8 * blob.size(); ++bit) {
    std::string changed = blob;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(OpenBlob(changed).has_value()) << bit;
  }
}

TEST(CheckpointBlobTest, EveryTornOneIsFound) {
  const std::string blob = MakeBlob("some state");
  for (size_t size = 0; size < blob.size(); ++size) {
    EXPECT_FALSE(OpenBlob(blob.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(OpenBlob(blob + '\0').has_value());
}

}  // namespace
}  // namespace pipefill::sdk
