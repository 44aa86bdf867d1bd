// The store of a whole server, over gRPC: many jobs at once, snapshots across restarts, backups.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/journal/snapshot_store.h"
#include "scheduler/journal/store_tools.h"
#include "scheduler/server.h"
#include "scheduler/testing/scripted_agent.h"
#include "scheduler/testing/server_fixture.h"

namespace pipefill::scheduler {
namespace {

using testing::HasSubstr;

class ServerStoreTest : public ServerFixture {
 protected:
  ServerStoreTest() {
    config_.set_snapshot_every(10);
    config_.set_disk_reserve("64KiB");
    Start();
  }

  // Jobs with the keys `prefix`0, `prefix`1, ... in one call.
  grpc::Status SubmitMany(const std::string& prefix, int count, v1::SubmitJobsResponse* response) {
    v1::SubmitJobsRequest request;
    for (int i = 0; i < count; ++i) {
      v1::SubmitJobRequest* job = request.add_jobs();
      job->set_key(absl::StrCat(prefix, i));
      job->mutable_spec()->add_command("true");
    }
    grpc::ClientContext context;
    SetTestDeadline(&context);
    return users_->SubmitJobs(&context, request, response);
  }

  v1::GetStatusResponse Status() {
    grpc::ClientContext context;
    SetTestDeadline(&context);
    v1::GetStatusResponse response;
    EXPECT_TRUE(users_->GetStatus(&context, v1::GetStatusRequest(), &response).ok());
    return response;
  }
};

TEST_F(ServerStoreTest, ManyJobsAreAnsweredInOrderAndKeptAcrossRestarts) {
  v1::SubmitJobsResponse first;
  ASSERT_TRUE(SubmitMany("a", 100, &first).ok());
  ASSERT_EQ(first.jobs_size(), 100);
  EXPECT_EQ(first.jobs(99).job_id(), 100);

  Start();

  v1::SubmitJobsResponse again;
  ASSERT_TRUE(SubmitMany("a", 101, &again).ok());
  EXPECT_EQ(again.jobs(41).job_id(), 42);
  EXPECT_TRUE(again.jobs(41).already_existed());
  EXPECT_EQ(again.jobs(100).job_id(), 101);
}

TEST_F(ServerStoreTest, BadJobRefusesAllAndIsNamed) {
  v1::SubmitJobsRequest request;
  request.add_jobs()->mutable_spec()->add_command("true");
  request.add_jobs();
  v1::SubmitJobsResponse response;
  grpc::ClientContext context;
  SetTestDeadline(&context);
  const grpc::Status status = users_->SubmitJobs(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("job 2 of 2: spec.command: "));
  EXPECT_EQ(Status().jobs_pending(), 0);
}

TEST_F(ServerStoreTest, TooManyJobsInOneCallAreRefused) {
  v1::SubmitJobsResponse response;
  EXPECT_EQ(SubmitMany("a", 1'001, &response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_F(ServerStoreTest, StatusTellsWhatIsKept) {
  const v1::GetStatusResponse status = Status();
  EXPECT_EQ(status.history_keep_seconds(), 720 * 3'600);
  EXPECT_EQ(status.history_jobs_max(), 500'000);
  EXPECT_EQ(status.refusing_text(), "");
}

TEST_F(ServerStoreTest, DamagedSnapshotIsSetAsideAtTheNextStart) {
  v1::SubmitJobsResponse submitted;
  ASSERT_TRUE(SubmitMany("a", 25, &submitted).ok());
  int tries = 50'000;
  while (tries > 0 && Status().snapshot_unix_ns() == 0) --tries;
  ASSERT_GT(tries, 0) << "no snapshot";
  server_ = nullptr;
  const FileSnapshotStore snapshots(config_.state_dir());
  const int64_t newest = snapshots.List()->at(0);
  std::filesystem::resize_file(snapshots.PathOf(newest), 30);

  Start();

  EXPECT_EQ(Status().jobs_pending(), 25);
  EXPECT_TRUE(std::filesystem::exists(snapshots.PathOf(newest) + ".bad"));
}

TEST_F(ServerStoreTest, BackupBecomesAStoreThatGivesNoIdTwice) {
  v1::SubmitJobsResponse submitted;
  ASSERT_TRUE(SubmitMany("a", 25, &submitted).ok());
  const std::string backup = (folder_ / "backup").string();
  {
    grpc::ClientContext context;
    SetTestDeadline(&context);
    std::ofstream file(backup, std::ios::binary);
    const auto stream = users_->Backup(&context, v1::BackupRequest());
    v1::BackupChunk chunk;
    while (stream->Read(&chunk)) file << chunk.data();
    ASSERT_TRUE(stream->Finish().ok());
  }
  ASSERT_TRUE(SubmitMany("after", 5, &submitted).ok());
  server_ = nullptr;

  config_.set_state_dir((folder_ / "restored").string());
  std::ostringstream out;
  ASSERT_TRUE(RestoreStore(config_.state_dir(), backup, SystemClock(), out).ok()) << out.str();
  Start();

  EXPECT_EQ(Status().jobs_pending(), 25);
  ASSERT_TRUE(SubmitMany("new", 1, &submitted).ok());
  EXPECT_GT(submitted.jobs(0).job_id(), kIdJump);
}

}  // namespace
}  // namespace pipefill::scheduler
