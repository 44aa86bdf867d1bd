#include "agent/attempt_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "agent/convert.h"
#include "common/virtual_time.h"

namespace pipefill {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AttemptKey KeyOf(int32_t attempt) {
  return {.job = JobId(7),
          .attempt = AttemptNumber(attempt),
          .fence = Fence(100 + static_cast<uint64_t>(attempt))};
}

// A node that starts at once, stops when the test says so, and syncs when the test says so.
class FakeHost : public AttemptHost {
 public:
  absl::Status CheckRoom(const AttemptSpec& spec) const override {
    if (spec.device != "gpu0") return absl::NotFoundError("no such device");
    return CheckDeviceRoom(room, {.seats = static_cast<int32_t>(tasks.size())}, spec);
  }
  void StartTask(const AttemptSpec& spec) override { tasks.emplace(spec.key, spec); }
  bool StopTask(const AttemptKey& key, const StopRequest& request) override {
    if (!tasks.contains(key)) return false;
    stops.emplace_back(key, request);
    return true;
  }
  const AttemptSpec* FindTask(const AttemptKey& key) const override {
    const auto found = tasks.find(key);
    return found == tasks.end() ? nullptr : &found->second;
  }
  std::vector<AttemptKey> LiveTasks() const override {
    std::vector<AttemptKey> keys;
    for (const auto& [key, spec] : tasks) keys.push_back(key);
    return keys;
  }
  pid_t PidOf(const AttemptKey&) const override { return 4711; }
  void SyncEnd(const AttemptKey&, std::function<void(const absl::Status&)> done) override {
    syncs.push_back(std::move(done));
  }
  void RemoveRecord(const AttemptKey& key) override {
    removed.push_back(key);
    forgotten_before_removal = forgotten;
  }
  void RemoveCheckpoints(JobId job, int64_t) override { forgotten.push_back(job); }
  void Tell(v1::AgentMessage message) override { told.push_back(std::move(message)); }

  std::vector<v1::AttemptEnded> Ends() const {
    std::vector<v1::AttemptEnded> ends;
    for (const v1::AgentMessage& message : told) {
      if (message.has_attempt_ended()) ends.push_back(message.attempt_ended());
    }
    return ends;
  }

  TaskRoom room = {.memory_bytes = 1000, .seats = 2};
  std::map<AttemptKey, AttemptSpec> tasks;
  std::vector<std::pair<AttemptKey, StopRequest>> stops;
  std::vector<std::function<void(const absl::Status&)>> syncs;
  std::vector<AttemptKey> removed;
  std::vector<JobId> forgotten;
  std::vector<JobId> forgotten_before_removal;
  std::vector<v1::AgentMessage> told;
};

class AttemptDeskTest : public ::testing::Test {
 protected:
  static v1::LaunchAttempt LaunchOf(const AttemptKey& key) {
    v1::LaunchAttempt launch;
    *launch.mutable_key() = ToProto(key);
    launch.set_device("gpu0");
    launch.mutable_spec()->add_command("train");
    launch.mutable_spec()->set_memory_bytes(1);
    return launch;
  }
  static v1::StopAttempt StopOf(const AttemptKey& key) {
    v1::StopAttempt stop;
    *stop.mutable_key() = ToProto(key);
    stop.set_cause(v1::END_CAUSE_LOST);
    return stop;
  }
  static v1::EndAcknowledged AcknowledgementOf(const AttemptKey& key, int64_t over_unix_ns = 0) {
    v1::EndAcknowledged acknowledged;
    *acknowledged.mutable_key() = ToProto(key);
    acknowledged.set_job_over_submitted_unix_ns(over_unix_ns);
    return acknowledged;
  }
  void End(const AttemptKey& key) {
    host_.tasks.erase(key);
    desk_.OnEnded(key, {.cause = EndCause::kExited}, {});
    time_.RunReady();
  }
  void Sync() {
    host_.syncs.back()(absl::OkStatus());
    time_.RunReady();
  }

