#include "scheduler/convert/convert.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::util::MessageDifferencer;

// Gives every field of `message` its own value other than the default, so that a conversion that
// forgets or swaps a field is found.
void FillAllFields(Message* message, int* next) {
  const Descriptor* descriptor = message->GetDescriptor();
  const Reflection* reflection = message->GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const int value = ++*next;
    if (field->is_map()) continue;
    const bool is_repeated = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        reflection->SetInt32(message, field, value);
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        if (is_repeated) {
          reflection->AddInt64(message, field, value);
        } else {
          reflection->SetInt64(message, field, value);
        }
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection->SetUInt64(message, field, static_cast<uint64_t>(value));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        reflection->SetUInt32(message, field, static_cast<uint32_t>(value));
        break;
      case FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(message, field, true);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection->SetDouble(message, field, value);
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        if (is_repeated) {
          reflection->AddString(message, field, std::to_string(value));
        } else {
          reflection->SetString(message, field, std::to_string(value));
        }
        break;
      case FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(message, field, 1);
        break;
      case FieldDescriptor::CPPTYPE_MESSAGE:
        FillAllFields(is_repeated ? reflection->AddMessage(message, field)
                                  : reflection->MutableMessage(message, field),
                      next);
        break;
      default:
        FAIL() << "no value for " << field->full_name();
    }
  }
}

template <typename T>
class RoundTripTest : public testing::Test {};

using Nouns =
    testing::Types<v1::JobSpec, v1::AttemptKey, v1::FillProgress, v1::Device, v1::BubbleStats>;
TYPED_TEST_SUITE(RoundTripTest, Nouns);

TYPED_TEST(RoundTripTest, EveryFieldSurvives) {
  TypeParam message;
  int next = 0;
  FillAllFields(&message, &next);

  const TypeParam back = ToProto(FromProto(message));

  EXPECT_TRUE(MessageDifferencer::Equals(back, message))
      << back.DebugString() << message.DebugString();
}

TEST(ConvertTest, EnvironmentSurvives) {
  v1::JobSpec spec;
  (*spec.mutable_env())["A"] = "1";
  (*spec.mutable_env())["B"] = "2";
  spec.set_tenant("default");
  spec.set_min_runtime_ns(0);
  EXPECT_TRUE(MessageDifferencer::Equals(ToProto(FromProto(spec)), spec));
}

TEST(ConvertTest, DeviceWithoutMainRankStaysWithout) {
  EXPECT_FALSE(ToProto(FromProto(v1::Device())).has_main_rank());
}

// All values of an enum survive; an unknown one becomes UNSPECIFIED.
TEST(ConvertTest, EndCausesSurvive) {
  for (int value = v1::EndCause_MIN; value <= v1::EndCause_MAX; ++value) {
    if (!v1::EndCause_IsValid(value)) continue;
    const auto cause = static_cast<v1::EndCause>(value);
    // No attempt ends so.
    const bool is_of_jobs = cause == v1::END_CAUSE_NOT_STARTED;
    EXPECT_EQ(ToProto(FromProto(cause)), is_of_jobs ? v1::END_CAUSE_UNSPECIFIED : cause);
  }
  EXPECT_EQ(ToProto(FromProto(static_cast<v1::EndCause>(99))), v1::END_CAUSE_UNSPECIFIED);
}

TEST(ConvertTest, FillModesSurvive) {
  for (int value = v1::FillMode_MIN; value <= v1::FillMode_MAX; ++value) {
    v1::Device device;
    device.mutable_main_rank()->set_mode(static_cast<v1::FillMode>(value));
    EXPECT_EQ(ToProto(FromProto(device)).main_rank().mode(), value);
  }
}

TEST(ConvertTest, BubbleClassesSurvive) {
  for (int value = v1::BubbleClass_MIN; value <= v1::BubbleClass_MAX; ++value) {
    v1::BubbleStats stats;
    stats.set_bubble_class(static_cast<v1::BubbleClass>(value));
    EXPECT_EQ(ToProto(FromProto(stats)).bubble_class(), value);
  }
}

// --- Jobs ---

Job JobIn(JobPhase phase) {
  Job job;
  job.id = JobId(17);
  job.spec = std::make_shared<const JobSpec>(SpecThatNeeds(kMiB));
  job.phase = phase;
  job.submitted_at = TimeAt(1).wall;
  return job;
}

TEST(ConvertJobTest, PhasesBecomeTheStatesThatUsersKnow) {
  const std::vector<std::pair<JobPhase, v1::JobState>> expected = {
      {JobPhase::kPending, v1::JOB_STATE_PENDING},     {JobPhase::kStarting, v1::JOB_STATE_RUNNING},
      {JobPhase::kRunning, v1::JOB_STATE_RUNNING},     {JobPhase::kStopping, v1::JOB_STATE_RUNNING},
      {JobPhase::kSucceeded, v1::JOB_STATE_SUCCEEDED}, {JobPhase::kFailed, v1::JOB_STATE_FAILED},
      {JobPhase::kCancelled, v1::JOB_STATE_CANCELLED}};
  ASSERT_EQ(expected.size(), kAllJobPhases.size());
  for (const auto& [phase, state] : expected) {
    EXPECT_EQ(ToProto(JobIn(phase), Plan(), Instant()).state(), state);
  }
}

