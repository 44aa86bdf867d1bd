#include "common/gzip_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

std::string PathOf(const std::string& name) {
  return absl::StrCat(testing::TempDir(), "/",
                      testing::UnitTest::GetInstance()->current_test_info()->name(), ".", name);
}

std::string Packed(const std::string& text) {
  const std::string path = PathOf("packing");
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Result {
  std::string text;
  absl::Status status;
};

Result ReadAll(const std::string& bytes) {
  const std::string path = PathOf("file");
  std::ofstream(path, std::ios::binary) << bytes;
  auto buffer = GzipBuffer::Open(path);
  if (!buffer.ok()) return {"", buffer.status()};
  std::istream in(buffer->get());
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return {std::move(text), (*buffer)->status()};
}

// Hard to pack, and longer than one piece.
std::string LongText() {
  std::string text;
  for (uint64_t i = 1; text.size() < 3'000'000; ++i) {
    absl::StrAppend(&text, i * 0x9E3779B97F4A7C15U);
  }
  return text;
}

TEST(GzipStreamTest, FilesComeAsTheyWerePackedOrNot) {
  const std::string longest = LongText();
  for (const std::string& text : {std::string(), std::string("a"), std::string("a,b\n"), longest}) {
    const Result plain = ReadAll(text);
    EXPECT_TRUE(plain.status.ok()) << plain.status;
    EXPECT_TRUE(plain.text == text) << text.size();
    const Result packed = ReadAll(Packed(text));
    EXPECT_TRUE(packed.status.ok()) << packed.status;
    EXPECT_TRUE(packed.text == text) << text.size();
  }
}

TEST(GzipStreamTest, MembersFollowEachOther) {
  const Result result = ReadAll(absl::StrCat(Packed("one "), Packed(""), Packed("two")));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.text, "one two");
}

TEST(GzipStreamTest, FilesThatAreCutOffGiveWhatThereIsAndSaySo) {
  const std::string text = LongText();
  const std::string packed = Packed(text);
  for (const size_t left : {size_t{2}, size_t{15}, packed.size() / 2, packed.size() - 1}) {
    const Result result = ReadAll(packed.substr(0, left));
    EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument) << left;
    EXPECT_EQ(result.status.message(),
              absl::StrCat(PathOf("file"), ": the compressed file is cut off; copy it again"));
    EXPECT_TRUE(text.starts_with(result.text));
  }
}

TEST(GzipStreamTest, WhatFollowsAndIsNoMemberIsAnError) {
  const std::string packed = Packed("one");
  std::string damaged = packed;
  damaged[damaged.size() - 8] ^= 1;  // in its checksum
  for (const std::string& behind : {std::string("garbage"), packed.substr(0, 12), damaged}) {
    const Result result = ReadAll(packed + behind);
    EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument) << behind.size();
    EXPECT_EQ(result.text.substr(0, 3), "one");
  }
}

TEST(GzipStreamTest, ErrorsOfTheFileSystemAreItsOwn) {
  EXPECT_EQ(GzipBuffer::Open(PathOf("missing")).status().code(), absl::StatusCode::kNotFound);
  const auto folder = GzipBuffer::Open(testing::TempDir());
  ASSERT_TRUE(folder.ok());
  EXPECT_EQ((*folder)->sgetc(), std::char_traits<char>::eof());
  EXPECT_NE((*folder)->status().message().find("Is a directory"), absl::string_view::npos)
      << (*folder)->status();
}

TEST(GzipStreamTest, ProgramsThatAreStartedDoNotInheritTheFile) {
  std::ofstream(PathOf("file")) << "text";
  const auto buffer = GzipBuffer::Open(PathOf("file"));
  ASSERT_TRUE(buffer.ok());
  bool is_found = false;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    if (!std::filesystem::equivalent(entry.path(), PathOf("file"), error)) continue;
    is_found = true;
    EXPECT_NE(fcntl(std::stoi(entry.path().filename()), F_GETFD) & FD_CLOEXEC, 0);
  }
  EXPECT_TRUE(is_found);
}

}  // namespace
}  // namespace pipefill
