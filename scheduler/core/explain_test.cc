#include "scheduler/core/explain.h"

#include <gtest/gtest.h>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

PendingReason Reason(PendingCode code) {
  PendingReason reason;
  reason.code = code;
  return reason;
}

TEST(ExplainReasonTest, BackOffSaysHowLong) {
  PendingReason reason = Reason(PendingCode::kBackOff);
  reason.not_before = AtSecond(5);
  EXPECT_EQ(ExplainReason(reason, AtSecond(3)),
            "the last attempt failed; the next one may start in 2 s");
  EXPECT_EQ(ExplainReason(reason, AtSecond(9)),
            "the last attempt failed; the next one may start in 0 s");
}

TEST(ExplainReasonTest, NoAgentSaysWhatToStart) {
  EXPECT_EQ(ExplainReason(Reason(PendingCode::kNoAgent), Instant()),
            "no agent is connected; start agentd with this schedulerd's address");
}

TEST(ExplainReasonTest, NoMainJobCountsDevices) {
  PendingReason reason = Reason(PendingCode::kNoMainJob);
  reason.numbers.devices = 2;
  EXPECT_EQ(ExplainReason(reason, Instant()),
            "none of 2 devices has a main job whose bubbles may be filled; starts when a training "
            "run attaches in mode fill");
  reason.numbers.devices_measured = 1;
  EXPECT_EQ(
      ExplainReason(reason, Instant()),
      "none of 2 devices has a main job whose bubbles may be filled (1 main rank in mode off "
      "or report, or paused: see `pipefill main`); starts when a training run attaches in mode "
      "fill");
}

TEST(ExplainReasonTest, ResidentLimitCountsSeats) {
  PendingReason reason = Reason(PendingCode::kResidentLimit);
  reason.numbers.devices_filled = 2;
  reason.numbers.resident = 4;
  reason.numbers.resident_limit = 4;
  EXPECT_EQ(ExplainReason(reason, Instant()),
            "all 2 devices with a main job are taken: 4 of 4 seats; starts when a task ends");
}

TEST(ExplainReasonTest, NoBubbleFitsNamesTheShortestUnitsAndTheLongestThatMayStart) {
  PendingReason reason = Reason(PendingCode::kNoBubbleFits);
  reason.need_unit = {8'000'000, 0, 0};
  reason.misfit.room = {.longest_unit_ns = 3'000'000};
  reason.misfit.device = {"a", "cpu0"};
  EXPECT_EQ(ExplainReason(reason, Instant()),
            "no configuration of its profile fits the bubbles of any device: its shortest units "
            "take up to 8 ms, the longest that may start there take 3 ms (node a, cpu0)");
}

TEST(ExplainReasonTest, NoBubbleFitsNamesTheMemoryThatLacks) {
  PendingReason reason = Reason(PendingCode::kNoBubbleFits);
  reason.need_bytes = 200 * kMiB;
  reason.need_unit = {1, 100 * kMiB, 120 * kMiB};
  reason.misfit.room = {.longest_unit_ns = 2, .least_bytes = 64 * kMiB, .most_bytes = 128 * kMiB};
  reason.misfit.device = {"a", "cpu0"};
  const std::string begin = "no configuration of its profile fits the bubbles of any device: ";
  EXPECT_EQ(ExplainReason(reason, Instant()),
            begin + "the smallest one needs 100 MiB, and 64 MiB is free in them (node a, cpu0)");
  reason.need_unit = {1, 0, 250 * kMiB};
  EXPECT_EQ(ExplainReason(reason, Instant()),
            begin + "the smallest one needs 250 MiB, and 128 MiB is free in them (node a, cpu0)");
  reason.misfit.room.most_bytes = INT64_MAX;
  EXPECT_EQ(ExplainReason(reason, Instant()),
            begin + "the smallest one needs 250 MiB, and the job's cap is 200 MiB (node a, cpu0)");
}

TEST(ExplainReasonTest, MemoryNamesNeedAndBest) {
  PendingReason reason = Reason(PendingCode::kMemory);
  reason.need_bytes = 1024 * kMiB;
  reason.numbers.best_free_bytes = 512 * kMiB;
  reason.numbers.best_device = {"a", "cpu0"};
  reason.numbers.largest_bytes = 2048 * kMiB;
  EXPECT_EQ(ExplainReason(reason, Instant()),
            "needs 1 GiB; the most that is free on a device with a free seat is 512 MiB (node a, "
            "cpu0)");
}

