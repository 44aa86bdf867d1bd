#include "common/file_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <utility>

namespace pipefill {
namespace {

int OpenNull() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool IsOpen(int fd) { return fcntl(fd, F_GETFD) >= 0; }

TEST(FileDescriptorTest, ClosesAtItsEnd) {
  const int fd = OpenNull();
  {
    const FileDescriptor owner(fd);
    EXPECT_TRUE(IsOpen(fd));
  }
  EXPECT_FALSE(IsOpen(fd));
}

TEST(FileDescriptorTest, MovedFromOwnsNothing) {
  FileDescriptor first(OpenNull());
  const int fd = first.get();
  const FileDescriptor second(std::move(first));
  EXPECT_EQ(second.get(), fd);
  EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move): what this test is about
}

TEST(FileDescriptorTest, AssignmentClosesWhatWasOwned) {
  FileDescriptor target(OpenNull());
  const int old_fd = target.get();
  FileDescriptor source(OpenNull());
  const int new_fd = source.get();
  target = std::move(source);
  EXPECT_FALSE(IsOpen(old_fd));
  EXPECT_TRUE(IsOpen(new_fd));
}

TEST(FileDescriptorTest, CloseTwiceClosesOnce) {
  FileDescriptor owner(OpenNull());
  const int fd = owner.get();
  owner.Close();
  const FileDescriptor other(OpenNull());  // takes the free number
  ASSERT_EQ(other.get(), fd);
  owner.Close();
  EXPECT_TRUE(IsOpen(fd));
}

}  // namespace
}  // namespace pipefill
