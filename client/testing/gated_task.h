// A gated task in this process; the test plays agentd on the other end of its connection, and the
// rank in its signal page.
//
// Thread-compatible: for tests of one thread.
#ifndef CLIENT_TESTING_GATED_TASK_H_
#define CLIENT_TESTING_GATED_TASK_H_

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "client/fill/fill_task.h"
#include "client/pages/handshake.h"
#include "client/platform/descriptor.h"
#include "client/testing/fakes.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {

class GatedTask : public testing::Test {
 protected:
  static constexpr uint64_t kMsNs = 1'000'000;
  static constexpr uint32_t kSlot = 4;
  static constexpr uint32_t kSeat = 1;

  GatedTask() : futex_(clock_) {
    OfferBubble(window_.get(), kSlot, 64 * kMsNs, 10 * kMsNs);
    window_->heartbeat_ns.store(clock_.now_ns);
    window_->signal_generation.store(1);
    std::array<int, 2> ends;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    agent_ = Descriptor(ends[1]);
    TaskPages pages;
    pages.connection = Connection(Descriptor(ends[0]), system_clock_);
    Map(window_.descriptor(), PageKind::kWindow, sizeof(WindowPage), &pages.window);
    Map(task_page_.descriptor(), PageKind::kTask, sizeof(TaskPage), &pages.task);
    Map(turn_.descriptor(), PageKind::kTurn, sizeof(TurnPage), &pages.turn);
    Map(signal_.descriptor(), PageKind::kSignal, sizeof(SignalPage), &pages.signal);
    turn_->taken.store(0b11);
    pages.turn_seat = kSeat;
    pages.signal_generation = 1;
    const FillTask::Options options = {.clock = clock_, .futex = futex_, .unit_hint_ns = kMsNs};
    task_ = std::make_unique<FillTask>(options, std::move(pages), std::nullopt);
  }

  static void Map(int descriptor, PageKind kind, size_t size_bytes, PageMapping* mapping) {
    const bool is_ours = kind == PageKind::kTask || kind == PageKind::kTurn;
    const PageAccess access = is_ours ? PageAccess::kReadWrite : PageAccess::kRead;
    const Error error = PageMapping::Map(
        descriptor, {.kind = kind, .size_bytes = size_bytes, .access = access}, mapping);
    ASSERT_TRUE(error.ok()) << error.text;
  }

  void OpenBubble() {
    signal_->slot.store(kSlot);
    signal_->begin_ns.store(clock_.now_ns);
    signal_->iteration.store(3);
    signal_->seq.fetch_add(1);
    window_->heartbeat_ns.store(clock_.now_ns);
  }
  void CloseBubble() { signal_->seq.fetch_add(1); }
  void RunFor(uint64_t wall_ns, uint64_t cpu_ns) {
    clock_.now_ns += wall_ns;
    clock_.cpu_ns += cpu_ns;
  }
  void SendStop() {
    const MessageHeader stop = BareMessage(MessageType::kStop);
    ASSERT_EQ(send(agent_.get(), &stop, sizeof(stop), 0), ssize_t{sizeof(stop)});
  }
  std::vector<UnitRecord> Units() const {
    std::vector<UnitRecord> units;
    for (uint64_t i = 0; i < task_page_->units.written.load(); ++i) {
      uint64_t words[kUnitWords];
      if (task_page_->units.Read(i, words)) units.push_back(UnpackUnit(words));
    }
    return units;
  }
  TaskState state() const { return static_cast<TaskState>(task_page_->state.load()); }

  TestSignalPage signal_;
  TestWindowPage window_;
  TestTaskPage task_page_;
  TestTurnPage turn_;
  FakeClock clock_;
  SystemClock system_clock_;
  FakeFutex futex_;
  Descriptor agent_;
  std::unique_ptr<FillTask> task_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_TESTING_GATED_TASK_H_
