#include "agent/device_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/testing/device_fixture.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

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

TEST_F(DeviceStateTest, ReportsFromWhenOnUnitsStartInBubblesOfTwoKinds) {
  AttachRank(1);
  (*signal_)->bubble_names[0].store(PackBubbleName(BubbleClass::kScattered, 0));
  for (uint32_t i = 0; i < 40; ++i) {
    PushEdge(EdgeKind::kBubbleBegin, 2 * i + 1, 20 * int64_t{i});
    PushEdge(EdgeKind::kBubbleEnd, 2 * i + 2, 20 * int64_t{i} + (i % 2 == 0 ? 1 : 15));
  }
  state_->Drain(AtMs(900));
  const std::vector<v1::BubbleStats> bubbles = state_->ReportBubbles();
  ASSERT_THAT(bubbles, SizeIs(1));
  EXPECT_GT(bubbles[0].earliest_start_ns(), 1'000'000);
  EXPECT_EQ(bubbles[0].earliest_start_ns(), (*window_)->entries[0].earliest_start_ns.load());
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

TEST_F(DeviceStateTest, TaskWithoutAGateHasNoUnitToView) {
  state_->AddTask(SpecOf(1), 4712, AtMs(0));
  const std::optional<UnitView> view = state_->ViewUnit(SpecOf(1).key);
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(view->start, std::nullopt);
  EXPECT_EQ(view->units_done, 0);
  EXPECT_EQ(state_->ViewUnit(SpecOf(2).key), std::nullopt);
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
  (*task_)->pieces_done.store(12);
  const v1::FillProgress progress =
      state_->RemoveTask(SpecOf(1).key, {.cause = EndCause::kExited},
                         {.memory_peak_bytes = 10, .cpu = absl::Milliseconds(5)}, AtMs(20));
  EXPECT_EQ(progress.units(), 1);
  EXPECT_EQ(progress.unit_cpu_ns(), 2'000'000);
  EXPECT_EQ(progress.unit_cpu_in_bubble_ns(), 2'000'000);
  EXPECT_EQ(progress.bubbles_denied(), 3);
  EXPECT_EQ(progress.pieces(), 12);
  EXPECT_EQ(progress.memory_peak_bytes(), 10);
  EXPECT_EQ(progress.task_cpu_ns(), 5'000'000);
  EXPECT_EQ(state_->GateOf(SpecOf(1).key), 0u);
}

TEST_F(DeviceStateTest, MemoryOfABubbleIsWhatTheRankSaysAndNoMoreThanTheDeviceHas) {
  AttachRank(1);
  const auto report_after = [&](uint32_t first, uint64_t free_bytes) {
    (*signal_)->bubble_names[0].store(PackBubbleName(BubbleClass::kMiddle, 0));
    for (uint32_t i = first; i < first + 70; ++i) {
      PushEdge(EdgeKind::kBubbleBegin, 2 * i + 1, 10 * i);
      const EdgeEvent hint = {.kind = EdgeKind::kMemoryHint,
                              .slot = kNoSlot,
                              .time_ns = static_cast<uint64_t>(AtMs(10 * i + 1).ns()),
                              .iteration = 1,
                              .value = free_bytes};
      uint64_t words[kEdgeWords];
      PackEdge(hint, words);
      (*signal_)->events.Push(words);
      PushEdge(EdgeKind::kBubbleEnd, 2 * i + 2, 10 * i + 8);
    }
    state_->Drain(AtMs(10 * (first + 70)));
    return state_->ReportBubbles().at(0).memory_free_bytes();
  };
  EXPECT_EQ(report_after(0, 16 * kGiB), 4 * kGiB);
  const int64_t of_one = report_after(70, kGiB);
  EXPECT_LT(of_one, kGiB);
  EXPECT_GT(of_one, kGiB / 2);
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

}  // namespace
}  // namespace pipefill