// What a plan leaves when a job that needs 100 waits for the reason.
Plan PlanFor(PendingCode code) {
  Plan plan;
  plan.last_job = JobId(1000);
  PlanNumbers& numbers = plan.numbers;
  if (code == PendingCode::kNoAgent) return plan;
  numbers.devices = 1;
  if (code == PendingCode::kNoMainJob) return plan;
  numbers.devices_filled = 1;
  if (code == PendingCode::kInfeasible) return plan;
  numbers.largest_bytes = int64_t{1} << 50;
  if (code == PendingCode::kQuarantine) numbers.devices_quarantined = 1;
  if (code == PendingCode::kMemory || code == PendingCode::kNoBubbleFits) {
    numbers.best_device = {"a", "cpu0"};
  }
  if (code == PendingCode::kQuota) plan.tenants["default"] = {.resident = 1, .resident_max = 1};
  return plan;
}

TEST(ConvertJobTest, WaitingJobCarriesCodeAndText) {
  const std::vector<std::pair<PendingCode, v1::PendingReasonCode>> expected = {
      {PendingCode::kBackOff, v1::PENDING_REASON_BACK_OFF},
      {PendingCode::kReserved, v1::PENDING_REASON_RESERVED},
      {PendingCode::kNoAgent, v1::PENDING_REASON_NO_AGENT},
      {PendingCode::kNoMainJob, v1::PENDING_REASON_NO_MAIN_JOB},
      {PendingCode::kInfeasible, v1::PENDING_REASON_INFEASIBLE},
      {PendingCode::kQuarantine, v1::PENDING_REASON_QUARANTINE},
      {PendingCode::kQuota, v1::PENDING_REASON_QUOTA},
      {PendingCode::kResidentLimit, v1::PENDING_REASON_RESIDENT_LIMIT},
      {PendingCode::kMemory, v1::PENDING_REASON_MEMORY},
      {PendingCode::kNoBubbleFits, v1::PENDING_REASON_NO_BUBBLE_FITS}};
  for (const auto& [code, proto_code] : expected) {
    Job waiting = JobIn(JobPhase::kPending);
    waiting.memory_bytes = 100;
    if (code == PendingCode::kBackOff) waiting.not_before = AtSecond(2);
    if (code == PendingCode::kReserved) waiting.reserved = Reservation{{"a", "cpu0"}, AtSecond(2)};
    Plan plan = PlanFor(code);
    if (code == PendingCode::kNoBubbleFits) {
      waiting.needs = std::make_shared<const std::vector<UnitNeed>>(1, UnitNeed{.unit_ns = 9});
      plan.misfits[{waiting.needs, 100}] = {{"a", "cpu0"}, {.longest_unit_ns = 3}};
    }
    const v1::Job job = ToProto(waiting, plan, AtSecond(1));
    EXPECT_EQ(job.pending_reason(), proto_code);
    EXPECT_NE(job.pending_text(), "");
  }
}

TEST(ConvertJobTest, JobThatNoPlanHasSeenIsNotPlannedYet) {
  const v1::Job job = ToProto(JobIn(JobPhase::kPending), Plan(), Instant());
  EXPECT_EQ(job.pending_reason(), v1::PENDING_REASON_NOT_PLANNED_YET);
}

TEST(ConvertJobTest, HeldJobHasItsOwnReason) {
  Job job = JobIn(JobPhase::kPending);
  job.is_held = true;
  const v1::Job held = ToProto(job, Plan(), Instant());
  EXPECT_EQ(held.pending_reason(), v1::PENDING_REASON_HELD);
  EXPECT_TRUE(held.held());
  EXPECT_NE(held.pending_text(), "");
  job = JobIn(JobPhase::kCancelled);
  job.is_held = true;
  EXPECT_FALSE(ToProto(job, Plan(), Instant()).held());
}

TEST(ConvertJobTest, EndedJobSaysWhy) {
  EXPECT_EQ(ToProto(JobIn(JobPhase::kRunning), Plan(), Instant()).end_cause(),
            v1::END_CAUSE_UNSPECIFIED);
  EXPECT_EQ(ToProto(JobIn(JobPhase::kCancelled), Plan(), Instant()).end_cause(),
            v1::END_CAUSE_CANCELLED);
  Job job = JobIn(JobPhase::kFailed);
  job.attempts.emplace_back().end = {EndCause::kOutOfMemory, 0, 0, ""};
  EXPECT_EQ(ToProto(job, Plan(), Instant()).end_cause(), v1::END_CAUSE_OUT_OF_MEMORY);
  JobSpec spec = *job.spec;
  spec.start_before = TimeAt(1).wall;
  job.spec = std::make_shared<const JobSpec>(spec);
  job.is_start_expired = true;
  EXPECT_EQ(ToProto(job, Plan(), Instant()).end_cause(), v1::END_CAUSE_NOT_STARTED);
}

