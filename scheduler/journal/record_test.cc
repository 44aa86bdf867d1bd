#include "scheduler/journal/record.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

const AttemptKey kKey{JobId(3), AttemptNumber(2), Fence(9)};

// Encodes and decodes.
template <typename T>
T Copy(const T& event) {
  const auto decoded = DecodeRecord(EncodeRecord(event, TimeAt(5).wall));
  EXPECT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->wall, TimeAt(5).wall);
  return std::get<T>(decoded->event);
}

TEST(RecordTest, SubmissionSurvives) {
  JobSpec spec = SpecThatNeeds(kMiB, 2);
  spec.env = {{"A", "1"}};
  spec.workdir = "/data";
  spec.priority = -7;
  spec.tenant = "vision";
  spec.deadline = absl::FromUnixSeconds(1'800'000'000);
  spec.min_runtime = absl::Seconds(5);
  spec.is_evictable = false;
  spec.may_be_infeasible = true;
  spec.array = ArraySpec{.ranges = {{0, 9, 3}, {20, 20, 1}}, .throttle = 4};
  spec.dependencies = {{JobId(1), DependencyCondition::kAny},
                       {JobId(2), DependencyCondition::kNotOk}};
  spec.max_runtime = absl::Hours(3);
  spec.labels = {{"team", "vision"}, {"gpu", ""}};
  spec.start_before = absl::FromUnixSeconds(1'700'000'000);
  spec.is_held = true;
  spec.profile = {.configurations = {LearnedConfiguration(1, 1'000'000, 0)}, .samples_total = 9};
  const JobSubmitted copy = Copy(JobSubmitted{JobId(3), "key", spec});
  EXPECT_EQ(copy.job, JobId(3));
  EXPECT_EQ(copy.key, "key");
  EXPECT_EQ(copy.spec, spec);
}

TEST(RecordTest, WishesOfUsersSurviveWithTheirReasons) {
  EXPECT_EQ(Copy(CancelRequested{JobId(3), "late"}).job, JobId(3));
  EXPECT_EQ(Copy(CancelRequested{JobId(3), "late"}).reason, "late");
  EXPECT_EQ(Copy(JobHeld{JobId(4), "early"}).job, JobId(4));
  EXPECT_EQ(Copy(JobHeld{JobId(4), "early"}).reason, "early");
  EXPECT_EQ(Copy(JobReleased{JobId(5), "now"}).job, JobId(5));
  EXPECT_EQ(Copy(JobReleased{JobId(5), "now"}).reason, "now");
  EXPECT_EQ(Copy(RequeueRequested{JobId(6), "loud"}).job, JobId(6));
  EXPECT_EQ(Copy(RequeueRequested{JobId(6), "loud"}).reason, "loud");
  EXPECT_EQ(Copy(StartExpired{JobId(7)}).job, JobId(7));
}

TEST(RecordTest, MoveSurvives) {
  const MoveRequested copy = Copy(MoveRequested{JobId(3), {"a", "cpu1"}});
  EXPECT_EQ(copy.job, JobId(3));
  EXPECT_EQ(copy.to, (DeviceKey{"a", "cpu1"}));
}

TEST(RecordTest, EvictionSurvives) {
  const EvictionRequested copy = Copy(EvictionRequested{kKey, JobId(9)});
  EXPECT_EQ(copy.victim, kKey);
  EXPECT_EQ(copy.beneficiary, JobId(9));
}

TEST(RecordTest, AdmissionOfTasksSurvives) {
  const ArrayAdmitted admitted{JobId(3), 4, 9};
  EXPECT_EQ(Copy(admitted), admitted);
}

TEST(RecordTest, PlacementSurvives) {
  const AttemptPlaced copy = Copy(AttemptPlaced{kKey, {"a", "cpu0"}, "batch8"});
  EXPECT_EQ(copy.attempt, kKey);
  EXPECT_EQ(copy.configuration, "batch8");
  EXPECT_EQ(copy.device, (DeviceKey{"a", "cpu0"}));
}

TEST(RecordTest, StartSurvives) { EXPECT_EQ(Copy(AttemptStarted{kKey}).attempt, kKey); }

TEST(RecordTest, EndSurvivesWithWhatIsLearnedFromIt) {
  AttemptEnded ended = EndOf(kKey, EndCause::kSignalled);
  ended.end.signal = 9;
  ended.end.text = "ended by signal 9";
  ended.progress = {.units = 4, .unit_cpu_ns = 50, .unit_estimate_ns = 13};
  ended.progress.freezes = 7;
  ended.useful_ns = 77;
  const AttemptEnded copy = Copy(ended);
  EXPECT_EQ(copy.attempt, kKey);
  EXPECT_EQ(copy.end, ended.end);
  EXPECT_EQ(copy.useful_ns, 77);
  EXPECT_EQ(copy.progress, (FillProgress{.units = 4, .unit_cpu_ns = 50, .unit_estimate_ns = 13}));
}

TEST(RecordTest, SettingsOfAMainJobSurvive) {
  MainJobSettings settings = PausedMainJob("gpt");
  settings.mode = FillMode::kReport;
  settings.budget_ppm = 5'000;
  settings.static_share_ppm = 680'000;
  EXPECT_EQ(Copy(MainJobUpdated{settings}).settings, settings);
}

TEST(RecordTest, EventOfNewerVersionIsRefused) {
  // Field 200, which no version so far has.
  const std::string record = "\xc2\x0c\x00";
  EXPECT_EQ(DecodeRecord(absl::string_view(record.data(), 3)).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(RecordTest, RandomBytesAreDataLoss) {
  EXPECT_EQ(DecodeRecord("\xff\xff\xff").status().code(), absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace pipefill::scheduler
