#include "agent/tasks/task_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace pipefill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMemoryCap = 1000;

Instant AtMs(int64_t ms) { return Instant::FromNs(ms * 1'000'000); }

StopRequest Cancel(absl::Duration grace) {
  return {.cause = EndCause::kCancelled, .grace = grace, .text = "cancelled by the user"};
}

// A unit that started at 0 and whose bubble is over.
UnitView Overstaying(absl::Duration task_cpu) {
  return {.start = AtMs(0),
          .estimate = absl::Milliseconds(1),
          .is_in_its_bubble = false,
          .is_bubble_open = false,
          .task_cpu = task_cpu};
}

TaskMachine MachineIn(TaskPhase phase) {
  TaskMachine machine({.memory_bytes = kMemoryCap});
  if (phase == TaskPhase::kLaunching) return machine;
  machine.OnStarted();
  if (phase == TaskPhase::kUnattached) return machine;
  if (phase == TaskPhase::kEnded) {
    machine.OnExited({});
    return machine;
  }
  machine.OnAttached();
  if (phase == TaskPhase::kFrozen) {
    machine.OnUnitSeen(Overstaying(absl::ZeroDuration()), AtMs(0));
    machine.OnUnitSeen(Overstaying(absl::Seconds(2)), AtMs(0));
  }
  if (phase == TaskPhase::kStopping) machine.OnStopRequested(Cancel(absl::Seconds(4)), AtMs(0));
  EXPECT_EQ(machine.phase(), phase);
  return machine;
}

// Every event in every state: one row of six cells, in the order of TaskPhase.
struct Cell {
  TaskActions actions;
  TaskPhase phase;
};

struct Row {
  std::string event;
  TaskActions (*apply)(TaskMachine&);
  std::vector<Cell> cells;
};

constexpr TaskPhase kAllPhases[] = {TaskPhase::kLaunching, TaskPhase::kUnattached,
                                    TaskPhase::kAttached,  TaskPhase::kFrozen,
                                    TaskPhase::kStopping,  TaskPhase::kEnded};

// What the process and its gate do.
std::vector<Row> TaskRows() {
  using A = TaskAction;
  using S = TaskPhase;
  return {
      {"started",
       [](TaskMachine& machine) { return machine.OnStarted(); },
       {{{A::kReportStarted}, S::kUnattached},
        {{}, S::kUnattached},
        {{}, S::kAttached},
        {{}, S::kFrozen},
        {{}, S::kStopping},
        {{}, S::kEnded}}},
      {"launch failed",
       [](TaskMachine& machine) { return machine.OnLaunchFailed("command not found: x"); },
       {{{A::kReportEnded}, S::kEnded},
        {{}, S::kUnattached},
        {{}, S::kAttached},
        {{}, S::kFrozen},
        {{A::kReportEnded}, S::kEnded},
        {{}, S::kEnded}}},
      {"attached",
       [](TaskMachine& machine) { return machine.OnAttached(); },
       {{{A::kReportStarted}, S::kAttached},
        {{}, S::kAttached},
        {{}, S::kAttached},
        {{}, S::kFrozen},
        {{}, S::kStopping},
        {{}, S::kEnded}}},
      {"detached",
       [](TaskMachine& machine) { return machine.OnDetached(); },
       {{{}, S::kLaunching},
        {{}, S::kUnattached},
        {{}, S::kUnattached},
        {{}, S::kFrozen},
        {{}, S::kStopping},
        {{}, S::kEnded}}},
  };
}

