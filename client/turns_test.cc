// Two fill tasks of one device in two processes, over real pages, clocks and futexes: they take
// turns, and no two units ever overlap.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "client/fill/fill_task.h"
#include "client/platform/clock.h"
#include "client/platform/futex.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint32_t kTasks = 2;
constexpr uint32_t kSlot = 0;
constexpr uint64_t kUnits = 200;  // of each task
constexpr uint64_t kUnitNs = 100'000;
constexpr uint64_t kHourNs = 3'600'000'000'000;

class TurnsTest : public testing::Test {
 protected:
  TurnsTest() {
    OfferBubble(window_.get(), kSlot, UINT64_MAX, static_cast<int64_t>(kHourNs));
    // However long the machine lets a unit take, it fits.
    for (PageField<uint64_t>& unit_ns : window_->unit_ns) unit_ns.store(kHourNs);
    window_->heartbeat_ns.store(clock_.NowNs() + kHourNs);
    window_->signal_generation.store(1);
    turn_->taken.store((1u << kTasks) - 1);
    signal_->slot.store(kSlot);
    signal_->begin_ns.store(clock_.NowNs());
    signal_->seq.store(1);
  }

  // In a child: attached to `seat`, as agentd would have it.
  TaskPages PagesOf(uint32_t seat) {
    TaskPages pages;
    pages.connection = Connection(Descriptor(ends_[0]), clock_);
    const auto map = [](int descriptor, PageKind kind, size_t size_bytes, PageAccess access,
                        PageMapping* mapping) {
      const PageExpectation page = {.kind = kind, .size_bytes = size_bytes, .access = access};
      if (!PageMapping::Map(descriptor, page, mapping).ok()) _exit(2);
    };
    map(window_.descriptor(), PageKind::kWindow, sizeof(WindowPage), PageAccess::kRead,
        &pages.window);
    map(tasks_[seat].descriptor(), PageKind::kTask, sizeof(TaskPage), PageAccess::kReadWrite,
        &pages.task);
    map(turn_.descriptor(), PageKind::kTurn, sizeof(TurnPage), PageAccess::kReadWrite, &pages.turn);
    map(signal_.descriptor(), PageKind::kSignal, sizeof(SignalPage), PageAccess::kRead,
        &pages.signal);
    pages.signal_generation = 1;
    pages.turn_seat = seat;
    return pages;
  }

  void RunTask(uint32_t seat) {
    SystemFutex futex;
    FillTask task({.clock = clock_, .futex = futex, .unit_hint_ns = kUnitNs}, PagesOf(seat),
                  std::nullopt);
    for (uint64_t i = 0; i < kUnits; ++i) {
      if (task.NextUnit(0, kHourNs) != FillTask::Outcome::kStarted) _exit(3);
      const uint64_t begin_ns = clock_.NowNs();
      while (clock_.NowNs() - begin_ns < kUnitNs) {
      }
    }
  }

  std::vector<UnitRecord> Units() const {
    std::vector<UnitRecord> units;
    for (const TestTaskPage& task : tasks_) {
      for (uint64_t i = 0; i < task->units.written.load(); ++i) {
        uint64_t words[kUnitWords];
        if (task->units.Read(i, words)) units.push_back(UnpackUnit(words));
      }
    }
    std::sort(units.begin(), units.end(),
              [](const UnitRecord& a, const UnitRecord& b) { return a.start_ns < b.start_ns; });
    return units;
  }

  SystemClock clock_;
  TestSignalPage signal_;
  TestWindowPage window_;
  TestTurnPage turn_;
  std::array<TestTaskPage, kTasks> tasks_;
  std::array<int, 2> ends_ = {-1, -1};
};

TEST_F(TurnsTest, UnitsOfTwoTasksNeverOverlapAndBothRun) {
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends_.data()), 0);
  std::vector<pid_t> children;
  for (uint32_t seat = 0; seat < kTasks; ++seat) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    RunTask(seat);
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  close(ends_[0]);
  close(ends_[1]);

  const std::vector<UnitRecord> units = Units();
  ASSERT_EQ(units.size(), kTasks * kUnits);
  for (size_t i = 1; i < units.size(); ++i) {
    EXPECT_GE(units[i].start_ns, units[i - 1].end_ns) << i;
  }
  EXPECT_TRUE(IsFree(turn_->holder.load()));
}

}  // namespace
}  // namespace pipefill::sdk
