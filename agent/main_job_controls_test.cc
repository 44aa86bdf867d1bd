#include "agent/main_job_controls.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "agent/devices/cpu_device.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/util/delimited_message_util.h"

namespace pipefill {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr HoldOut kHoldOut = {.block_iterations = 1, .one_in = 16};
constexpr ConnectionId kRank = 1;
constexpr ConnectionId kTask = 2;

template <typename Page>
Page* Map(int descriptor, int protection) {
  void* data = mmap(nullptr, sizeof(Page), protection, MAP_SHARED, descriptor, 0);
  return data == MAP_FAILED ? nullptr : static_cast<Page*>(data);
}

// A device with a rank and a task, both played by the test through their pages.
class MainJobControlsTest : public testing::Test {
 protected:
  MainJobControlsTest()
      : device_({.name = "cpu0",
                 .cores = {0},
                 .memory_bytes = int64_t{4} << 30,
                 .resident_limit = 2,
                 .priority = TaskPriority::kIdle}) {}
  void SetUp() override {
    const std::string folder =
        absl::StrCat(testing::TempDir(), "/main_job_controls_",
                     testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
    trace_ = *TraceWriter::Open({.folder = folder, .start = {}});
    states_.push_back(*DeviceState::Create(
        device_, {.node = "n", .window = {.hold_out = kHoldOut}, .predictor = {}},
        {.trace = *trace_, .main_jobs = main_jobs_}));
    controls_.emplace(ControlOptions{.controller = {}, .overrun_ratio = 0.2, .hold_out = kHoldOut},
                      *trace_);
    AttachRank();
    AttachTask();
  }
  void TearDown() override {
    munmap(signal_, sizeof(SignalPage));
    munmap(task_, sizeof(TaskPage));
    munmap(window_, sizeof(WindowPage));
  }

  DeviceState& state() { return *states_.front(); }
  void AttachRank() {
    const AttachAnswer answer =
        state().AttachRank({.connection = kRank, .pid = 4711, .uid = 0},
                           {.main_job = "gpt", .mode = FillMode::kFill, .device = ""});
    const auto grant = std::get<PageGrant>(answer);
    signal_ = Map<SignalPage>(grant.descriptors[0], PROT_READ | PROT_WRITE);
    window_ = Map<WindowPage>(grant.descriptors[1], PROT_READ);
    state().OnMapped(kRank, now_);
    signal_->bubble_names[0].store(PackBubbleName(BubbleClass::kMiddle, 0));
  }
  void AttachTask() {
    const AttemptSpec spec = {
        .key = {.job = JobId(1), .attempt = AttemptNumber(1), .fence = Fence(5)},
        .job_name = "fill",
        .device = "cpu0",
        .command = {"x"},
        .env = {},
        .workdir = "",
        .memory_bytes = int64_t{1} << 30};
    state().AddTask(spec, 4712, now_);
    const auto grant = std::get<PageGrant>(
        state().AttachTask({.connection = kTask, .pid = 4712, .uid = 0}, spec.key));
    task_ = Map<TaskPage>(grant.descriptors[1], PROT_READ | PROT_WRITE);
    state().OnMapped(kTask, now_);
  }

  void PushEdge(EdgeKind kind, int64_t after_ns) {
    const bool is_bubble = kind == EdgeKind::kBubbleBegin || kind == EdgeKind::kBubbleEnd;
    seq_ += is_bubble ? 1 : 0;
    const EdgeEvent edge = {.kind = kind,
                            .slot = is_bubble ? 0 : kNoSlot,
                            .seq = seq_,
                            .time_ns = static_cast<uint64_t>(now_.ns() + after_ns),
                            .iteration = iteration_};
    uint64_t words[kEdgeWords];
    PackEdge(edge, words);
    signal_->events.Push(words);
  }
  void PushUnit(int64_t bubble_after_ns, int64_t length_ns) {
    const auto begin_ns = static_cast<uint64_t>(now_.ns() + bubble_after_ns);
    const auto unit_ns = static_cast<uint64_t>(length_ns);
    const UnitRecord unit = {.start_ns = begin_ns + 1,
                             .end_ns = begin_ns + 1 + unit_ns,
                             .cpu_ns = unit_ns,
                             .bubble_begin_ns = begin_ns,
                             .iteration = iteration_,
                             .seq = seq_ - 1,
                             .seq_after = seq_ - 1,
                             .generation = window_->signal_generation.load()};
    uint64_t words[kUnitWords];
    PackUnit(unit, words);
    task_->units.Push(words);
  }
  // Iterations of 20 ms with a bubble of 8 ms, longer by `cost` where a unit ran.
  void Run(int iterations, double cost, int64_t unit_ns = 6 * kMs) {
    for (int i = 0; i < iterations; ++i) {
      const bool is_filled = IsFillAllowed(*window_, static_cast<uint64_t>(now_.ns()), iteration_);
      const auto length_ns = static_cast<int64_t>(20 * kMs * (is_filled ? 1 + cost : 1.0));
      PushEdge(EdgeKind::kIterationBegin, 0);
      PushEdge(EdgeKind::kBubbleBegin, 2 * kMs);
      PushEdge(EdgeKind::kBubbleEnd, 10 * kMs);
      if (is_filled) PushUnit(2 * kMs, unit_ns);
      PushEdge(EdgeKind::kIterationEnd, length_ns);
      ++iteration_;
      now_ = now_ + absl::Nanoseconds(length_ns + 1);
      Beat();
    }
  }
  void Beat() {
    state().Drain(now_);
    controls_->Update(states_, /*is_parked=*/false, now_);
  }
  FillMode WindowMode() const { return static_cast<FillMode>(window_->mode.load()); }
  const v1::FillControl& Control() { return *controls_->Find(state().rank_key()); }
  std::vector<v1::FillControl> Traced() {
    const std::string data = trace_->ReadChunk(0, int64_t{64} << 20)->data;
    google::protobuf::io::ArrayInputStream stream(data.data(), static_cast<int>(data.size()));
    std::vector<v1::FillControl> controls;
    v1::TraceRecord record;
    while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&record, &stream, nullptr)) {
      if (record.has_fill_control()) controls.push_back(record.fill_control().control());
      record.Clear();
    }
    return controls;
  }