// What is done to it.
std::vector<Row> StopRows() {
  using A = TaskAction;
  using S = TaskPhase;
  return {
      {"stop requested",
       [](TaskMachine& machine) {
         return machine.OnStopRequested(Cancel(absl::Seconds(4)), AtMs(0));
       },
       {{{A::kKill}, S::kStopping},
        {{A::kTerminate}, S::kStopping},
        {{A::kAskToStop}, S::kStopping},
        {{A::kThaw, A::kAskToStop}, S::kStopping},
        {{}, S::kStopping},
        {{}, S::kEnded}}},
      {"over the memory cap",
       [](TaskMachine& machine) { return machine.OnMemoryUsed(kMemoryCap + 1, AtMs(0)); },
       {{{}, S::kLaunching},
        {{A::kKill}, S::kStopping},
        {{A::kKill}, S::kStopping},
        {{A::kKill}, S::kStopping},
        {{A::kKill}, S::kStopping},
        {{}, S::kEnded}}},
      {"two seconds of CPU outside bubbles",
       [](TaskMachine& machine) {
         machine.OnUnitSeen(Overstaying(absl::ZeroDuration()), AtMs(0));
         return machine.OnUnitSeen(Overstaying(absl::Seconds(2)), AtMs(0));
       },
       {{{}, S::kLaunching},
        {{A::kFreeze}, S::kFrozen},
        {{A::kFreeze}, S::kFrozen},
        {{}, S::kFrozen},
        {{}, S::kStopping},
        {{}, S::kEnded}}},
      {"eleven seconds later",
       [](TaskMachine& machine) { return machine.OnTick(AtMs(11'000)); },
       {{{}, S::kLaunching},
        {{}, S::kUnattached},
        {{}, S::kAttached},
        {{A::kKill}, S::kStopping},
        {{A::kKill}, S::kStopping},
        {{}, S::kEnded}}},
      {"exited",
       [](TaskMachine& machine) { return machine.OnExited({.exit_code = 3}); },
       {{{A::kReportEnded}, S::kEnded},
        {{A::kReportEnded}, S::kEnded},
        {{A::kReportEnded}, S::kEnded},
        {{A::kReportEnded}, S::kEnded},
        {{A::kReportEnded}, S::kEnded},
        {{}, S::kEnded}}},
  };
}

TEST(TaskMachineTest, EveryEventInEveryStateFollowsTheDrawing) {
  std::vector<Row> rows = TaskRows();
  for (const Row& row : StopRows()) rows.push_back(row);
  for (const Row& row : rows) {
    ASSERT_EQ(row.cells.size(), std::size(kAllPhases));
    for (size_t i = 0; i < std::size(kAllPhases); ++i) {
      SCOPED_TRACE(row.event + " in state " + std::to_string(i));
      TaskMachine machine = MachineIn(kAllPhases[i]);
      EXPECT_EQ(row.apply(machine), row.cells[i].actions);
      EXPECT_EQ(machine.phase(), row.cells[i].phase);
    }
  }
}

TEST(TaskMachineTest, AsksThenTerminatesThenKillsAttachedTask) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  EXPECT_THAT(machine.OnStopRequested(Cancel(absl::Seconds(4)), AtMs(0)),
              ElementsAre(TaskAction::kAskToStop));
  EXPECT_EQ(machine.next_tick(), AtMs(2000));
  EXPECT_THAT(machine.OnTick(AtMs(1999)), IsEmpty());
  EXPECT_THAT(machine.OnTick(AtMs(2000)), ElementsAre(TaskAction::kTerminate));
  EXPECT_THAT(machine.OnTick(AtMs(3999)), IsEmpty());
  EXPECT_THAT(machine.OnTick(AtMs(4000)), ElementsAre(TaskAction::kKill));
}

TEST(TaskMachineTest, KillsAgainEverySecondUntilTheProcessIsGone) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  machine.OnStopRequested(Cancel(absl::ZeroDuration()), AtMs(0));
  EXPECT_THAT(machine.OnTick(AtMs(0)), ElementsAre(TaskAction::kKill));
  EXPECT_THAT(machine.OnTick(AtMs(999)), IsEmpty());
  EXPECT_THAT(machine.OnTick(AtMs(1000)), ElementsAre(TaskAction::kKill));
}

TEST(TaskMachineTest, LaterStopRequestOnlyShortensTheGrace) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  machine.OnStopRequested(Cancel(absl::Seconds(10)), AtMs(0));
  machine.OnStopRequested({.cause = EndCause::kLost, .grace = absl::Seconds(1)}, AtMs(0));
  machine.OnStopRequested(Cancel(absl::Seconds(60)), AtMs(0));
  EXPECT_THAT(machine.OnTick(AtMs(1000)), ElementsAre(TaskAction::kKill));
  machine.OnExited({.signal = 9});
  EXPECT_EQ(machine.end().cause, EndCause::kCancelled);
}

