#include "common/sealed_page.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

namespace pipefill {
namespace {

constexpr size_t kSizeBytes = 8192;

void* Map(int descriptor, int protection) {
  return mmap(nullptr, kSizeBytes, protection, MAP_SHARED, descriptor, 0);
}

// The exit status of a forked child that runs `body`; 0 = it returned true.
int RunInChild(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

class SealedPageTest : public ::testing::Test {
 protected:
  SealedPage page_ = SealedPage::Create("test page", kSizeBytes).value();
  std::atomic<uint32_t>* word_ = page_.As<std::atomic<uint32_t>>();
};

TEST_F(SealedPageTest, StartsZeroed) {
  const auto* bytes = page_.As<uint8_t>();
  for (size_t i = 0; i < kSizeBytes; ++i) ASSERT_EQ(bytes[i], 0) << i;
}

TEST_F(SealedPageTest, SizeCannotChange) {
  EXPECT_NE(ftruncate(page_.descriptor(), 0), 0);
  EXPECT_NE(ftruncate(page_.descriptor(), 2 * kSizeBytes), 0);
}

TEST_F(SealedPageTest, SealedPageStaysWritableHere) {
  ASSERT_TRUE(page_.SealWriter().ok());
  word_->store(7);
  EXPECT_EQ(word_->load(), 7u);
}

TEST_F(SealedPageTest, SealedPageRefusesASecondWritableMapping) {
  ASSERT_NE(Map(page_.descriptor(), PROT_READ | PROT_WRITE), MAP_FAILED);  // still allowed
  ASSERT_TRUE(page_.SealWriter().ok());
  EXPECT_EQ(Map(page_.descriptor(), PROT_READ | PROT_WRITE), MAP_FAILED);
}

TEST_F(SealedPageTest, ForkedChildCannotMapASealedPageWritable) {
  ASSERT_TRUE(page_.SealWriter().ok());
  EXPECT_EQ(
      RunInChild([this] { return Map(page_.descriptor(), PROT_READ | PROT_WRITE) == MAP_FAILED; }),
      0);
}

TEST_F(SealedPageTest, ForkedChildCannotTurnItsReadMappingWritable) {
  ASSERT_TRUE(page_.SealWriter().ok());
  EXPECT_EQ(RunInChild([this] {
              void* view = Map(page_.descriptor(), PROT_READ);
              return view != MAP_FAILED && mprotect(view, kSizeBytes, PROT_READ | PROT_WRITE) != 0;
            }),
            0);
}

TEST_F(SealedPageTest, SealedPageRefusesWritesAndHolesThroughItsDescriptor) {
  ASSERT_TRUE(page_.SealWriter().ok());
  EXPECT_NE(pwrite(page_.descriptor(), "x", 1, 0), 1);
  EXPECT_NE(fallocate(page_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
}

TEST_F(SealedPageTest, ReopenedDescriptorIsAsSealedAsTheFirst) {
  ASSERT_TRUE(page_.SealWriter().ok());
  const std::string path = "/proc/self/fd/" + std::to_string(page_.descriptor());
  const FileDescriptor reopened(open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(reopened.is_open());
  EXPECT_EQ(Map(reopened.get(), PROT_READ | PROT_WRITE), MAP_FAILED);
}

TEST_F(SealedPageTest, NobodyAddsSealsAfterTheWriterIsSealed) {
  ASSERT_TRUE(page_.SealWriter().ok());
  EXPECT_NE(fcntl(page_.descriptor(), F_ADD_SEALS, F_SEAL_WRITE), 0);
}

TEST_F(SealedPageTest, ReaderInAnotherProcessSeesWhatTheWriterWrites) {
  ASSERT_TRUE(page_.SealWriter().ok());
  word_->store(4711);
  EXPECT_EQ(RunInChild([this] {
              void* view = Map(page_.descriptor(), PROT_READ);
              return view != MAP_FAILED &&
                     static_cast<const std::atomic<uint32_t>*>(view)->load() == 4711;
            }),
            0);
}

TEST_F(SealedPageTest, WriterThatMappedBeforeSealingGoesOnWriting) {
  auto* writer =
      static_cast<std::atomic<uint32_t>*>(Map(page_.descriptor(), PROT_READ | PROT_WRITE));
  ASSERT_NE(static_cast<void*>(writer), MAP_FAILED);
  ASSERT_TRUE(page_.SealWriter().ok());
  EXPECT_EQ(RunInChild([writer] {
              writer->store(12);
              return true;
            }),
            0);
  EXPECT_EQ(word_->load(), 12u);
  munmap(writer, kSizeBytes);
}

TEST_F(SealedPageTest, MovedPageKeepsItsMapping) {
  word_->store(3);
  SealedPage moved(std::move(page_));
  EXPECT_EQ(moved.As<std::atomic<uint32_t>>()->load(), 3u);
  page_ = std::move(moved);
  EXPECT_EQ(page_.As<std::atomic<uint32_t>>()->load(), 3u);
  EXPECT_EQ(page_.size_bytes(), kSizeBytes);
}

TEST(SealedPageCreateTest, NameThatTheKernelRefusesIsAnError) {
  const std::string name(1000, 'x');
  EXPECT_TRUE(absl::IsInternal(SealedPage::Create(name.c_str(), kSizeBytes).status()));
}

}  // namespace
}  // namespace pipefill