  const CpuDevice device_;
  std::unique_ptr<TraceWriter> trace_;
  MainJobBoard main_jobs_{10'000};
  DeviceStates states_;
  std::optional<MainJobControls> controls_;
  SignalPage* signal_ = nullptr;
  WindowPage* window_ = nullptr;
  TaskPage* task_ = nullptr;
  uint32_t seq_ = 0;
  uint64_t iteration_ = 0;
  Instant now_ = Instant::FromNs(int64_t{1'000'000} * kMs);
};

TEST_F(MainJobControlsTest, LearnsThenFillsAndRaisesLambda) {
  Beat();
  EXPECT_EQ(Control().state(), v1::FILL_STATE_LEARNING);
  Run(500, 0.002);
  EXPECT_EQ(Control().state(), v1::FILL_STATE_FILLING);
  EXPECT_NEAR(Control().slowdown(), 0.002, 1e-4);
  EXPECT_GT(Control().overrun_ratio(), 0.2);
  EXPECT_EQ(Control().budget_ppm(), 10'000u);
}

TEST_F(MainJobControlsTest, LambdaOfTheControllerMovesTheWindows) {
  Run(200, 0.002);
  const int64_t before = LatestStart(*window_, 0, 3 * kMs);
  Run(400, 0.002);
  EXPECT_GT(LatestStart(*window_, 0, 3 * kMs), before);
}

TEST_F(MainJobControlsTest, DearFillingShutsTheGatesUntilTheWaitIsOver) {
  Run(400, 0.05);
  ASSERT_EQ(Control().state(), v1::FILL_STATE_BACKED_OFF);
  EXPECT_EQ(WindowMode(), FillMode::kReport);
  EXPECT_TRUE(Control().text().ends_with("exceeds the budget of 1 %")) << Control().text();
  EXPECT_GT(Control().retry_in_ns(), 0);
  EXPECT_EQ(Control().back_offs(), 1);

  now_ = now_ + absl::Nanoseconds(Control().retry_in_ns());
  Beat();
  EXPECT_EQ(WindowMode(), FillMode::kFill);
  EXPECT_EQ(Control().state(), v1::FILL_STATE_FILLING);
}

TEST_F(MainJobControlsTest, UserSetBudgetIsTakenOverAtOnce) {
  Run(400, 0.05);
  main_jobs_.Set({.main_job = "gpt", .mode = std::nullopt, .budget_ppm = 100'000});
  state().OnSettingsChanged(now_);
  Beat();
  EXPECT_EQ(WindowMode(), FillMode::kFill);
  EXPECT_EQ(Control().budget_ppm(), 100'000u);
}

TEST_F(MainJobControlsTest, PausedMainJobIsNotCompared) {
  main_jobs_.Set({.main_job = "gpt", .mode = std::nullopt, .is_paused = true});
  state().OnSettingsChanged(now_);
  Run(400, 0.05);
  EXPECT_EQ(Control().state(), v1::FILL_STATE_PAUSED);
  EXPECT_EQ(Control().hold_outs(), 0);
}

TEST_F(MainJobControlsTest, StaticRuleTakesThePlaceOfTheLearnedOne) {
  Run(100, 0.0);
  main_jobs_.Set({.main_job = "gpt", .mode = std::nullopt, .static_share_ppm = 500'000});
  state().OnSettingsChanged(now_);
  Run(2, 0.0);
  EXPECT_EQ(LatestStart(*window_, 0, kMs), 3 * kMs);
}

TEST_F(MainJobControlsTest, BubblesWhoseUnitsOverrunGetAGuard) {
  Run(60, 0.0, 9 * kMs);
  const std::vector<v1::BubbleStats> bubbles = state().ReportBubbles();
  ASSERT_EQ(bubbles.size(), 1u);
  EXPECT_EQ(bubbles[0].guard_ns(), 0);  // 1 ms over, of 9 ms: as promised
  Run(60, 0.0, 12 * kMs);
  EXPECT_GT(state().ReportBubbles()[0].guard_ns(), 0);
  EXPECT_GT(state().ReportBubbles()[0].overruns(), 90);
  EXPECT_EQ(state().ReportBubbles()[0].units(), state().ReportBubbles()[0].overruns());
}

TEST_F(MainJobControlsTest, ChangesAreOnRecord) {
  Run(400, 0.05);
  const std::vector<v1::FillControl> traced = Traced();
  ASSERT_GE(traced.size(), 3u);
  EXPECT_EQ(traced.front().state(), v1::FILL_STATE_LEARNING);
  EXPECT_EQ(traced.back().state(), v1::FILL_STATE_BACKED_OFF);
  const auto filling = std::find_if(traced.begin(), traced.end(), [](const v1::FillControl& one) {
    return one.state() == v1::FILL_STATE_FILLING;
  });
  EXPECT_NE(filling, traced.end());
  // Not one per beat.
  EXPECT_LT(traced.size(), 40u);
}

TEST_F(MainJobControlsTest, BackOffOutlivesARankThatComesBack) {
  Run(400, 0.05);
  state().OnConnectionEnded(kRank, now_);
  Beat();
  EXPECT_EQ(controls_->Find(state().rank_key()), nullptr);
  munmap(signal_, sizeof(SignalPage));
  munmap(window_, sizeof(WindowPage));
  seq_ = 0;
  AttachRank();
  Run(20, 0.05);
  EXPECT_EQ(Control().state(), v1::FILL_STATE_BACKED_OFF);
  EXPECT_EQ(WindowMode(), FillMode::kReport);
}

}  // namespace
}  // namespace pipefill