TEST(TaskMachineTest, ReportsExitCodeAndForeignSignalOfUnaskedEnd) {
  TaskMachine exited = MachineIn(TaskPhase::kUnattached);
  exited.OnExited({.exit_code = 3});
  EXPECT_EQ(exited.end().cause, EndCause::kExited);
  EXPECT_EQ(exited.end().exit_code, 3);

  TaskMachine signalled = MachineIn(TaskPhase::kAttached);
  signalled.OnExited({.signal = 11});
  EXPECT_EQ(signalled.end().cause, EndCause::kSignalled);
  EXPECT_EQ(signalled.end().signal, 11);
}

TEST(TaskMachineTest, ReportsStopCauseEvenIfTheTaskLeftWithZero) {
  TaskMachine machine = MachineIn(TaskPhase::kStopping);
  machine.OnExited({.exit_code = 0});
  EXPECT_EQ(machine.end().cause, EndCause::kCancelled);
  EXPECT_EQ(machine.end().text, "cancelled by the user");
}

TEST(TaskMachineTest, AllowsMemoryUpToTheCapAndNamesBothNumbersAbove) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  EXPECT_THAT(machine.OnMemoryUsed(kMemoryCap, AtMs(0)), IsEmpty());
  machine.OnMemoryUsed(kMemoryCap + 24, AtMs(0));
  machine.OnExited({.signal = 9});
  EXPECT_EQ(machine.end().cause, EndCause::kOutOfMemory);
  EXPECT_EQ(machine.end().text, "out_of_memory (cap 1000 B, peak 1 KiB)");
}

TEST(TaskMachineTest, LogThatEndsEarlyIsToldWithTheEnd) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  machine.OnExited({.exit_code = 3, .log_error = "write: No space left on device"});
  EXPECT_EQ(machine.end().text, "exit code 3; its log ends early: write: No space left on device");
}

TEST(TaskMachineTest, RefusedProcessesAreToldWithTheEnd) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  machine.OnProcessesDenied(12);
  machine.OnExited({.exit_code = 1});
  EXPECT_EQ(
      machine.end().text,
      "exit code 1; 12 more processes were refused to it, its limit is 4096 (processes_max of "
      "agentd)");
}

TEST(TaskMachineTest, KillByAStrangerSaysWhoItMayHaveBeen) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  machine.OnExited({.signal = 9});
  EXPECT_EQ(machine.end().text,
            "ended by signal 9, which agentd did not send: a person did, or the kernel because the "
            "node ran out of memory");
}

TEST(TaskMachineTest, KillOfTheKernelEndsTheWholeTaskForItsMemory) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  EXPECT_THAT(machine.OnMemoryKilled(kMemoryCap, AtMs(0)), ElementsAre(TaskAction::kKill));
  // The leader may have survived and end by itself meanwhile.
  machine.OnExited({.exit_code = 0});
  EXPECT_EQ(machine.end().cause, EndCause::kOutOfMemory);
  EXPECT_EQ(machine.end().text, "out_of_memory (cap 1000 B, peak 1000 B)");
}

TEST(TaskMachineTest, AllowsProcessesUpToTheLimitAndKillsAboveWithBothNumbers) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  EXPECT_THAT(machine.OnProcessesSeen(4096, AtMs(0)), IsEmpty());
  EXPECT_THAT(machine.OnProcessesSeen(4097, AtMs(0)), ElementsAre(TaskAction::kKill));
  machine.OnExited({.signal = 9});
  EXPECT_EQ(machine.end().cause, EndCause::kSignalled);
  EXPECT_THAT(machine.end().text, HasSubstr("4097 processes"));
  EXPECT_THAT(machine.end().text, HasSubstr("its limit is 4096"));
}

TEST(TaskMachineTest, StoppingTaskThatGrowsOverTheCapIsKilledOnce) {
  TaskMachine machine = MachineIn(TaskPhase::kStopping);
  EXPECT_THAT(machine.OnMemoryUsed(kMemoryCap + 1, AtMs(10)), ElementsAre(TaskAction::kKill));
  EXPECT_THAT(machine.OnTick(AtMs(11)), IsEmpty());
}

