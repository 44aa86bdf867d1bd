#include "cli/admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cli/testing/command_fixture.h"
#include "common/files.h"

namespace pipefill {
namespace {

using testing::HasSubstr;

class BackupTest : public CommandFixture {
 protected:
  BackupTest() { std::filesystem::remove(path_); }
  ~BackupTest() override { std::filesystem::remove(path_); }

  const std::string path_ = (std::filesystem::path(testing::TempDir()) /
                             testing::UnitTest::GetInstance()->current_test_info()->name())
                                .string();
};

TEST_F(BackupTest, FileHoldsAllPiecesInOrder) {
  scheduler.backup = {"first ", "second"};
  const Result result = Run({"admin", "backup", path_});
  EXPECT_EQ(result.code, kExitOk) << result.err;
  EXPECT_EQ(result.out, path_ + ": 12 B\n");
  EXPECT_EQ(*ReadFile(path_), "first second");
}

TEST_F(BackupTest, FailureLeavesTheFileBeforeAndNothingElse) {
  ASSERT_TRUE(WriteFileAtomically(path_, "the one before").ok());
  scheduler.backup = {"half"};
  scheduler.error = absl::UnavailableError("schedulerd does not answer");
  const Result result = Run({"admin", "backup", path_});
  EXPECT_EQ(result.code, kExitUnavailable);
  EXPECT_EQ(*ReadFile(path_), "the one before");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(BackupTest, FileThatCannotBeMadeIsNamed) {
  const Result result = Run({"admin", "backup", "/no/such/folder/file"});
  EXPECT_EQ(result.code, kExitNotFound);
  EXPECT_THAT(result.err, HasSubstr("/no/such/folder/file.new"));
}

}  // namespace
}  // namespace pipefill
