#include "agent/page_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "client/pages/task_page.h"

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;

// The page as another process sees it.
class MappedPage {
 public:
  MappedPage(int descriptor, size_t size_bytes) : size_bytes_(size_bytes) {
    data_ = mmap(nullptr, size_bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  }
  ~MappedPage() { munmap(data_, size_bytes_); }
  template <typename Page>
  const Page& As() const {
    return *static_cast<const Page*>(data_);
  }

 private:
  void* data_;
  size_t size_bytes_;
};

class WindowWriterTest : public testing::Test {
 protected:
  WindowWriterTest()
      : writer_(*WindowWriter::Create(
            {.hold_out = {.block_iterations = 2, .one_in = 5}, .spin = absl::Microseconds(30)})),
        mapped_(writer_->descriptor(), sizeof(WindowPage)),
        page_(mapped_.As<WindowPage>()) {}

  static BubbleWindow Offer(int64_t latest_start_ns) {
    BubbleWindow window;
    window.is_offered = true;
    window.memory_free_bytes = 4096;
    window.latest_start_ns.fill(latest_start_ns);
    return window;
  }

  const std::unique_ptr<WindowWriter> writer_;
  const MappedPage mapped_;
  const WindowPage& page_;
};

TEST_F(WindowWriterTest, StartsClosed) {
  EXPECT_EQ(page_.header.magic, static_cast<uint32_t>(PageKind::kWindow));
  EXPECT_EQ(page_.header.version, kPageVersion);
  EXPECT_EQ(page_.header.size_bytes, sizeof(WindowPage));
  EXPECT_FALSE(IsFillAllowed(page_, 1, 0));
  EXPECT_EQ(page_.signal_generation.load(), 0u);
  EXPECT_EQ(LatestStart(page_, 0, 1), kNever);
}

TEST_F(WindowWriterTest, CarriesTheOptions) {
  EXPECT_EQ(page_.hold_out_block_iterations.load(), 2u);
  EXPECT_EQ(page_.hold_out_one_in.load(), 5u);
  EXPECT_EQ(page_.spin_ns.load(), 30'000u);
  for (size_t i = 0; i < kUnitLadder; ++i) {
    EXPECT_EQ(page_.unit_ns[i].load(), static_cast<uint64_t>(kDefaultUnitLadder[i]));
  }
}

TEST_F(WindowWriterTest, NobodyElseCanWriteIt) {
  EXPECT_EQ(mmap(nullptr, sizeof(WindowPage), PROT_READ | PROT_WRITE, MAP_SHARED,
                 writer_->descriptor(), 0),
            MAP_FAILED);
}

TEST_F(WindowWriterTest, FillIsAllowedWithAHeartbeatInModeFillUnlessParked) {
  const uint64_t iteration = IsHeldOut({.block_iterations = 2, .one_in = 5}, 0) ? 2 : 0;
  writer_->Heartbeat(Instant::FromNs(50 * kMs));
  EXPECT_FALSE(IsFillAllowed(page_, 50 * kMs, iteration));
  writer_->SetMode(FillMode::kFill);
  EXPECT_TRUE(IsFillAllowed(page_, 50 * kMs, iteration));
  EXPECT_FALSE(IsFillAllowed(page_, 50 * kMs + kHeartbeatStaleNs + 1, iteration));
  writer_->SetParked(true);
  EXPECT_FALSE(IsFillAllowed(page_, 50 * kMs, iteration));
  writer_->SetParked(false);
  EXPECT_TRUE(IsFillAllowed(page_, 50 * kMs, iteration));
}

TEST_F(WindowWriterTest, PublishesAndWithdrawsWindows) {
  writer_->Publish(7, Offer(3 * kMs));
  EXPECT_EQ(LatestStart(page_, 7, kMs), 3 * kMs);
  EXPECT_EQ(page_.entries[7].memory_free_bytes.load(), 4096);
  EXPECT_EQ(LatestStart(page_, 8, kMs), kNever);
  writer_->Publish(7, BubbleWindow());
  EXPECT_EQ(LatestStart(page_, 7, kMs), kNever);
}

TEST_F(WindowWriterTest, IsOfferedOnlyWhereUnitsMayStart) {
  writer_->Publish(7, Offer(3 * kMs));
  EXPECT_FALSE(writer_->IsOffered(7)) << "mode is off";
  writer_->SetMode(FillMode::kFill);
  EXPECT_TRUE(writer_->IsOffered(7));
  EXPECT_FALSE(writer_->IsOffered(8));
  EXPECT_FALSE(writer_->IsOffered(kNoSlot));
  writer_->SetParked(true);
  EXPECT_FALSE(writer_->IsOffered(7));
}

TEST_F(WindowWriterTest, OpensAndClosesFailureBubblesBesideAllElse) {
  writer_->Publish(3, Offer(kMs));
  writer_->SetMode(FillMode::kFill);
  writer_->OpenFailure(77, Instant::FromNs(9 * kMs), absl::Milliseconds(20));
  EXPECT_EQ(page_.failure_seq.load(), 77u);
  EXPECT_EQ(page_.failure_begin_ns.load(), 9u * kMs);
  EXPECT_EQ(page_.failure_unit_max_ns.load(), 20u * kMs);
  EXPECT_TRUE(writer_->IsOffered(3));
  writer_->CloseFailure();
  EXPECT_EQ(page_.failure_begin_ns.load(), 0u);
}

TEST_F(WindowWriterTest, AnotherSignalPageWithdrawsAllWindows) {
  writer_->Publish(0, Offer(kMs));
  writer_->Publish(kBubbleSlots - 1, Offer(kMs));
  EXPECT_EQ(writer_->RaiseSignalGeneration(), 1u);
  EXPECT_EQ(writer_->RaiseSignalGeneration(), 2u);
  EXPECT_EQ(page_.signal_generation.load(), 2u);
  EXPECT_EQ(LatestStart(page_, 0, kMs), kNever);
  EXPECT_EQ(LatestStart(page_, kBubbleSlots - 1, kMs), kNever);
}

TEST_F(WindowWriterTest, RaisingTheGenerationWakesAnotherProcess) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    // Until the generation moves, or for 10 s; the word may have moved before the wait.
    const MappedPage own(writer_->descriptor(), sizeof(WindowPage));
    const auto& word = own.As<WindowPage>().signal_generation;
    const char byte = 1;
    if (write(ready[1], &byte, 1) != 1) _exit(2);
    const timespec limit = {.tv_sec = 10, .tv_nsec = 0};
    while (word.load() == 0) {
      if (syscall(SYS_futex, &word, FUTEX_WAIT, 0, &limit, nullptr, 0) != 0 && errno == ETIMEDOUT) {
        _exit(1);
      }
    }
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  // Asleep: no sooner does the wake have to work.
  char state = '?';
  while (state != 'S') {
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/%d/stat", child);
    char text[256] = {};
    const int file = open(path, O_RDONLY);
    ASSERT_GT(read(file, text, sizeof(text) - 1), 0);
    close(file);
    state = *(std::strrchr(text, ')') + 2);
  }
  writer_->RaiseSignalGeneration();
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(MakePageTest, FillsTheHeadersAndLeavesThePagesWritable) {
  const absl::StatusOr<SealedPage> signal = MakeSignalPage();
  const absl::StatusOr<SealedPage> task = MakeTaskPage();
  ASSERT_TRUE(signal.ok() && task.ok());
  EXPECT_EQ(signal->As<SignalPage>()->header.magic, static_cast<uint32_t>(PageKind::kSignal));
  EXPECT_EQ(signal->As<SignalPage>()->header.size_bytes, sizeof(SignalPage));
  EXPECT_EQ(task->As<TaskPage>()->header.magic, static_cast<uint32_t>(PageKind::kTask));
  EXPECT_EQ(task->As<TaskPage>()->header.version, kPageVersion);
  void* writable =
      mmap(nullptr, sizeof(TaskPage), PROT_READ | PROT_WRITE, MAP_SHARED, task->descriptor(), 0);
  EXPECT_NE(writable, MAP_FAILED);
  munmap(writable, sizeof(TaskPage));
}

}  // namespace
}  // namespace pipefill
