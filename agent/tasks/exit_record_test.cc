#include "agent/tasks/exit_record.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "common/file_descriptor.h"

namespace pipefill {
namespace {

class ExitRecordTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(::testing::TempDir()) + "/exit_record_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    descriptor_ = FileDescriptor(open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  std::string folder_;
  FileDescriptor descriptor_;
};

TEST_F(ExitRecordTest, SaysAgainWhatWasWritten) {
  for (const ExitRecord& written : {ExitRecord{.exit = {.exit_code = 0, .signal = 9}},
                                    ExitRecord{.exit = {.exit_code = 255}, .log_error = 28}}) {
    ASSERT_TRUE(WriteExitRecord(descriptor_.get(), written));
    const std::optional<ExitRecord> read = ReadExitRecord(folder_);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->exit.exit_code, written.exit.exit_code);
    EXPECT_EQ(read->exit.signal, written.exit.signal);
    EXPECT_EQ(read->log_error, written.log_error);
  }
}

TEST_F(ExitRecordTest, IsAbsentUntilItIsWhole) {
  EXPECT_FALSE(ReadExitRecord(folder_).has_value());
  std::filesystem::create_directory(folder_ + "/exit.new");
  EXPECT_FALSE(WriteExitRecord(descriptor_.get(), {}));
  EXPECT_FALSE(ReadExitRecord(folder_).has_value());
}

TEST_F(ExitRecordTest, TellsOfALogErrorWhileTheTaskRuns) {
  EXPECT_EQ(ReadLogError(folder_), 0);
  ASSERT_TRUE(ReserveExitRecord(descriptor_.get()));
  EXPECT_EQ(ReadLogError(folder_), 0);
  NoteLogError(descriptor_.get(), 28);
  EXPECT_EQ(ReadLogError(folder_), 28);
  EXPECT_FALSE(ReadExitRecord(folder_).has_value());
}

TEST_F(ExitRecordTest, IsWrittenIntoTheRoomThatWasTaken) {
  ASSERT_TRUE(ReserveExitRecord(descriptor_.get()));
  struct stat before {};
  ASSERT_EQ(stat((folder_ + "/exit.new").c_str(), &before), 0);
  EXPECT_GT(before.st_size, 0);
  NoteLogError(descriptor_.get(), 28);
  ASSERT_TRUE(WriteExitRecord(descriptor_.get(), {.exit = {.exit_code = 1}}));
  struct stat after {};
  ASSERT_EQ(stat((folder_ + "/exit").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(ReadExitRecord(folder_)->exit.exit_code, 1);
}

TEST_F(ExitRecordTest, RefusesLinesThatMakeNoSense) {
  for (const char* text :
       {"", "code=0", "code=0 signal=0 log_error=0", "code=-1 signal=0 log_error=0\n",
        "code=0 signal= log_error=0\n", "code=0 signal=0 log_error=99999999999\n",
        "code=0 signal=0 log_error=0\ncode=1\n"}) {
    EXPECT_FALSE(ParseExitRecord(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace pipefill