  VirtualTime time_;
  FakeHost host_;
  AttemptDesk desk_{time_, host_};
};

TEST_F(AttemptDeskTest, EndIsToldOnceItIsOnDiskAndAgainUntilItIsAcknowledged) {
  desk_.Launch(LaunchOf(KeyOf(1)));
  End(KeyOf(1));
  desk_.ResendEnds();
  EXPECT_THAT(host_.Ends(), IsEmpty());
  EXPECT_THAT(desk_.Unsettled(), ElementsAre(KeyOf(1)));
  Sync();
  EXPECT_THAT(host_.Ends(), SizeIs(1));
  desk_.ResendEnds();
  EXPECT_THAT(host_.Ends(), SizeIs(2));
  desk_.OnEndAcknowledged(AcknowledgementOf(KeyOf(1)));
  desk_.ResendEnds();
  EXPECT_THAT(host_.Ends(), SizeIs(2));
  EXPECT_TRUE(desk_.is_settled());
  EXPECT_THAT(host_.removed, ElementsAre(KeyOf(1)));
}

TEST_F(AttemptDeskTest, LaunchThatComesTwiceStartsOnceAndIsAnsweredTwice) {
  desk_.Launch(LaunchOf(KeyOf(1)));
  desk_.Launch(LaunchOf(KeyOf(1)));
  EXPECT_THAT(host_.tasks, SizeIs(1));
  ASSERT_THAT(host_.told, SizeIs(1));
  EXPECT_EQ(host_.told[0].attempt_started().pid(), 4711);
}

TEST_F(AttemptDeskTest, LaunchOnADeviceThatIsNotHereIsRefused) {
  v1::LaunchAttempt launch = LaunchOf(KeyOf(1));
  launch.set_device("gpu9");
  desk_.Launch(launch);
  ASSERT_THAT(host_.Ends(), SizeIs(1));
  EXPECT_EQ(host_.Ends()[0].cause(), v1::END_CAUSE_REFUSED);
}

// Schedulerd has given it up, but it is here until it has been stopped.
TEST_F(AttemptDeskTest, LaunchWithoutAFreeSeatIsRefused) {
  host_.room.seats = 1;
  desk_.Launch(LaunchOf(KeyOf(1)));
  desk_.Stop(StopOf(KeyOf(1)));
  desk_.Launch(LaunchOf(KeyOf(2)));
  EXPECT_THAT(host_.tasks, SizeIs(1));
  ASSERT_THAT(host_.Ends(), SizeIs(1));
  EXPECT_EQ(host_.Ends()[0].cause(), v1::END_CAUSE_REFUSED);
  EXPECT_EQ(host_.Ends()[0].text(), "device gpu0 has 1 tasks still, and seats for 1");
}

TEST(CheckDeviceRoomTest, CountsWhatTasksMayHave) {
  const AttemptSpec spec = {.key = {},
                            .job_name = "",
                            .device = "gpu0",
                            .command = {},
                            .env = {},
                            .workdir = "",
                            .memory_bytes = 600};
  EXPECT_TRUE(CheckDeviceRoom({1000, 2}, {400, 1}, spec).ok());
  EXPECT_EQ(CheckDeviceRoom({1000, 2}, {401, 1}, spec).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(AttemptDeskTest, NewerAttemptOfTheJobStopsTheOneBefore) {
  desk_.Launch(LaunchOf(KeyOf(1)));
  desk_.Launch(LaunchOf(KeyOf(2)));
  ASSERT_THAT(host_.stops, SizeIs(1));
  EXPECT_EQ(host_.stops[0].first, KeyOf(1));
  EXPECT_EQ(host_.stops[0].second.cause, EndCause::kLost);
}

TEST_F(AttemptDeskTest, StopOfAnAttemptThatIsNotHereIsAnsweredWithItsEnd) {
  desk_.Stop(StopOf(KeyOf(1)));
  ASSERT_THAT(host_.Ends(), SizeIs(1));
  EXPECT_EQ(host_.Ends()[0].cause(), v1::END_CAUSE_LOST);
}

TEST_F(AttemptDeskTest, NothingIsStartedOnceItIsClosed) {
  desk_.Close();
  desk_.Launch(LaunchOf(KeyOf(1)));
  EXPECT_THAT(host_.tasks, IsEmpty());
  EXPECT_THAT(host_.told, IsEmpty());
}

// A crash in between must leave the record, which has the end told and this heard again.
TEST_F(AttemptDeskTest, CheckpointsGoBeforeTheRecord) {
  desk_.Launch(LaunchOf(KeyOf(1)));
  End(KeyOf(1));
  Sync();
  desk_.OnEndAcknowledged(AcknowledgementOf(KeyOf(1), 5));
  EXPECT_THAT(host_.removed, ElementsAre(KeyOf(1)));
  EXPECT_THAT(host_.forgotten_before_removal, ElementsAre(JobId(7)));
}

// Its job is over while it is still being stopped: after a crash somebody must know of it.
TEST_F(AttemptDeskTest, RecordOfATaskThatStillRunsStays) {
  desk_.Launch(LaunchOf(KeyOf(1)));
  desk_.OnEndAcknowledged(AcknowledgementOf(KeyOf(1), 5));
  EXPECT_THAT(host_.removed, IsEmpty());
  EXPECT_THAT(host_.forgotten, ElementsAre(JobId(7)));
  End(KeyOf(1));
  Sync();
  desk_.OnEndAcknowledged(AcknowledgementOf(KeyOf(1), 5));
  EXPECT_THAT(host_.removed, ElementsAre(KeyOf(1)));
}

}  // namespace
}  // namespace pipefill
