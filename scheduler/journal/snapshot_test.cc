// Snapshots as bytes: whatever is cut off or flipped is found.
#include "scheduler/journal/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/snapshot.pb.h"
#include "scheduler/journal/snapshot_frame.h"
#include "scheduler/journal/snapshot_store.h"
#include "scheduler/testing/builders.h"

namespace pipefill::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A waiting job, a running one, and one that has ended; the fourth has left the history.
ClusterState SomeState() {
  ClusterState state{ClusterLimits{}};
  for (int64_t id = 1; id <= 4; ++id) {
    state.Apply(JobSubmitted{JobId(id), absl::StrCat("key-", id), SpecThatNeeds(kMiB)}, TimeAt(1));
  }
  state.Apply(AttemptPlaced{state.NextAttempt(JobId(2)), {"a", "cpu0"}}, TimeAt(2));
  state.Apply(AttemptStarted{(*state.FindJob(JobId(2)))->live_key()}, TimeAt(3));
  state.Apply(CancelRequested{JobId(3)}, TimeAt(4));
  state.Apply(CancelRequested{JobId(4)}, TimeAt(4));
  state.Apply(HistoryDropped{{JobId(4)}}, TimeAt(5));
  state.Apply(MainJobUpdated{PausedMainJob("gpt")}, TimeAt(6));
  return state;
}

FrameWriter WriterOf(ClusterState& state, int64_t sequence = 11) {
  return FrameWriter(
      SnapshotEncoder(state.Durable(), {.sequence = sequence, .wall = TimeAt(7).wall}));
}

std::string BytesOf(ClusterState& state) {
  FrameWriter writer = WriterOf(state);
  std::string bytes;
  while (const auto block = writer.Next()) bytes += *block;
  return bytes;
}

// Its snapshot has a piece of more than 16 MiB.
ClusterState StateOfAHugeJob() {
  ClusterState state{ClusterLimits{}};
  state.Apply(JobSubmitted{JobId(1), std::string(17 << 20, 'k'), SpecThatNeeds(kMiB)}, TimeAt(1));
  return state;
}

// In portions of `portion` bytes.
absl::Status Read(absl::string_view bytes, ClusterState* state, size_t portion = 1 << 20) {
  SnapshotDecoder decoder(AtSecond(100), state);
  FrameReader reader;
  for (size_t at = 0; at < bytes.size(); at += portion) {
    const absl::Status taken = reader.Take(
        bytes.substr(at, portion), [&](absl::string_view piece) { return decoder.Take(piece); });
    if (!taken.ok()) return taken;
  }
  const absl::Status finished = reader.Finish();
  return finished.ok() ? decoder.Finish() : finished;
}

TEST(SnapshotTest, HoldsJobsCountersAndSettings) {
  ClusterState written = SomeState();
  ClusterState read{ClusterLimits{}};
  ASSERT_TRUE(Read(BytesOf(written), &read).ok());

  EXPECT_EQ(read.next_job_id(), JobId(5)) << "also if the newest job has left";
  EXPECT_EQ(read.counts().pending, 1);
  EXPECT_EQ(read.counts().running, 1);
  EXPECT_EQ(read.counts().ended, 1);
  EXPECT_EQ(read.NextAttempt(JobId(1)).fence, Fence(2));
  EXPECT_EQ(*read.FindSubmission("key-2", SpecThatNeeds(kMiB)), JobId(2));
  EXPECT_EQ(*read.FindSubmission("key-4", SpecThatNeeds(kMiB)), std::nullopt);
  EXPECT_TRUE(read.main_jobs().SettingsOf("gpt").is_paused);
  EXPECT_EQ((*read.FindJob(JobId(2)))->live_attempt().started_at, TimeAt(3).wall);
}

