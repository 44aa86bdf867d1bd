// One device with its state, and a rank and a task that the test plays.
//
// Thread-compatible: used from one thread.
#ifndef AGENT_TESTING_DEVICE_FIXTURE_H_
#define AGENT_TESTING_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "agent/device_state.h"
#include "agent/devices/cpu_device.h"

namespace pipefill {

inline constexpr int64_t kGiB = int64_t{1} << 30;
inline constexpr uint64_t kMs = 1'000'000;
// Where the tests' time begins: pages do not like records from before.
inline constexpr int64_t kStartMs = 1'000'000;

inline Instant AtMs(int64_t ms) { return Instant::FromNs((kStartMs + ms) * 1'000'000); }

// Maps what was granted, as a peer would.
template <typename Page>
class Mapping {
 public:
  Mapping(int descriptor, int protection)
      : data_(mmap(nullptr, sizeof(Page), protection, MAP_SHARED, descriptor, 0)) {}
  ~Mapping() {
    if (is_mapped()) munmap(data_, sizeof(Page));
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  bool is_mapped() const { return data_ != MAP_FAILED; }
  Page& operator*() const { return *static_cast<Page*>(data_); }
  Page* operator->() const { return static_cast<Page*>(data_); }

 private:
  void* const data_;
};

// Its policy rank is its number.
inline AttemptSpec SpecOf(int64_t job) {
  return {.key = {.job = JobId(job), .attempt = AttemptNumber(1), .fence = Fence(5)},
          .job_name = "fill",
          .device = "cpu0",
          .command = {"x"},
          .env = {},
          .workdir = "",
          .memory_bytes = kGiB,
          .policy_rank = static_cast<int32_t>(job)};
}

class DeviceStateTest : public ::testing::Test {
 protected:
  DeviceStateTest()
      : device_({.name = "cpu0",
                 .cores = {0},
                 .memory_bytes = 4 * kGiB,
                 .resident_limit = 2,
                 .priority = TaskPriority::kIdle}) {}
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/device_state_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    trace_ = *TraceWriter::Open({.folder = folder_, .start = {}});
    state_ = *DeviceState::Create(
        device_, {.node = "n", .window = {.hold_out = {.one_in = 0}}, .predictor = {}},
        {.trace = *trace_, .main_jobs = main_jobs_});
  }

  PageGrant AttachRank(ConnectionId connection, FillMode mode = FillMode::kFill) {
    const AttachAnswer answer =
        state_->AttachRank({.connection = connection, .pid = 4711, .uid = 0},
                           {.main_job = "gpt", .mode = mode, .device = ""});
    EXPECT_TRUE(std::holds_alternative<PageGrant>(answer));
    const auto grant = std::get<PageGrant>(answer);
    window_.emplace(grant.descriptors[1], PROT_READ);
    signal_.emplace(grant.descriptors[0], PROT_READ | PROT_WRITE);
    state_->OnMapped(connection, AtMs(0));
    return grant;
  }
  PageGrant AttachTask(ConnectionId connection, int64_t job, pid_t pid = 4712) {
    state_->AddTask(SpecOf(job), pid, AtMs(0));
    const AttachAnswer answer =
        state_->AttachTask({.connection = connection, .pid = pid, .uid = 0}, SpecOf(job).key);
    EXPECT_TRUE(std::holds_alternative<PageGrant>(answer));
    const auto grant = std::get<PageGrant>(answer);
    window_.emplace(grant.descriptors[0], PROT_READ);
    task_.emplace(grant.descriptors[1], PROT_READ | PROT_WRITE);
    EXPECT_EQ(state_->OnMapped(connection, AtMs(0)), SpecOf(job).key);
    return grant;
  }

  void PushEdge(EdgeKind kind, uint32_t seq, int64_t ms, uint64_t iteration = 1) {
    const EdgeEvent edge = {.kind = kind,
                            .slot = 0,
                            .seq = seq,
                            .time_ns = static_cast<uint64_t>(AtMs(ms).ns()),
                            .iteration = iteration};
    uint64_t words[kEdgeWords];
    PackEdge(edge, words);
    (*signal_)->events.Push(words);
  }
  // `count` bubbles of 8 ms, one each 10 ms from 0 on; the last one ends at 10 * count - 2.
  void MakeBubbles(int count) {
    (*signal_)->bubble_names[0].store(PackBubbleName(BubbleClass::kMiddle, 0));
    for (int i = 0; i < count; ++i) {
      PushEdge(EdgeKind::kBubbleBegin, static_cast<uint32_t>(2 * i + 1), 10 * i);
      PushEdge(EdgeKind::kBubbleEnd, static_cast<uint32_t>(2 * i + 2), 10 * i + 8);
    }
  }
  // The bubble with `place` others before it, of 8 ms.
  void PushBubble(uint32_t place, int64_t begin_ms) {
    PushEdge(EdgeKind::kBubbleBegin, 2 * place + 1, begin_ms);
    PushEdge(EdgeKind::kBubbleEnd, 2 * place + 2, begin_ms + 8);
  }
  void Set(const MainJobSettings& settings) { main_jobs_.Set(settings); }
  FillMode WindowMode() const { return static_cast<FillMode>((*window_)->mode.load()); }
  void OpenBubble(uint32_t seq, int64_t begin_ms) {
    (*signal_)->begin_ns.store(static_cast<uint64_t>(AtMs(begin_ms).ns()));
    (*signal_)->seq.store(seq);
  }

  const CpuDevice device_;
  std::string folder_;
  std::unique_ptr<TraceWriter> trace_;
  MainJobBoard main_jobs_{10'000};
  std::unique_ptr<DeviceState> state_;
  std::optional<Mapping<SignalPage>> signal_;
  std::optional<Mapping<WindowPage>> window_;
  std::optional<Mapping<TaskPage>> task_;  // of the task that attached last
};

}  // namespace pipefill

#endif  // AGENT_TESTING_DEVICE_FIXTURE_H_
