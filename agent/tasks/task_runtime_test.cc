// Tasks that run for longer than they may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "agent/tasks/task_machine.h"
#include "agent/tasks/task_supervisor.h"
#include "agent/testing/supervisor_fixture.h"

namespace pipefill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Instant AtSecond(int64_t second) { return Instant::FromNs(second * 1'000'000'000); }

TaskMachine StartedMachine() {
  TaskMachine machine({.runtime_max = absl::Hours(2), .runtime_grace = absl::Seconds(5)});
  machine.OnStarted();
  return machine;
}

TEST(TaskMachineRuntimeTest, TaskGoesOnUntilItsLimitAndIsTerminatedThere) {
  TaskMachine machine = StartedMachine();
  EXPECT_THAT(machine.OnRuntimeSeen(absl::Hours(2) - absl::Nanoseconds(1), AtSecond(0)), IsEmpty());
  EXPECT_THAT(machine.OnRuntimeSeen(absl::Hours(2), AtSecond(1)),
              ElementsAre(TaskAction::kTerminate));
  EXPECT_EQ(machine.phase(), TaskPhase::kStopping);
  EXPECT_THAT(machine.OnRuntimeSeen(absl::Hours(3), AtSecond(2)), IsEmpty());
  EXPECT_THAT(machine.OnTick(AtSecond(5)), IsEmpty());
  EXPECT_THAT(machine.OnTick(AtSecond(6)), ElementsAre(TaskAction::kKill));
}

TEST(TaskMachineRuntimeTest, EndSaysTheLimitAndHowLongItRan) {
  TaskMachine machine = StartedMachine();
  machine.OnRuntimeSeen(absl::Hours(2) + absl::Minutes(1), AtSecond(0));
  EXPECT_THAT(machine.OnExited({.signal = SIGTERM}), ElementsAre(TaskAction::kReportEnded));
  EXPECT_EQ(machine.end().cause, EndCause::kMaxRuntime);
  EXPECT_EQ(machine.end().signal, SIGTERM);
  EXPECT_EQ(machine.end().text, "max_runtime (limit 2h0m, ran 2h1m)");
}

TEST(TaskMachineRuntimeTest, AttachedTaskIsNotAskedToSave) {
  TaskMachine machine = StartedMachine();
  machine.OnAttached();
  EXPECT_THAT(machine.OnRuntimeSeen(absl::Hours(2), AtSecond(0)),
              ElementsAre(TaskAction::kTerminate));
}

TEST(TaskMachineRuntimeTest, FrozenTaskIsThawedToEnd) {
  TaskMachine machine({.start_cpu_max = absl::Seconds(1), .runtime_max = absl::Hours(2)});
  machine.OnStarted();
  machine.OnUnitSeen({.task_cpu = absl::ZeroDuration()}, AtSecond(0));
  machine.OnUnitSeen({.task_cpu = absl::Seconds(1)}, AtSecond(1));
  ASSERT_EQ(machine.phase(), TaskPhase::kFrozen);
  EXPECT_THAT(machine.OnRuntimeSeen(absl::Hours(2), AtSecond(2)),
              ElementsAre(TaskAction::kThaw, TaskAction::kTerminate));
}

TEST(TaskMachineRuntimeTest, StopThatWasAskedForBeforeStaysTheCause) {
  TaskMachine machine = StartedMachine();
  machine.OnStopRequested(
      {.cause = EndCause::kCancelled, .grace = absl::Seconds(60), .text = "cancelled"},
      AtSecond(0));
  EXPECT_THAT(machine.OnRuntimeSeen(absl::Hours(2), AtSecond(1)), IsEmpty());
  machine.OnExited({});
  EXPECT_EQ(machine.end().cause, EndCause::kCancelled);
}

TEST(TaskMachineRuntimeTest, WithoutALimitTasksRunForEver) {
  TaskMachine machine({});
  machine.OnStarted();
  EXPECT_THAT(machine.OnRuntimeSeen(absl::Hours(24 * 365 * 100), AtSecond(0)), IsEmpty());
}

class TaskRuntimeTest : public InheritTest {};

TEST_F(TaskRuntimeTest, TaskThatRunsForTooLongIsTerminated) {
  AttemptSpec spec = SpecFor({"sleep", "60"});
  spec.max_runtime = absl::Milliseconds(100);
  Launch(spec);
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kMaxRuntime);
  EXPECT_EQ(listener_.end->signal, SIGTERM);
  EXPECT_THAT(listener_.end->text, StartsWith("max_runtime (limit 100 ms, ran "));
}

TEST_F(TaskRuntimeTest, TimeUnderTheAgentdBeforeCounts) {
  AttemptSpec spec = SpecFor({"sh", "-c", "echo ready; exec sleep 60"});
  spec.max_runtime = absl::Hours(1);
  LaunchBefore(spec);
  KillAgentd();
  // As if it had been launched an hour ago.
  std::vector<AttemptRecord> records = folders_->ReadRecords();
  ASSERT_EQ(records.size(), 1u);
  ASSERT_EQ(records[0].max_runtime_ns, absl::ToInt64Nanoseconds(absl::Hours(1)));
  records[0].launched_ns -= records[0].max_runtime_ns;
  ASSERT_TRUE(folders_->WriteRecord(records[0]).ok());
  EXPECT_THAT(Inherit(), IsEmpty());
  ASSERT_TRUE(WaitForEnd());
  EXPECT_EQ(listener_.end->cause, EndCause::kMaxRuntime);
}

// It ignores SIGTERM, and its job is given up meanwhile: another attempt may work elsewhere.
TEST(TaskMachineRuntimeTest, StopOfATaskWhoseTimeIsOverAsksItToo) {
  TaskMachine machine({.memory_bytes = 1, .runtime_max = absl::Hours(2)});
  machine.OnStarted();
  machine.OnAttached();
  EXPECT_THAT(machine.OnRuntimeSeen(absl::Hours(2), AtSecond(0)),
              ElementsAre(TaskAction::kTerminate));
  const StopRequest lost = {
      .cause = EndCause::kLost, .grace = absl::Seconds(5), .text = "given up"};
  EXPECT_THAT(machine.OnStopRequested(lost, AtSecond(1)), ElementsAre(TaskAction::kAskToStop));
  EXPECT_THAT(machine.OnStopRequested(lost, AtSecond(1)), IsEmpty());
}

TEST(TaskMachineRuntimeTest, TaskThatGetsItsPageWhileItIsStoppedIsAsked) {
  TaskMachine machine({.memory_bytes = 1});
  machine.OnStarted();
  EXPECT_THAT(machine.OnStopRequested({.grace = absl::Seconds(5)}, AtSecond(0)),
              ElementsAre(TaskAction::kTerminate));
  EXPECT_THAT(machine.OnAttached(), ElementsAre(TaskAction::kAskToStop));
  EXPECT_EQ(machine.phase(), TaskPhase::kStopping);
}

// It may start a unit before agentd hears that it holds them.
TEST(TaskMachineRuntimeTest, TaskThatIsAboutToHoldItsPagesIsAskedToo) {
  TaskMachine machine({.memory_bytes = 1});
  machine.OnStarted();
  machine.OnPageGranted();
  EXPECT_THAT(machine.OnStopRequested({.grace = absl::Seconds(5)}, AtSecond(0)),
              ElementsAre(TaskAction::kAskToStop, TaskAction::kTerminate));
  EXPECT_THAT(machine.OnAttached(), IsEmpty());
}

}  // namespace
}  // namespace pipefill