TEST(SnapshotTest, ArrayComesBackWithItsTasks) {
  ClusterState written{ClusterLimits{}};
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.array = ArraySpec{.ranges = {{0, 999, 1}}};
  written.Apply(JobSubmitted{JobId(1), "", spec}, TimeAt(1));
  written.Apply(CancelRequested{JobId(900)}, TimeAt(1));
  written.Apply(ArrayAdmitted{JobId(1), 0, 3}, TimeAt(1));
  written.Apply(CancelRequested{JobId(2)}, TimeAt(2));
  written.Apply(AttemptPlaced{written.NextAttempt(JobId(3)), {"a", "cpu0"}}, TimeAt(2));

  ClusterState read{ClusterLimits{}};
  ASSERT_TRUE(Read(BytesOf(written), &read).ok());
  const Job& array = **read.FindJob(JobId(1));
  EXPECT_EQ(*array.tasks, *(*written.FindJob(JobId(1)))->tasks);
  EXPECT_EQ(array.tasks->cancelled(), 2);
  EXPECT_EQ(array.tasks->waiting(), 1);
  EXPECT_EQ((*read.FindJob(JobId(4)))->spec, array.spec) << "shared";
  EXPECT_EQ((*read.FindJob(JobId(4)))->array_index, 2);
  EXPECT_EQ(read.next_job_id(), JobId(1'002));
}

TEST(SnapshotTest, MissingTaskIsFound) {
  ClusterState written{ClusterLimits{}};
  JobSpec spec = SpecThatNeeds(kMiB);
  spec.array = ArraySpec{.ranges = {{0, 9, 1}}};
  written.Apply(JobSubmitted{JobId(1), "", spec}, TimeAt(1));
  written.Apply(ArrayAdmitted{JobId(1), 0, 3}, TimeAt(1));
  DurableState damaged = written.Durable();
  JobTable without;
  for (int64_t id : {1, 2, 4}) without.Add(**written.FindJob(JobId(id)));
  damaged.jobs = without.Snapshot();

  ClusterState read{ClusterLimits{}};
  SnapshotDecoder decoder(AtSecond(100), &read);
  SnapshotEncoder encoder(damaged, {.sequence = 1, .wall = TimeAt(7).wall});
  absl::Status status;
  while (status.ok()) {
    const std::optional<std::string> piece = encoder.Next();
    if (!piece.has_value()) break;
    status = decoder.Take(*piece);
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(status.message(), "the task at place 1 of array 1 is missing");
}

TEST(SnapshotTest, BytesMayComeInAnyPortions) {
  ClusterState written = SomeState();
  const std::string bytes = BytesOf(written);
  for (size_t portion : {1, 3, 7, 100}) {
    ClusterState read{ClusterLimits{}};
    EXPECT_TRUE(Read(bytes, &read, portion).ok()) << portion;
    EXPECT_EQ(BytesOf(read), bytes);
  }
}

TEST(SnapshotTest, EveryTruncationIsFound) {
  ClusterState written = SomeState();
  const std::string bytes = BytesOf(written);
  for (size_t length = 0; length < bytes.size(); ++length) {
    ClusterState read{ClusterLimits{}};
    EXPECT_EQ(Read(bytes.substr(0, length), &read).code(), absl::StatusCode::kDataLoss) << length;
  }
}

TEST(SnapshotTest, EveryFlippedBitIsFound) {
  ClusterState written = SomeState();
  const std::string bytes = BytesOf(written);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    ClusterState read{ClusterLimits{}};
    EXPECT_EQ(Read(flipped, &read).code(), absl::StatusCode::kDataLoss) << bit;
  }
}

TEST(SnapshotTest, MoreBytesThanWrittenAreFound) {
  ClusterState written = SomeState();
  ClusterState read{ClusterLimits{}};
  EXPECT_EQ(Read(BytesOf(written) + "x", &read).code(), absl::StatusCode::kDataLoss);
}

TEST(SnapshotTest, SnapshotOfNewerVersionIsRefusedAsSuch) {
  v1::SnapshotPiece piece;
  piece.mutable_head()->set_format(kSnapshotFormat + 1);
  ClusterState state{ClusterLimits{}};
  SnapshotDecoder decoder(AtSecond(1), &state);
  EXPECT_EQ(decoder.Take(piece.SerializeAsString()).code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SnapshotTest, TenantsComeInPiecesThatReadersTake) {
  ClusterState written{ClusterLimits{}};
  for (int i = 0; i < 20'000; ++i) {
    written.RestoreTenant({absl::StrCat(i, std::string(1'000, 't')), 1.0 + i, TimeAt(1).wall});
  }
  SnapshotEncoder encoder(written.Durable(), {.sequence = 1, .wall = TimeAt(1).wall});
  while (const auto piece = encoder.Next()) EXPECT_LT(piece->size(), 300'000U);

  ClusterState read{ClusterLimits{}};
  const absl::Status status = Read(BytesOf(written), &read);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(read.Durable().tenants.size(), 20'000U);
  EXPECT_EQ(read.Durable().tenants, written.Durable().tenants);
}

TEST(SnapshotTest, PieceThatNoReaderTakesEndsTheWriterWithAnError) {
  ClusterState state = StateOfAHugeJob();
  FrameWriter writer = WriterOf(state);
  while (writer.Next().has_value()) EXPECT_TRUE(writer.status().ok());
  EXPECT_EQ(writer.status().code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(writer.Next(), std::nullopt) << "nothing comes after it";
}

TEST(SnapshotTest, JobThatCannotBeIsRefused) {
  ClusterState state = SomeState();
  Job twice = **state.FindJob(JobId(2));
  EXPECT_EQ(state.RestoreJob(twice, AtSecond(1)).code(), absl::StatusCode::kDataLoss);
  Job dead = twice;
  dead.id = JobId(9);
  dead.key.clear();
  dead.phase = JobPhase::kSucceeded;
  EXPECT_EQ(state.RestoreJob(dead, AtSecond(1)).code(), absl::StatusCode::kDataLoss);
  Job double_fence = twice;
  double_fence.id = JobId(9);
  double_fence.key.clear();
  ASSERT_TRUE(HasLiveAttempt(double_fence.phase));
  EXPECT_EQ(state.RestoreJob(double_fence, AtSecond(1)).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(state.RestoreCounters(JobId(2), Fence(9)).code(), absl::StatusCode::kDataLoss);
}

class SnapshotStoreTest : public testing::Test {
 protected:
  SnapshotStoreTest()
      : folder_(std::filesystem::path(testing::TempDir()) /
                testing::UnitTest::GetInstance()->current_test_info()->name()),
        store_(folder_.string()) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~SnapshotStoreTest() override { std::filesystem::remove_all(folder_); }

  void Write(int64_t sequence) {
    ClusterState state = SomeState();
    ASSERT_TRUE(store_.Write(WriterOf(state, sequence), is_stopping_).ok());
  }

  const std::filesystem::path folder_;
  FileSnapshotStore store_;
  std::atomic<bool> is_stopping_ = false;
};

TEST_F(SnapshotStoreTest, NewestComesFirstAndOlderOnesAreRemoved) {
  for (int64_t sequence : {9, 100, 20}) Write(sequence);
  EXPECT_THAT(*store_.List(), ElementsAre(100, 20, 9));
  std::ofstream(folder_ / "snapshot-7.new") << "torn";

  ASSERT_TRUE(store_.RemoveOlder(2).ok());

  EXPECT_THAT(*store_.List(), ElementsAre(100, 20));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "snapshot-7.new"));
  ClusterState state{ClusterLimits{}};
  SnapshotDecoder decoder(AtSecond(1), &state);
  EXPECT_TRUE(store_.Read(20, [&](auto piece) { return decoder.Take(piece); }).ok());
  EXPECT_EQ(decoder.stamp().sequence, 20);
}

TEST_F(SnapshotStoreTest, WriteThatIsGivenUpLeavesNothing) {
  is_stopping_ = true;
  ClusterState state = SomeState();
  EXPECT_EQ(store_.Write(WriterOf(state), is_stopping_).code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(SnapshotStoreTest, SnapshotThatNobodyCouldReadIsNotWritten) {
  ClusterState state = StateOfAHugeJob();
  const absl::Status status = store_.Write(WriterOf(state), is_stopping_);
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(SnapshotStoreTest, OneThatIsSetAsideNeitherCountsNorGoesAway) {
  for (int64_t sequence : {9, 20, 100}) Write(sequence);
  ASSERT_TRUE(store_.SetAside(100).ok());
  ASSERT_TRUE(store_.RemoveOlder(2).ok());
  EXPECT_THAT(*store_.List(), ElementsAre(20, 9));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "snapshot-100.bad"));
  EXPECT_EQ(store_.SetAside(100).code(), absl::StatusCode::kNotFound);
}

TEST_F(SnapshotStoreTest, ErrorNamesTheFileAndThePiece) {
  Write(5);
  std::filesystem::resize_file(store_.PathOf(5), 30);
  const absl::Status status = store_.Read(5, [](auto) { return absl::OkStatus(); });
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("snapshot-5: the snapshot is damaged: its piece 1 is cut off"));
}

}  // namespace
}  // namespace pipefill::scheduler
