#include "agent/end_sync.h"

#include <gtest/gtest.h>

#include <vector>

#include "absl/synchronization/notification.h"

namespace pipefill {
namespace {

AttemptKey KeyOf(int64_t job) {
  return {.job = JobId(job), .attempt = AttemptNumber(1), .fence = Fence(10)};
}

TEST(EndSyncTest, SyncsInOrderAndTellsEachResult) {
  std::vector<int64_t> synced;
  std::vector<absl::Status> results;
  absl::Notification all;
  EndSync sync([&](const AttemptKey& key) {
    synced.push_back(key.job.value());
    return key.job == JobId(2) ? absl::DataLossError("no disk") : absl::OkStatus();
  });
  for (int64_t job = 1; job <= 3; ++job) {
    sync.Sync(KeyOf(job), [&](const absl::Status& status) {
      results.push_back(status);
      if (results.size() == 3) all.Notify();
    });
  }
  all.WaitForNotification();
  EXPECT_EQ(synced, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_TRUE(results[0].ok());
  EXPECT_EQ(results[1], absl::DataLossError("no disk"));
  EXPECT_TRUE(results[2].ok());
}

TEST(EndSyncTest, CallerDoesNotWaitForTheDisk) {
  absl::Notification disk;
  absl::Notification done;
  EndSync sync([&](const AttemptKey&) {
    disk.WaitForNotification();
    return absl::OkStatus();
  });
  sync.Sync(KeyOf(1), [&](const absl::Status&) { done.Notify(); });
  EXPECT_FALSE(done.HasBeenNotified());
  disk.Notify();
  done.WaitForNotification();
}

}  // namespace
}  // namespace pipefill
