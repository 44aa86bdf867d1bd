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