TEST(TaskMachineTest, CountsAnOverstayOncePerUnitAndOnlyAfterTheGrace) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  UnitView unit = Overstaying(absl::ZeroDuration());
  unit.estimate = absl::Milliseconds(10);  // grace: 2 x 10 ms
  machine.OnUnitSeen(unit, AtMs(100));
  unit.task_cpu = absl::Milliseconds(20);
  machine.OnUnitSeen(unit, AtMs(150));
  EXPECT_EQ(machine.overstays(), 0);
  unit.task_cpu = absl::Milliseconds(30);
  machine.OnUnitSeen(unit, AtMs(200));
  unit.task_cpu = absl::Milliseconds(60);
  machine.OnUnitSeen(unit, AtMs(300));
  EXPECT_EQ(machine.overstays(), 1);
  unit.start = AtMs(400);
  machine.OnUnitSeen(unit, AtMs(410));
  unit.task_cpu = absl::Milliseconds(90);
  machine.OnUnitSeen(unit, AtMs(440));
  EXPECT_EQ(machine.overstays(), 2);
}

TEST(TaskMachineTest, UnitThatOnlyWaitsForItsCoreAfterItsBubbleIsNoOverstay) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  for (int64_t ms = 0; ms < 10'000; ms += 50) machine.OnUnitSeen(Overstaying({}), AtMs(ms));
  EXPECT_EQ(machine.overstays(), 0);
}

