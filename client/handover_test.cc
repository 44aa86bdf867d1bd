// From a bubble's begin in one process to a unit's start in another: the real recorder, the real
// gate, the real futex, two processes that share the pages.
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <new>
#include <vector>

#include "client/fill/gate.h"
#include "client/main_job/edge_recorder.h"
#include "client/platform/clock.h"
#include "client/platform/futex.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr uint32_t kBubbles = 800;  // their edges fit into the ring
constexpr uint32_t kOrdinals = 8;
constexpr uint64_t kPatienceNs = 20'000'000'000;

// What the gate tells the rank: how many units it has started.
class SharedCount {
 public:
  SharedCount()
      : count_(new (mmap(nullptr, sizeof(std::atomic<uint32_t>), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0)) std::atomic<uint32_t>(0)) {}
  ~SharedCount() { munmap(count_, sizeof(*count_)); }
  std::atomic<uint32_t>& operator*() const { return *count_; }

 private:
  std::atomic<uint32_t>* const count_;
};

// Begins one bubble after the other; each lasts until a unit has started in it. False if none does.
bool RunRank(SignalPage* signal, const WindowPage* window, const std::atomic<uint32_t>& started) {
  SystemClock clock;
  SystemFutex futex;
  EdgeRecorder recorder(signal, window, clock, futex);
  for (uint32_t i = 0; i < kBubbles; ++i) {
    recorder.IterationBegin(i);
    recorder.BubbleBegin(PF_BUBBLE_HEAD, i % kOrdinals);
    const uint64_t begin_ns = clock.NowNs();
    while (started.load(std::memory_order_acquire) <= i) {
      if (clock.NowNs() - begin_ns > kPatienceNs) return false;
      sched_yield();
    }
    recorder.BubbleEnd();
    recorder.IterationEnd();
  }
  return true;
}

class HandoverTest : public testing::Test {
 protected:
  HandoverTest() : gate_(window_.get(), clock_, futex_) {
    for (uint32_t slot = 0; slot < kOrdinals; ++slot) {
      OfferBubble(window_.get(), slot, 1'000'000, static_cast<int64_t>(kPatienceNs));
    }
    window_->gates.store(1);
    window_->heartbeat_ns.store(clock_.NowNs() + 10 * kPatienceNs);
    window_->signal_generation.store(1);
    gate_.SetSignal(signal_.get(), 1);
  }

  // Starts one unit in each bubble.
  void RunGate() {
    while (units_.size() < kBubbles && time_outs_ < 3) {
      UnitRecord unit;
      if (gate_.TryStart(1'000, &unit) != GateAnswer::kStarted) {
        if (gate_.Wait(kPatienceNs / 4) == WaitResult::kTimedOut) ++time_outs_;
        continue;
      }
      units_.push_back(unit);
      (*started_).fetch_add(1, std::memory_order_release);
      while (gate_.IsStillOpen(unit)) sched_yield();
    }
  }

  std::map<uint32_t, EdgeEvent> BeginEdgesBySeq() const {
    std::map<uint32_t, EdgeEvent> edges;
    for (uint64_t sequence = 0; sequence < signal_->events.written.load(); ++sequence) {
      uint64_t words[kEdgeWords];
      if (!signal_->events.Read(sequence, words)) continue;
      const EdgeEvent edge = UnpackEdge(words);
      if (edge.kind == EdgeKind::kBubbleBegin) edges[edge.seq] = edge;
    }
    return edges;
  }

  TestSignalPage signal_;
  TestWindowPage window_;
  SharedCount started_;
  SystemClock clock_;
  SystemFutex futex_;
  Gate gate_;
  std::vector<UnitRecord> units_;
  int time_outs_ = 0;
};

TEST_F(HandoverTest, EveryBubbleWakesTheGateAndEveryUnitIsOfTheBubbleItNames) {
  const pid_t rank = fork();
  ASSERT_GE(rank, 0);
  if (rank == 0) _exit(RunRank(signal_.get(), window_.get(), *started_) ? 0 : 1);
  RunGate();
  int status = -1;
  waitpid(rank, &status, 0);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(time_outs_, 0);  // no wake was lost
  ASSERT_EQ(units_.size(), kBubbles);
  const std::map<uint32_t, EdgeEvent> edges = BeginEdgesBySeq();
  for (uint32_t i = 0; i < kBubbles; ++i) {
    const UnitRecord& unit = units_[i];
    ASSERT_EQ(edges.count(unit.seq), 1u);
    const EdgeEvent& edge = edges.at(unit.seq);
    EXPECT_EQ(unit.seq, 2 * i + 1);
    EXPECT_EQ(unit.seq_after, unit.seq);
    EXPECT_EQ(unit.slot, edge.slot);
    EXPECT_EQ(unit.bubble_begin_ns, edge.time_ns);
    EXPECT_EQ(unit.iteration, edge.iteration);
    EXPECT_GE(unit.start_ns, edge.time_ns);
  }
}

}  // namespace
}  // namespace pipefill::sdk
