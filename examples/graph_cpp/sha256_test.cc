#include "examples/graph_cpp/sha256.h"

#include <string>

#include "gtest/gtest.h"

namespace pipefill {
namespace {

std::string HashOf(std::string_view bytes) {
  Sha256 sha;
  sha.Update(bytes);
  return sha.HexDigest();
}

TEST(Sha256Test, AgreesWithThePublishedExamples) {
  EXPECT_EQ(HashOf(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashOf("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(HashOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(HashOf(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, DoesNotDependOnHowTheBytesAreCut) {
  const std::string bytes(200, 'x');
  Sha256 cut;
  cut.Update(std::string_view(bytes).substr(0, 63));
  cut.Update(std::string_view(bytes).substr(63, 2));
  cut.Update(std::string_view(bytes).substr(65));

  EXPECT_EQ(cut.HexDigest(), HashOf(bytes));
}

TEST(Sha256Test, GoesOnAfterADigest) {
  Sha256 sha;
  sha.Update("a");
  sha.HexDigest();
  sha.Update("bc");

  EXPECT_EQ(sha.HexDigest(), HashOf("abc"));
}

}  // namespace
}  // namespace pipefill