TEST(TaskMachineTest, UnitInsideItsBubbleIsNeverAnOverstay) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  const UnitView unit = {.start = AtMs(0), .task_cpu = absl::Seconds(30)};
  machine.OnUnitSeen(unit, AtMs(0));
  EXPECT_THAT(machine.OnUnitSeen(unit, AtMs(30'000)), IsEmpty());
  EXPECT_EQ(machine.overstays(), 0);
}

TEST(TaskMachineTest, StarvedUnitIsNotFrozenHoweverLongItsBubbleIsOver) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  machine.OnUnitSeen(Overstaying(absl::Seconds(5)), AtMs(0));
  EXPECT_THAT(machine.OnUnitSeen(Overstaying(absl::Seconds(6)), AtMs(600'000)), IsEmpty());
  EXPECT_EQ(machine.phase(), TaskPhase::kAttached);
}

TEST(TaskMachineTest, CpuTimeInLaterBubblesDoesNotCountTowardsTheFreeze) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  machine.OnUnitSeen(Overstaying(absl::ZeroDuration()), AtMs(0));
  UnitView in_later_bubble = Overstaying(absl::Seconds(30));
  in_later_bubble.is_bubble_open = true;
  machine.OnUnitSeen(in_later_bubble, AtMs(30'000));
  EXPECT_THAT(machine.OnUnitSeen(Overstaying(absl::Seconds(31)), AtMs(31'000)), IsEmpty());
}

// Between two units, of which `units` are done.
UnitView Between(int64_t units, absl::Duration task_cpu) {
  return {.units_done = units, .is_bubble_open = false, .task_cpu = task_cpu};
}

TEST(TaskMachineTest, TaskThatSpinsBetweenUnitsIsFrozenThenKilledWithTheReason) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  machine.OnUnitSeen(Between(1, absl::ZeroDuration()), AtMs(0));
  EXPECT_THAT(machine.OnUnitSeen(Between(1, absl::Seconds(29)), AtMs(1)), IsEmpty());
  EXPECT_THAT(machine.OnUnitSeen(Between(1, absl::Seconds(30)), AtMs(2)),
              ElementsAre(TaskAction::kFreeze));
  EXPECT_EQ(machine.freezes(), 1);
  EXPECT_THAT(machine.OnTick(AtMs(10'002)), ElementsAre(TaskAction::kKill));
  machine.OnExited({.signal = 9});
  EXPECT_THAT(machine.end().text, HasSubstr("30 s of CPU time between two units"));
}

TEST(TaskMachineTest, EveryUnitStartsTheClockBetweenUnitsAgain) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  for (int64_t units = 1; units < 100; ++units) {
    // The CPU time of units that ran between two looks is in it too.
    EXPECT_THAT(machine.OnUnitSeen(Between(units, units * absl::Seconds(20)), AtMs(units)),
                IsEmpty());
  }
  EXPECT_EQ(machine.freezes(), 0);
}

TEST(TaskMachineTest, TaskThatNeverAsksForAUnitIsFrozenThenKilledWithTheReason) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  machine.OnUnitSeen(Between(0, absl::ZeroDuration()), AtMs(0));
  EXPECT_THAT(machine.OnUnitSeen(Between(0, absl::Seconds(1799)), AtMs(1)), IsEmpty());
  EXPECT_THAT(machine.OnUnitSeen(Between(0, absl::Minutes(30)), AtMs(2)),
              ElementsAre(TaskAction::kFreeze));
  EXPECT_THAT(machine.OnTick(AtMs(10'002)), ElementsAre(TaskAction::kKill));
  machine.OnExited({.signal = 9});
  EXPECT_EQ(
      machine.end().text,
      "the task used 30m0s of CPU time without asking for a unit and was killed; let it use the "
      "SDK, submit it with --process, or raise ladder.start_cpu_max of agentd");
}

TEST(TaskMachineTest, TimeBeforeTheFirstUnitIsBoundedInsideBubblesToo) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  UnitView in_bubble = Between(0, absl::ZeroDuration());
  in_bubble.is_bubble_open = true;
  machine.OnUnitSeen(in_bubble, AtMs(0));
  in_bubble.task_cpu = absl::Minutes(30);
  EXPECT_THAT(machine.OnUnitSeen(in_bubble, AtMs(1)), ElementsAre(TaskAction::kFreeze));
  machine.OnTick(AtMs(11'000));
  machine.OnExited({.signal = 9});
  EXPECT_THAT(machine.end().text, HasSubstr("30m0s of CPU time before its first unit"));
}

TEST(TaskMachineTest, TimeWithoutAMainJobOrUnderAnotherAgentdIsNotHeldAgainstATask) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  EXPECT_THAT(machine.OnUnitSeen(Between(0, absl::Minutes(10)), AtMs(0)), IsEmpty());
  UnitView alone = {.has_main_job = false, .task_cpu = absl::Minutes(20)};
  EXPECT_THAT(machine.OnUnitSeen(alone, AtMs(1)), IsEmpty());
  EXPECT_THAT(machine.OnUnitSeen(Between(0, absl::Minutes(24)), AtMs(2)), IsEmpty());
}

TEST(TaskMachineTest, TaskThatSpinsBetweenUnitsInsideBubblesIsLeftAlone) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  UnitView in_bubble = Between(1, absl::ZeroDuration());
  in_bubble.is_bubble_open = true;
  machine.OnUnitSeen(in_bubble, AtMs(0));
  in_bubble.task_cpu = absl::Minutes(10);
  EXPECT_THAT(machine.OnUnitSeen(in_bubble, AtMs(1)), IsEmpty());
}

// A unit that uses no CPU time although later bubbles would have let it end.
TEST(TaskMachineTest, UnitThatNeverEndsIsFrozenThenKilledWithTheReason) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  UnitView stuck = Overstaying(absl::ZeroDuration());
  stuck.is_bubble_open = true;
  int64_t ms = 0;
  TaskActions actions;
  for (; actions.empty() && ms < 100'000; ms += 50) actions = machine.OnUnitSeen(stuck, AtMs(ms));
  EXPECT_EQ(ms, 60'050);
  EXPECT_THAT(actions, ElementsAre(TaskAction::kFreeze));
  EXPECT_EQ(machine.overstays(), 0);
  EXPECT_EQ(machine.freezes(), 1);
  EXPECT_THAT(machine.OnTick(AtMs(ms + 10'000)), ElementsAre(TaskAction::kKill));
  machine.OnExited({.signal = 9});
  EXPECT_EQ(machine.end().cause, EndCause::kSignalled);
  EXPECT_THAT(machine.end().text, HasSubstr("a unit had not ended after 1m0s of later bubbles"));
}

TEST(TaskMachineTest, LongUnitHasAsManyLaterBubblesAsItsEstimateAsksFor) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  UnitView stuck = Overstaying(absl::ZeroDuration());
  stuck.is_bubble_open = true;
  stuck.estimate = absl::Seconds(10);
  for (int64_t ms = 0; ms < 190'000; ms += 50) {
    ASSERT_THAT(machine.OnUnitSeen(stuck, AtMs(ms)), IsEmpty());
  }
}

TEST(TaskMachineTest, TimeInWhichAgentdItselfStoodStillIsNotHeldAgainstAUnit) {
  TaskMachine machine = MachineIn(TaskPhase::kAttached);
  UnitView stuck = Overstaying(absl::ZeroDuration());
  stuck.is_bubble_open = true;
  machine.OnUnitSeen(stuck, AtMs(0));
  EXPECT_THAT(machine.OnUnitSeen(stuck, AtMs(600'000)), IsEmpty());
}

TEST(TaskMachineTest, TaskStoppedBySomebodyElseIsKilledWithTheReasonAfterAMinute) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  EXPECT_THAT(machine.OnStopSeen(true, AtMs(0)), IsEmpty());
  EXPECT_THAT(machine.OnStopSeen(true, AtMs(59'999)), IsEmpty());
  EXPECT_THAT(machine.OnStopSeen(true, AtMs(60'000)), ElementsAre(TaskAction::kFreeze));
  // It stays so also without a main job: nobody may wait for it for ever.
  EXPECT_THAT(machine.OnUnitSeen({.has_main_job = false}, AtMs(60'001)), IsEmpty());
  EXPECT_THAT(machine.OnTick(AtMs(70'000)), ElementsAre(TaskAction::kKill));
  machine.OnExited({.signal = 9});
  EXPECT_THAT(machine.end().text, HasSubstr("stopped (SIGSTOP) by somebody else"));
}

TEST(TaskMachineTest, TaskThatIsContinuedInTimeGoesOn) {
  TaskMachine machine = MachineIn(TaskPhase::kUnattached);
  machine.OnStopSeen(true, AtMs(0));
  machine.OnStopSeen(false, AtMs(59'000));
  machine.OnStopSeen(true, AtMs(59'500));
  EXPECT_THAT(machine.OnStopSeen(true, AtMs(100'000)), IsEmpty());
}

TEST(TaskMachineTest, EndThatNobodySawIsALossUnlessItWasAskedFor) {
  TaskMachine running = MachineIn(TaskPhase::kAttached);
  EXPECT_THAT(running.OnVanished(), ElementsAre(TaskAction::kReportEnded));
  EXPECT_EQ(running.end().cause, EndCause::kLost);

  TaskMachine stopping = MachineIn(TaskPhase::kStopping);
  EXPECT_EQ(stopping.stop()->cause, EndCause::kCancelled);
  stopping.OnVanished();
  EXPECT_EQ(stopping.end().cause, EndCause::kCancelled);
}

TEST(TaskMachineTest, FrozenTaskIsKilledWithTheReasonAfterTenSeconds) {
  TaskMachine machine = MachineIn(TaskPhase::kFrozen);
  EXPECT_EQ(machine.next_tick(), AtMs(10'000));
  EXPECT_THAT(machine.OnTick(AtMs(9'999)), IsEmpty());
  EXPECT_THAT(machine.OnTick(AtMs(10'000)), ElementsAre(TaskAction::kKill));
  machine.OnExited({.signal = 9});
  EXPECT_EQ(machine.end().cause, EndCause::kSignalled);
  EXPECT_EQ(machine.end().signal, 9);
  EXPECT_THAT(machine.end().text, HasSubstr("2 s of CPU time while no bubble was open"));
}

TEST(TaskMachineTest, FrozenTaskGoesOnWhenItsMainJobLeaves) {
  TaskMachine machine = MachineIn(TaskPhase::kFrozen);
  const UnitView alone = {.start = AtMs(0), .has_main_job = false, .task_cpu = absl::Seconds(2)};
  EXPECT_THAT(machine.OnUnitSeen(alone, AtMs(5)), ElementsAre(TaskAction::kThaw));
  EXPECT_EQ(machine.phase(), TaskPhase::kAttached);
  EXPECT_EQ(machine.next_tick(), std::nullopt);
}

TEST(TaskMachineTest, TaskThatLostItsPageWhileFrozenGoesOnWithoutOne) {
  TaskMachine machine = MachineIn(TaskPhase::kFrozen);
  machine.OnDetached();
  machine.OnUnitSeen({.has_main_job = false}, AtMs(5));
  EXPECT_EQ(machine.phase(), TaskPhase::kUnattached);
}

}  // namespace
}  // namespace pipefill
