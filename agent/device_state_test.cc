#include "agent/device_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "agent/devices/cpu_device.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr uint64_t kMs = 1'000'000;
// Where the tests' time begins: pages do not like records from before.
constexpr int64_t kStartMs = 1'000'000;

Instant AtMs(int64_t ms) { return Instant::FromNs((kStartMs + ms) * 1'000'000); }

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

AttemptSpec SpecOf(int64_t job) {
  return {.key = {.job = JobId(job), .attempt = AttemptNumber(1), .fence = Fence(5)},
          .job_name = "fill",
          .device = "cpu0",
          .command = {"x"},
          .env = {},
          .workdir = "",
          .memory_bytes = kGiB};
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
  PageGrant AttachTask(ConnectionId connection, int64_t job) {
    state_->AddTask(SpecOf(job), 4712, AtMs(0));
    const AttachAnswer answer =
        state_->AttachTask({.connection = connection, .pid = 4712, .uid = 0}, SpecOf(job).key);
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
  std::optional<Mapping<TaskPage>> task_;
};

TEST_F(DeviceStateTest, PagesAreSealedOnceTheirWriterHasMappedThem) {
  const PageGrant rank = AttachRank(1);
  const PageGrant task = AttachTask(2, 1);
  EXPECT_FALSE(Mapping<SignalPage>(rank.descriptors[0], PROT_READ | PROT_WRITE).is_mapped());
  EXPECT_FALSE(Mapping<TaskPage>(task.descriptors[1], PROT_READ | PROT_WRITE).is_mapped());
  EXPECT_FALSE(Mapping<WindowPage>(task.descriptors[0], PROT_READ | PROT_WRITE).is_mapped());
  EXPECT_TRUE(Mapping<SignalPage>(rank.descriptors[0], PROT_READ).is_mapped());
}

TEST_F(DeviceStateTest, TasksSeeTheSignalPageOnlyOnceItIsSealed) {
  state_->AttachRank({.connection = 1, .pid = 4711, .uid = 0}, {.main_job = "gpt", .device = ""});
  EXPECT_THAT(AttachTask(2, 1).descriptors, SizeIs(3));
  const uint32_t generation = (*window_)->signal_generation.load();
  state_->OnMapped(1, AtMs(0));
  EXPECT_EQ((*window_)->signal_generation.load(), generation + 1);
  EXPECT_THAT(state_->SignalGrant().descriptors, SizeIs(1));
}

TEST_F(DeviceStateTest, SecondRankIsToldWhoIsThere) {
  AttachRank(1);
  const AttachAnswer answer =
      state_->AttachRank({.connection = 2, .pid = 1, .uid = 0}, {.main_job = "bert", .device = ""});
  ASSERT_TRUE(std::holds_alternative<Refusal>(answer));
  EXPECT_EQ(std::get<Refusal>(answer).code, AttachCode::kBusy);
  EXPECT_THAT(std::get<Refusal>(answer).text, HasSubstr("rank 0 of gpt (pid 4711)"));
}

TEST_F(DeviceStateTest, SecondGateOfATaskIsRefused) {
  AttachTask(1, 1);
  const AttachAnswer answer =
      state_->AttachTask({.connection = 2, .pid = 1, .uid = 0}, SpecOf(1).key);
  ASSERT_TRUE(std::holds_alternative<Refusal>(answer));
  EXPECT_EQ(std::get<Refusal>(answer).code, AttachCode::kBusy);
}

TEST_F(DeviceStateTest, CountsGatesForTheRankToSee) {
  AttachRank(1);
  EXPECT_EQ((*window_)->gates.load(), 0u);
  AttachTask(2, 1);
  EXPECT_EQ((*window_)->gates.load(), 1u);
  EXPECT_EQ(state_->OnConnectionEnded(2, AtMs(1)), SpecOf(1).key);
  EXPECT_EQ((*window_)->gates.load(), 0u);
}

TEST_F(DeviceStateTest, LearnsBubblesAndOffersThemAfterTheEighth) {
  AttachRank(1);
  MakeBubbles(8);
  state_->Drain(AtMs(100));
  EXPECT_EQ((*window_)->entries[0].offered.load(), 0u);  // the first length is not learned
  PushEdge(EdgeKind::kBubbleBegin, 17, 100);
  PushEdge(EdgeKind::kBubbleEnd, 18, 108);
  state_->Drain(AtMs(110));
  EXPECT_EQ((*window_)->entries[0].offered.load(), 1u);
  EXPECT_GT(LatestStart(**window_, 0, kMs), 0);
  const std::vector<v1::BubbleStats> bubbles = state_->ReportBubbles();
  ASSERT_THAT(bubbles, SizeIs(1));
  EXPECT_EQ(bubbles[0].count(), 9);
  EXPECT_EQ(bubbles[0].p50_ns(), 8'000'000);
  EXPECT_EQ(bubbles[0].bubble_class(), v1::BUBBLE_CLASS_MIDDLE);
  EXPECT_EQ(bubbles[0].latest_start_ns_size(), 16);
}

TEST_F(DeviceStateTest, KeepsTheLastFiguresUntilAnotherRankAttaches) {
  AttachRank(1);
  MakeBubbles(20);
  state_->Drain(AtMs(300));
  state_->OnConnectionEnded(1, AtMs(400));
  const std::vector<v1::BubbleStats> bubbles = state_->ReportBubbles();
  ASSERT_THAT(bubbles, SizeIs(1));
  EXPECT_EQ(bubbles[0].count(), 20);
  AttachRank(2);
  EXPECT_THAT(state_->ReportBubbles(), SizeIs(0));
}

TEST_F(DeviceStateTest, RankThatIsOffIsNotMeasured) {
  AttachRank(1, FillMode::kOff);
  MakeBubbles(20);
  state_->Drain(AtMs(300));
  EXPECT_THAT(state_->ReportBubbles(), SizeIs(0));
  EXPECT_EQ((*window_)->entries[0].offered.load(), 0u);
}

TEST_F(DeviceStateTest, PauseShutsTheGatesAtOnceAndMeasuringGoesOn) {
  AttachRank(1);
  MakeBubbles(20);
  state_->Drain(AtMs(300));
  ASSERT_EQ(WindowMode(), FillMode::kFill);

  Set({.main_job = "gpt", .mode = std::nullopt, .is_paused = true});
  EXPECT_TRUE(state_->OnSettingsChanged(AtMs(301)));

  EXPECT_EQ(WindowMode(), FillMode::kReport);
  PushBubble(20, 310);
  state_->Drain(AtMs(320));
  EXPECT_EQ(state_->ReportBubbles()[0].count(), 21);
  Set({.main_job = "gpt", .mode = std::nullopt});
  EXPECT_TRUE(state_->OnSettingsChanged(AtMs(330)));
  EXPECT_EQ(WindowMode(), FillMode::kFill);
}

TEST_F(DeviceStateTest, StaticShareTakesThePlaceOfTheLearnedRule) {
  AttachRank(1);
  MakeBubbles(20);
  state_->Drain(AtMs(300));
  Set({.main_job = "gpt", .mode = std::nullopt, .static_share_ppm = 500'000});
  EXPECT_TRUE(state_->OnSettingsChanged(AtMs(301)));
  state_->Drain(AtMs(310));
  // Half of 8 ms, less the unit.
  EXPECT_EQ(LatestStart(**window_, 0, kMs), 3'000'000);
  Set({.main_job = "gpt", .mode = std::nullopt});
  EXPECT_TRUE(state_->OnSettingsChanged(AtMs(320)));
  state_->Drain(AtMs(330));
  EXPECT_GT(LatestStart(**window_, 0, kMs), 6'000'000);
}

TEST_F(DeviceStateTest, SettingsOfOtherMainJobsChangeNothing) {
  AttachRank(1);
  Set({.main_job = "bert", .mode = FillMode::kOff, .is_paused = true});
  EXPECT_FALSE(state_->OnSettingsChanged(AtMs(1)));
  EXPECT_EQ(WindowMode(), FillMode::kFill);
  EXPECT_EQ(state_->effective(), (RankSettings{.mode = FillMode::kFill, .budget_ppm = 10'000}));
}

TEST_F(DeviceStateTest, SettingsMeetTheNextRankOfTheirMainJob) {
  Set({.main_job = "gpt", .mode = FillMode::kReport, .budget_ppm = 3'000});
  EXPECT_FALSE(state_->OnSettingsChanged(AtMs(0)));
  EXPECT_EQ(state_->effective(), std::nullopt);
  AttachRank(1);
  EXPECT_EQ(WindowMode(), FillMode::kReport);
  EXPECT_EQ(state_->effective()->budget_ppm, 3'000u);
  state_->OnConnectionEnded(1, AtMs(5));
  AttachRank(2);
  EXPECT_EQ(WindowMode(), FillMode::kReport);
  EXPECT_EQ(state_->Report(ProcessTable(), 0, 0).main_rank().mode(), v1::FILL_MODE_REPORT);
}

TEST_F(DeviceStateTest, SettingsBetweenAttachAndMappingHold) {
  state_->AttachRank({.connection = 1, .pid = 4711, .uid = 0}, {.main_job = "gpt", .device = ""});
  Set({.main_job = "gpt", .mode = std::nullopt, .is_paused = true});
  EXPECT_TRUE(state_->OnSettingsChanged(AtMs(0)));
  state_->OnMapped(1, AtMs(0));
  AttachTask(2, 1);
  EXPECT_EQ(WindowMode(), FillMode::kReport);
}

TEST_F(DeviceStateTest, NothingIsMeasuredWhileOffAndTheBubbleThatWasOpenIsNotLearned) {
  AttachRank(1);
  MakeBubbles(20);
  PushEdge(EdgeKind::kBubbleBegin, 41, 200);
  state_->Drain(AtMs(201));
  Set({.main_job = "gpt", .mode = FillMode::kOff});
  state_->OnSettingsChanged(AtMs(202));
  EXPECT_EQ(WindowMode(), FillMode::kOff);
  const v1::BubbleStats before = state_->ReportBubbles()[0];

  PushEdge(EdgeKind::kBubbleEnd, 42, 290);
  PushBubble(21, 300);
  state_->Drain(AtMs(310));

  const v1::BubbleStats after = state_->ReportBubbles()[0];
  EXPECT_EQ(after.count(), before.count());
  EXPECT_EQ(after.bubble_ns(), 20 * 8'000'000 + 2'000'000);
  EXPECT_EQ(after.p90_ns(), 8'000'000);
}

TEST_F(DeviceStateTest, FillingAfterOffBeginsWithABubbleWhoseBeginWasSeen) {
  AttachRank(1);
  MakeBubbles(20);
  state_->Drain(AtMs(201));
  Set({.main_job = "gpt", .mode = FillMode::kOff});
  state_->OnSettingsChanged(AtMs(202));
  PushEdge(EdgeKind::kBubbleBegin, 41, 210);
  state_->Drain(AtMs(212));

  Set({.main_job = "gpt", .mode = std::nullopt});
  state_->OnSettingsChanged(AtMs(214));
  EXPECT_EQ(WindowMode(), FillMode::kReport);  // units in the open bubble would belong to none
  PushEdge(EdgeKind::kBubbleEnd, 42, 218);
  state_->Drain(AtMs(219));
  EXPECT_EQ(WindowMode(), FillMode::kReport);
  PushEdge(EdgeKind::kBubbleBegin, 43, 220);
  state_->Drain(AtMs(222));
  EXPECT_EQ(WindowMode(), FillMode::kFill);
  PushEdge(EdgeKind::kBubbleEnd, 44, 228);
  state_->Drain(AtMs(230));
  EXPECT_EQ(state_->ReportBubbles()[0].count(), 21);
}

TEST_F(DeviceStateTest, RankThatAttachedOffCanBeFilledLater) {
  AttachRank(1, FillMode::kOff);
  MakeBubbles(1);
  state_->Drain(AtMs(9));
  Set({.main_job = "gpt", .mode = FillMode::kFill});
  state_->OnSettingsChanged(AtMs(10));
  PushBubble(1, 20);
  state_->Drain(AtMs(30));
  EXPECT_EQ(WindowMode(), FillMode::kFill);
  EXPECT_EQ(state_->ReportBubbles()[0].count(), 1);
}

TEST_F(DeviceStateTest, NextRankStartsAFreshPageAndFreshWindows) {
  AttachRank(1);
  MakeBubbles(20);
  state_->Drain(AtMs(300));
  ASSERT_EQ((*window_)->entries[0].offered.load(), 1u);
  const uint32_t generation = (*window_)->signal_generation.load();
  state_->OnConnectionEnded(1, AtMs(400));
  EXPECT_EQ((*window_)->signal_generation.load(), generation + 1);
  EXPECT_EQ((*window_)->entries[0].offered.load(), 0u);
  EXPECT_EQ((*window_)->mode.load(), static_cast<uint32_t>(FillMode::kOff));
  EXPECT_THAT(state_->SignalGrant().descriptors, SizeIs(0));
  AttachRank(2);
  EXPECT_EQ((*window_)->signal_generation.load(), generation + 2);
}

TEST_F(DeviceStateTest, BeatsTheHeartbeatAndParks) {
  AttachRank(1);
  state_->Drain(AtMs(77));
  EXPECT_EQ((*window_)->heartbeat_ns.load(), static_cast<uint64_t>(AtMs(77).ns()));
  state_->SetParked(true);
  EXPECT_EQ((*window_)->parked.load(), 1u);
}

TEST_F(DeviceStateTest, UnitIsInItsBubbleWhileThatIsOpen) {
  AttachRank(1);
  AttachTask(2, 1);
  EXPECT_EQ(state_->ViewUnit(SpecOf(1).key)->start, std::nullopt);
  EXPECT_FALSE(state_->ViewUnit(SpecOf(1).key)->is_bubble_open);
  OpenBubble(1, 10);
  (*task_)->unit_start_ns.store(static_cast<uint64_t>(AtMs(11).ns()));
  std::optional<UnitView> unit = state_->ViewUnit(SpecOf(1).key);
  ASSERT_TRUE(unit.has_value());
  EXPECT_TRUE(unit->has_main_job);
  EXPECT_TRUE(unit->is_in_its_bubble);
  OpenBubble(2, 10);
  unit = state_->ViewUnit(SpecOf(1).key);
  EXPECT_FALSE(unit->is_in_its_bubble);
  EXPECT_FALSE(unit->is_bubble_open);
  // The next bubble is not the one it started in.
  OpenBubble(3, 20);
  unit = state_->ViewUnit(SpecOf(1).key);
  EXPECT_FALSE(unit->is_in_its_bubble);
  EXPECT_TRUE(unit->is_bubble_open);
  state_->OnConnectionEnded(1, AtMs(30));
  EXPECT_FALSE(state_->ViewUnit(SpecOf(1).key)->has_main_job);
}

TEST_F(DeviceStateTest, TaskWithoutAGateHasNothingToView) {
  state_->AddTask(SpecOf(1), 4712, AtMs(0));
  EXPECT_EQ(state_->ViewUnit(SpecOf(1).key), std::nullopt);
}

TEST_F(DeviceStateTest, ProgressGoesOnFromWhatAnAgentBeforeHasCounted) {
  state_->AddTask(SpecOf(1), 4712, AtMs(0));
  v1::FillProgress before;
  before.set_units(100);
  before.set_overstays(2);
  before.set_memory_peak_bytes(7);
  state_->SetProgressBefore(SpecOf(1).key, before);
  AttachTask(2, 1);
  UnitRecord unit = {.start_ns = static_cast<uint64_t>(AtMs(2).ns()),
                     .end_ns = static_cast<uint64_t>(AtMs(4).ns()),
                     .cpu_ns = 2 * kMs};
  uint64_t words[kUnitWords];
  PackUnit(unit, words);
  (*task_)->units.Push(words);
  state_->Drain(AtMs(10));

  const v1::FillProgress progress =
      state_->ProgressOf(SpecOf(1).key, {.memory_peak_bytes = 5, .overstays = 1, .freezes = 1});
  EXPECT_EQ(progress.units(), 101);
  EXPECT_EQ(progress.units_overrun(), 1);  // no bubble began when it says
  EXPECT_EQ(progress.overstays(), 3);
  EXPECT_EQ(progress.freezes(), 1);
  EXPECT_EQ(progress.memory_peak_bytes(), 7);
}

TEST_F(DeviceStateTest, UnitsOfATaskAreSplitAndReportedAtItsEnd) {
  AttachRank(1);
  AttachTask(2, 1);
  MakeBubbles(1);
  const UnitRecord unit = {.start_ns = static_cast<uint64_t>(AtMs(2).ns()),
                           .end_ns = static_cast<uint64_t>(AtMs(4).ns()),
                           .cpu_ns = 2 * kMs,
                           .bubble_begin_ns = static_cast<uint64_t>(AtMs(0).ns()),
                           .iteration = 1,
                           .seq = 1,
                           .seq_after = 1,
                           .generation = (*window_)->signal_generation.load()};
  uint64_t words[kUnitWords];
  PackUnit(unit, words);
  (*task_)->units.Push(words);
  (*task_)->bubbles_denied.store(3);
  const v1::FillProgress progress =
      state_->RemoveTask(SpecOf(1).key, {.cause = EndCause::kExited},
                         {.memory_peak_bytes = 10, .cpu = absl::Milliseconds(5)}, AtMs(20));
  EXPECT_EQ(progress.units(), 1);
  EXPECT_EQ(progress.unit_cpu_ns(), 2'000'000);
  EXPECT_EQ(progress.unit_cpu_in_bubble_ns(), 2'000'000);
  EXPECT_EQ(progress.bubbles_denied(), 3);
  EXPECT_EQ(progress.memory_peak_bytes(), 10);
  EXPECT_EQ(progress.task_cpu_ns(), 5'000'000);
  EXPECT_EQ(state_->GateOf(SpecOf(1).key), 0u);
}

TEST_F(DeviceStateTest, ReportsWhatIsFreeBesideTheCaps) {
  const v1::Device alone = state_->Report(ProcessTable(), 0, 0);
  EXPECT_EQ(alone.memory_free_bytes(), 4 * kGiB);
  EXPECT_FALSE(alone.has_main_rank());
  EXPECT_EQ(alone.resident_limit(), 2);
  AttachRank(1);
  const v1::Device filled = state_->Report(ProcessTable(), 3 * kGiB, 2);
  EXPECT_EQ(filled.memory_free_bytes(), kGiB);
  EXPECT_EQ(filled.resident(), 2);
  EXPECT_EQ(filled.main_rank().main_job(), "gpt");
  EXPECT_EQ(filled.main_rank().pid(), 4711);
  EXPECT_EQ(state_->Report(ProcessTable(), 9 * kGiB, 2).memory_free_bytes(), 0);
}

class StandstillTest : public DeviceStateTest {
 protected:
  static constexpr pid_t kRankPid = 4711;

  void SetUp() override {
    DeviceStateTest::SetUp();
    AttachRank(1);
    AttachTask(2, 1);
    (*signal_)->bubble_names[0].store(PackBubbleName(BubbleClass::kMiddle, 0));
    // Iterations of 10 ms with a bubble of 4 each, from 0 on.
    for (uint32_t i = 0; i < 20; ++i) {
      PushEdge(EdgeKind::kIterationBegin, 2 * i, 10 * i, i);
      PushEdge(EdgeKind::kBubbleBegin, 2 * i + 1, 10 * i, i);
      PushEdge(EdgeKind::kBubbleEnd, 2 * i + 2, 10 * i + 4, i);
      PushEdge(EdgeKind::kIterationEnd, 2 * i + 2, 10 * i + 9, i);
    }
    (*signal_)->seq.store(40);
    state_->Drain(AtMs(200));
  }
  // Looks once a second from `from_s` to `to_s`; the rank used `cpu_share` of a core.
  void Look(int from_s, int to_s, double cpu_share) {
    for (int second = from_s; second <= to_s; ++second) {
      cpu_ += absl::Seconds(cpu_share);
      ProcessTable processes;
      ProcessStat rank;
      rank.pid = kRankPid;
      rank.cpu = cpu_;
      processes.Add(rank);
      state_->CheckStall(AtMs(1'000 * second), processes);
    }
  }
  void PushUnit(int64_t bubble_begin_ms, int64_t start_ms, int64_t cpu_ms) {
    const auto at = [](int64_t ms) { return static_cast<uint64_t>(AtMs(ms).ns()); };
    const UnitRecord unit = {.start_ns = at(start_ms),
                             .end_ns = at(start_ms + cpu_ms),
                             .cpu_ns = static_cast<uint64_t>(cpu_ms) * kMs,
                             .bubble_begin_ns = at(bubble_begin_ms),
                             .seq = 40,
                             .seq_after = 40,
                             .slot = kFailureSlot,
                             .generation = (*window_)->signal_generation.load()};
    uint64_t words[kUnitWords];
    PackUnit(unit, words);
    (*task_)->units.Push(words);
  }
  bool is_open() const { return (*window_)->failure_begin_ns.load() != 0; }

  absl::Duration cpu_;
};

TEST_F(StandstillTest, OpensAFailureBubbleAtTheSignalWordWhereTheRankStands) {
  Look(1, 5, 0.0);
  EXPECT_FALSE(is_open());
  Look(6, 6, 0.0);
  EXPECT_TRUE(state_->has_failure());
  EXPECT_EQ((*window_)->failure_begin_ns.load(), static_cast<uint64_t>(AtMs(6'000).ns()));
  EXPECT_EQ((*window_)->failure_seq.load(), 40u);
  EXPECT_EQ((*window_)->failure_unit_max_ns.load(), 20 * kMs);
}

TEST_F(StandstillTest, NextEdgeClosesIt) {
  Look(1, 6, 0.0);
  ASSERT_TRUE(is_open());
  PushEdge(EdgeKind::kIterationBegin, 40, 7'500, 20);
  state_->Drain(AtMs(7'510));
  EXPECT_FALSE(is_open());
  EXPECT_FALSE(state_->has_failure());
}

TEST_F(StandstillTest, WorkWithoutEdgesIsNoFailureAndEndsOne) {
  Look(1, 30, 0.5);
  EXPECT_FALSE(is_open());
  Look(31, 31, 0.0);
  EXPECT_TRUE(is_open());
  Look(32, 32, 0.5);
  EXPECT_FALSE(is_open());
}

TEST_F(StandstillTest, IsReportedAsABubbleOfItsOwn) {
  Look(1, 6, 0.0);
  PushUnit(6'000, 6'100, 10);
  PushUnit(6'000, 7'490, 20);
  PushEdge(EdgeKind::kIterationBegin, 40, 7'500, 20);
  state_->Drain(AtMs(7'600));
  const std::vector<v1::BubbleStats> bubbles = state_->ReportBubbles();
  ASSERT_THAT(bubbles, SizeIs(2));
  EXPECT_EQ(bubbles[1].bubble_class(), v1::BUBBLE_CLASS_FAILURE);
  EXPECT_EQ(bubbles[1].count(), 1);
  EXPECT_EQ(bubbles[1].bubble_ns(), 1'500'000'000);
  EXPECT_EQ(bubbles[1].filled_ns(), 20'000'000);
  EXPECT_EQ(bubbles[1].overrun_ns(), 10'000'000);
}

TEST_F(StandstillTest, TeachesThePredictorNothing) {
  PushEdge(EdgeKind::kIterationBegin, 40, 200, 20);
  PushEdge(EdgeKind::kBubbleBegin, 41, 200, 20);
  (*signal_)->seq.store(41);
  Look(1, 6, 0.0);
  ASSERT_TRUE(is_open());
  PushEdge(EdgeKind::kBubbleEnd, 42, 9'000, 20);
  PushEdge(EdgeKind::kIterationEnd, 42, 9'010, 20);
  state_->Drain(AtMs(9'010));
  const v1::BubbleStats bubble = state_->ReportBubbles()[0];
  EXPECT_EQ(bubble.p90_ns(), 4'000'000);
  EXPECT_LT(bubble.bubble_ns(), 6'000'000'000);
}

TEST_F(StandstillTest, ItsUnitsAreInTheirBubbleForTheWatchdog) {
  Look(1, 6, 0.0);
  (*task_)->unit_start_ns.store(static_cast<uint64_t>(AtMs(6'100).ns()));
  EXPECT_TRUE(state_->ViewUnit(SpecOf(1).key)->is_in_its_bubble);
  (*signal_)->seq.store(41);
  (*signal_)->seq.store(42);
  EXPECT_FALSE(state_->ViewUnit(SpecOf(1).key)->is_in_its_bubble);
}

TEST_F(StandstillTest, RankInModeOffIsNotTakenForOneThatStands) {
  (*signal_)->seq.store(41);  // in a bubble, where silence alone is evidence
  Set({.main_job = "gpt", .mode = FillMode::kOff});
  state_->OnSettingsChanged(AtMs(300));
  Look(1, 30, 0.5);
  EXPECT_FALSE(is_open());
  // Back on, it has been silent since then only.
  Set({.main_job = "gpt", .mode = std::nullopt});
  state_->OnSettingsChanged(AtMs(30'500));
  Look(31, 35, 0.5);
  EXPECT_FALSE(is_open());
  Look(36, 36, 0.5);
  EXPECT_TRUE(is_open());
}

TEST_F(StandstillTest, EndsWhenTheModeIsSetToOff) {
  Look(1, 6, 0.0);
  ASSERT_TRUE(is_open());
  Set({.main_job = "gpt", .mode = FillMode::kOff});
  state_->OnSettingsChanged(AtMs(6'500));
  EXPECT_FALSE(is_open());
  EXPECT_FALSE(state_->has_failure());
}

TEST_F(StandstillTest, EndsWhenTheRankLeaves) {
  Look(1, 6, 0.0);
  state_->OnConnectionEnded(1, AtMs(7'000));
  EXPECT_FALSE(is_open());
  EXPECT_FALSE(state_->has_failure());
}

}  // namespace
}  // namespace pipefill