TEST(ExplainReasonTest, QuotaReservationAndQuarantineSayWhatTheyAre) {
  PendingReason reason = Reason(PendingCode::kQuota);
  reason.tenant = "vision";
  reason.tenant_resident = reason.tenant_resident_max = 4;
  EXPECT_EQ(ExplainReason(reason, Instant()),
            "its tenant, vision, has 4 of 4 tasks; starts when one ends");
  reason = Reason(PendingCode::kReserved);
  reason.reserved = Reservation{{"a", "cpu0"}, AtSecond(30)};
  EXPECT_EQ(ExplainReason(reason, AtSecond(10)),
            "a place is being made for it by eviction (node a, cpu0), and kept for 20 s");
  reason = Reason(PendingCode::kQuarantine);
  reason.numbers.devices_filled = 2;
  EXPECT_EQ(ExplainReason(reason, Instant()),
            "all 2 devices with a main job are of nodes that refused launches lately; they are "
            "tried again by themselves (see `pipefill nodes`)");
}

TEST(ExplainReasonTest, MemoryBeyondEveryBudgetIsCalledSo) {
  PendingReason reason = Reason(PendingCode::kInfeasible);
  reason.need_bytes = 4096 * kMiB;
  reason.numbers.largest_bytes = 2048 * kMiB;
  reason.numbers.largest_device = {"a", "cpu1"};
  EXPECT_EQ(ExplainReason(reason, Instant()),
            "needs 4 GiB, more than any connected device with a main job has: largest is 2 GiB "
            "(node a, cpu1)");
}

TEST(ExplainWaitingJobTest, JobThatIsNotPlannedYetIsCalledSo) {
  Job job;
  job.id = JobId(5);
  job.spec = std::make_shared<const JobSpec>(SpecThatNeeds(kMiB));
  Plan plan;
  plan.last_job = JobId(4);
  EXPECT_EQ(ExplainWaitingJob(job, plan, Instant()),
            "accepted; the next planning pass looks at it");
  plan.last_job = JobId(5);
  EXPECT_EQ(ExplainWaitingJob(job, plan, Instant()),
            "no agent is connected; start agentd with this schedulerd's address");
}

TEST(ExplainEndTest, AgentsWordsComeFirst) {
  AttemptEnd end{.cause = EndCause::kOutOfMemory, .text = "out of memory: 5 MiB of 4 MiB"};
  EXPECT_EQ(ExplainEnd(end), "out of memory: 5 MiB of 4 MiB");
  end.text.clear();
  EXPECT_EQ(ExplainEnd(end), "out of memory");
}

TEST(ExplainEndTest, EveryCauseHasWords) {
  for (EndCause cause :
       {EndCause::kUnknown, EndCause::kExited, EndCause::kSignalled, EndCause::kOutOfMemory,
        EndCause::kLaunchFailed, EndCause::kCancelled, EndCause::kLost, EndCause::kRefused}) {
    AttemptEnd end;
    end.cause = cause;
    EXPECT_NE(ExplainEnd(end), "");
  }
}

Job JobIn(JobPhase phase, EndCause cause, int32_t retries) {
  Job job;
  job.spec = std::make_shared<const JobSpec>(SpecThatNeeds(kMiB, retries));
  job.phase = phase;
  job.failures = retries + 1;
  job.attempts.resize(1);
  job.attempts[0].end.cause = cause;
  job.attempts[0].end.exit_code = 3;
  return job;
}

TEST(ExplainJobEndTest, FailureSaysHowOften) {
  EXPECT_EQ(ExplainJobEnd(JobIn(JobPhase::kFailed, EndCause::kExited, 0)), "exit code 3");
  EXPECT_EQ(ExplainJobEnd(JobIn(JobPhase::kFailed, EndCause::kExited, 2)),
            "exit code 3; its 3 attempts all failed");
}

TEST(ExplainJobEndTest, CancelSaysWhoAndWhat) {
  EXPECT_EQ(ExplainJobEnd(JobIn(JobPhase::kCancelled, EndCause::kCancelled, 0)),
            "cancelled by the user");
  EXPECT_EQ(ExplainJobEnd(JobIn(JobPhase::kCancelled, EndCause::kLost, 0)),
            "cancelled by the user; its last attempt: lost with its agent");
  Job never_started = JobIn(JobPhase::kCancelled, EndCause::kCancelled, 0);
  never_started.attempts.clear();
  EXPECT_EQ(ExplainJobEnd(never_started), "cancelled before it started");
}

TEST(ExplainJobEndTest, LivingJobHasNoEnd) {
  EXPECT_EQ(ExplainJobEnd(JobIn(JobPhase::kRunning, EndCause::kUnknown, 0)), "");
}

}  // namespace
}  // namespace pipefill::scheduler
