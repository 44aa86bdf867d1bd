// The turns of the tasks of one device, as its state hands them out and watches them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/device_state.h"
#include "agent/testing/device_fixture.h"

namespace pipefill {
namespace {

constexpr int kWritable = PROT_READ | PROT_WRITE;

using DeviceTurnsTest = DeviceStateTest;

TEST_F(DeviceTurnsTest, TasksOfADeviceShareItsTurnPage) {
  const PageGrant first = AttachTask(1, 1);
  const PageGrant second = AttachTask(2, 2);
  EXPECT_EQ(first.turn_seat, 0u);
  EXPECT_EQ(second.turn_seat, 1u);
  const Mapping<TurnPage> of_first(first.descriptors[2], kWritable);
  const Mapping<TurnPage> of_second(second.descriptors[2], kWritable);
  EXPECT_EQ(of_first->seats[1].policy_rank.load(), 2);
  of_first->holder.store(TakenWord(0, 0));
  EXPECT_EQ(HolderOf(of_second->holder.load()), 0u);

  state_->OnConnectionEnded(1, AtMs(1));
  EXPECT_TRUE(IsFree(of_second->holder.load()));
  EXPECT_EQ(of_second->taken.load(), 0b10u);
}

TEST_F(DeviceTurnsTest, TakesTheTurnOfATaskThatRunsNoUnitOrIsStopped) {
  // A process that is stopped, and one that is not there.
  const pid_t stopped = fork();
  if (stopped == 0) {
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(stopped, &status, WUNTRACED), stopped);
  AttachTask(1, 1);
  const PageGrant grant = AttachTask(2, 2, stopped);
  const Mapping<TurnPage> turns(grant.descriptors[2], kWritable);

  turns->holder.store(TakenWord(0, grant.turn_seat));
  (*task_)->unit_start_ns.store(static_cast<uint64_t>(AtMs(10).ns()));
  for (int64_t ms = 10; ms <= 60; ms += 10) state_->Drain(AtMs(ms));
  EXPECT_FALSE(IsFree(turns->holder.load()));
  for (int64_t ms = 70; ms <= 120; ms += 10) state_->Drain(AtMs(ms));
  EXPECT_TRUE(IsFree(turns->holder.load()));
  kill(stopped, SIGKILL);
  waitpid(stopped, &status, 0);

  turns->holder.store(TakenWord(turns->holder.load(), 0));
  for (int64_t ms = 200; ms <= 260; ms += 10) state_->Drain(AtMs(ms));
  EXPECT_TRUE(IsFree(turns->holder.load()));
}

// The last rung before a task is stopped.
TEST_F(DeviceTurnsTest, ClosesABubbleToTheTaskThatOutlivesItTimeAndAgain) {
  AttachRank(1);
  const PageGrant grant = AttachTask(2, 1);
  const Mapping<TurnPage> turns(grant.descriptors[2], kWritable);
  const TurnSeat& seat = turns->seats[grant.turn_seat];
  (*signal_)->bubble_names[0].store(PackBubbleName(BubbleClass::kMiddle, 0));
  const auto push_late_unit = [this](uint32_t place) {
    const int64_t begin_ms = 10 * place;
    const UnitRecord unit = {.start_ns = static_cast<uint64_t>(AtMs(begin_ms + 7).ns()),
                             .end_ns = static_cast<uint64_t>(AtMs(begin_ms + 12).ns()),
                             .cpu_ns = 5 * kMs,
                             .bubble_begin_ns = static_cast<uint64_t>(AtMs(begin_ms).ns()),
                             .iteration = 1,
                             .seq = 2 * place + 1,
                             .seq_after = 2 * place + 1,
                             .generation = (*window_)->signal_generation.load()};
    uint64_t words[kUnitWords];
    PackUnit(unit, words);
    (*task_)->units.Push(words);
  };
  uint32_t place = 0;
  const auto pass_bubbles = [&](int64_t count, bool is_late) {
    for (int64_t i = 0; i < count; ++i, ++place) {
      PushBubble(place, 10 * place);
      if (is_late) push_late_unit(place);
      state_->Drain(AtMs(10 * (place + 1)));
    }
  };
  pass_bubbles(32, false);  // learned
  pass_bubbles(kSkipUnits - 1, true);
  EXPECT_FALSE(IsClosedTo(seat, 0));
  pass_bubbles(1, true);
  EXPECT_TRUE(IsClosedTo(seat, 0));
  EXPECT_FALSE(IsClosedTo(seat, 1));
  pass_bubbles(kSkipBubbles - 1, false);
  EXPECT_TRUE(IsClosedTo(seat, 0));
  pass_bubbles(1, false);
  EXPECT_FALSE(IsClosedTo(seat, 0));
  EXPECT_EQ(state_->ProgressOf(SpecOf(1).key, {}).bubbles_skipped(), kSkipBubbles);

  pass_bubbles(kSkipUnits, true);
  ASSERT_TRUE(IsClosedTo(seat, 0));
  // Another rank gives other bubbles the slots.
  state_->OnConnectionEnded(1, AtMs(10 * place));
  EXPECT_FALSE(IsClosedTo(seat, 0));
  EXPECT_EQ(state_->ProgressOf(SpecOf(1).key, {}).bubbles_skipped(), kSkipBubbles);
}

TEST_F(DeviceTurnsTest, RefusesMoreGatesThanThereAreTurnSeats) {
  for (int64_t job = 1; job <= kSeats; ++job) AttachTask(static_cast<ConnectionId>(job), job);
  state_->AddTask(SpecOf(99), 1, AtMs(0));
  const AttachAnswer answer =
      state_->AttachTask({.connection = 99, .pid = 1, .uid = 0}, SpecOf(99).key);
  ASSERT_TRUE(std::holds_alternative<Refusal>(answer));
  EXPECT_EQ(std::get<Refusal>(answer).code, AttachCode::kBusy);
}

}  // namespace
}  // namespace pipefill
