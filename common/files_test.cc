#include "common/files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

namespace pipefill {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "files_test." + std::to_string(getpid()) + "." + test->name();
    fs::create_directories(folder_);
  }
  ~FilesTest() override { fs::remove_all(folder_); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  std::string folder_;
};

TEST_F(FilesTest, MakesFolderWithItsParentsAndLeavesNothingInIt) {
  ASSERT_TRUE(MakeWritableFolder(folder_ + "/a/b/c/").ok());
  EXPECT_TRUE(fs::is_directory(folder_ + "/a/b/c"));
  EXPECT_TRUE(fs::is_empty(folder_ + "/a/b/c"));
  EXPECT_TRUE(MakeWritableFolder(folder_ + "/a/b/c").ok());
}

TEST_F(FilesTest, FileInTheWayOfAFolderIsNamedWithWhatToDo) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "").ok());
  EXPECT_EQ(MakeWritableFolder(folder_ + "/file/state"),
            absl::PermissionDeniedError("folder " + folder_ +
                                        "/file/state is not writable: Not a directory; choose "
                                        "another or change its permissions"));
  EXPECT_TRUE(absl::IsPermissionDenied(MakeWritableFolder(folder_ + "/file")));
}

TEST_F(FilesTest, FolderOfAnotherUserIsRefused) {
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Root may write everywhere: be somebody else.
    if (getuid() == 0 && setuid(65534) != 0) _exit(2);
    _exit(absl::IsPermissionDenied(MakeWritableFolder(folder_)) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  chmod(folder_.c_str(), 0755);
}

TEST_F(FilesTest, ReadsWhatWasWritten) {
  const std::string text = std::string(200'000, 'x') + std::string("\0end\n", 5);
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", text).ok());
  EXPECT_EQ(ReadFile(folder_ + "/file").value(), text);
}

TEST_F(FilesTest, WritingReplacesAndLeavesNoSecondFile) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "a long old text").ok());
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "new").ok());
  EXPECT_EQ(ReadFile(folder_ + "/file").value(), "new");
  EXPECT_THAT(Names(), ElementsAre("file"));
}

TEST_F(FilesTest, OpenReaderKeepsTheOldTextWhole) {
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "old").ok());
  const FileDescriptor reader(open((folder_ + "/file").c_str(), O_RDONLY | O_CLOEXEC));
  ASSERT_TRUE(WriteFileAtomically(folder_ + "/file", "new").ok());
  char text[4] = {};
  EXPECT_EQ(read(reader.get(), text, sizeof(text)), 3);
  EXPECT_STREQ(text, "old");
}

TEST_F(FilesTest, MissingFileIsNotFound) {
  EXPECT_EQ(ReadFile(folder_ + "/none").status(),
            absl::NotFoundError("open " + folder_ + "/none: No such file or directory"));
}

TEST_F(FilesTest, SecondLockOfAFolderIsRefusedUntilTheFirstIsGone) {
  std::optional<FileDescriptor> first = LockFolder(folder_).value();
  const absl::Status second = LockFolder(folder_).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_THAT(std::string(second.message()), HasSubstr(folder_ + " is in use by another process"));
  first.reset();
  EXPECT_TRUE(LockFolder(folder_).ok());
}

}  // namespace
}  // namespace pipefill