TEST(ConvertJobTest, StepsOfHistoryKeepTheirKindsAndActors) {
  using Kind = JobStep::Kind;
  const std::vector<std::pair<Kind, v1::JobStepKind>> kinds = {
      {Kind::kSubmitted, v1::JOB_STEP_SUBMITTED},
      {Kind::kHeld, v1::JOB_STEP_HELD},
      {Kind::kReleased, v1::JOB_STEP_RELEASED},
      {Kind::kRequeueRequested, v1::JOB_STEP_REQUEUE_REQUESTED},
      {Kind::kMoveRequested, v1::JOB_STEP_MOVE_REQUESTED},
      {Kind::kCancelRequested, v1::JOB_STEP_CANCEL_REQUESTED},
      {Kind::kPlaced, v1::JOB_STEP_PLACED},
      {Kind::kStarted, v1::JOB_STEP_STARTED},
      {Kind::kAttemptEnded, v1::JOB_STEP_ATTEMPT_ENDED},
      {Kind::kRequeued, v1::JOB_STEP_REQUEUED},
      {Kind::kSucceeded, v1::JOB_STEP_SUCCEEDED},
      {Kind::kFailed, v1::JOB_STEP_FAILED},
      {Kind::kCancelled, v1::JOB_STEP_CANCELLED}};
  for (const auto& [kind, proto] : kinds) {
    EXPECT_EQ(ToProto(JobStep{.at = TimeAt(0).wall, .kind = kind}).kind(), proto);
  }
  const v1::JobStep step = ToProto(JobStep{.at = TimeAt(3).wall,
                                           .kind = Kind::kStarted,
                                           .actor = JobStep::Actor::kAgent,
                                           .node = "a",
                                           .attempt = AttemptNumber(2),
                                           .text = "why"});
  EXPECT_EQ(step.unix_ns(), absl::ToUnixNanos(TimeAt(3).wall));
  EXPECT_EQ(step.actor(), v1::JOB_ACTOR_AGENT);
  EXPECT_EQ(step.node(), "a");
  EXPECT_EQ(step.attempt(), 2);
  EXPECT_EQ(step.text(), "why");
}

TEST(ConvertJobTest, SaysWhoseProfileItGoesBy) {
  Job job = JobIn(JobPhase::kPending);
  job.profile.source = "learned by job 12";
  EXPECT_EQ(ToProto(job, Plan(), Instant()).profile_source(), "learned by job 12");
}

TEST(ConvertJobTest, RunningJobHasNoPendingReason) {
  const v1::Job job = ToProto(JobIn(JobPhase::kRunning), Plan(), Instant());
  EXPECT_EQ(job.pending_reason(), v1::PENDING_REASON_UNSPECIFIED);
  EXPECT_EQ(job.pending_text(), "");
}

TEST(ConvertJobTest, AttemptShowsItsEndOnlyOnceItHasEnded) {
  Job job = JobIn(JobPhase::kFailed);
  job.ended_at = TimeAt(9).wall;
  Attempt& attempt = job.attempts.emplace_back();
  attempt.number = AttemptNumber(1);
  attempt.fence = Fence(5);
  attempt.device = {"a", "cpu0"};
  attempt.placed_at = TimeAt(2).wall;
  attempt.started_at = TimeAt(3).wall;
  EXPECT_EQ(ToProto(job, Plan(), Instant()).attempts(0).end_text(), "");

  attempt.state = AttemptState::kEnded;
  attempt.end = {EndCause::kExited, 3, 0, ""};
  attempt.ended_at = TimeAt(9).wall;
  const v1::Job converted = ToProto(job, Plan(), Instant());

  EXPECT_EQ(converted.attempts(0).state(), v1::ATTEMPT_STATE_ENDED);
  EXPECT_EQ(converted.attempts(0).node(), "a");
  EXPECT_EQ(converted.attempts(0).device(), "cpu0");
  EXPECT_EQ(converted.attempts(0).fence(), 5U);
  EXPECT_EQ(converted.attempts(0).exit_code(), 3);
  EXPECT_EQ(converted.attempts(0).end_text(), "exit code 3");
  EXPECT_EQ(converted.attempts(0).started_unix_ns(), absl::ToUnixNanos(TimeAt(3).wall));
  EXPECT_EQ(converted.ended_unix_ns(), absl::ToUnixNanos(TimeAt(9).wall));
  EXPECT_EQ(converted.end_text(), "exit code 3");
}

}  // namespace
}  // namespace pipefill::scheduler
