// What a user sets for a main job, from schedulerd's door to the gate of a fill task.
#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "agent/agent.h"
#include "client/submit/scheduler_client.h"
#include "common/clock.h"
#include "common/environment.h"
#include "proto/local.pb.h"
#include "scheduler/server.h"
#include "tests/integration/main_rank.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;

// Only a broken test waits as long as this.
constexpr absl::Duration kPatience = absl::Seconds(60);
// Bubbles that must pass without a unit before one believes that none starts.
constexpr int64_t kIterations = 50;

void Pause(absl::Duration duration) {
  absl::Notification never;
  never.WaitForNotificationWithTimeout(duration);
}

class MainJobSettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat("/tmp/pipefill_settings_test.", getpid());
    std::filesystem::remove_all(folder_);
    scheduler_config_.set_listen("127.0.0.1:0");
    scheduler_config_.set_state_dir(folder_ + "/schedulerd");
    StartScheduler();
    v1::AgentConfig config;
    config.set_node("node");
    config.set_scheduler(server_->address());
    config.set_socket(folder_ + "/agentd.sock");
    config.set_state_dir(folder_ + "/agentd");
    config.mutable_hold_out()->set_one_in(0);
    v1::DeviceConfig& device = *config.add_devices();
    device.set_name("cpu0");
    device.set_cores("0");
    device.set_memory("1GiB");
    // A test must end on a busy machine too.
    device.set_priority("normal");
    absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Create(config, {SystemClock()});
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
    StartRank();
  }
  void TearDown() override {
    rank_.reset();
    agent_.reset();
    server_.reset();
    std::filesystem::remove_all(folder_);
  }

  void StartScheduler() {
    absl::StatusOr<std::unique_ptr<Server>> server =
        Server::Create(scheduler_config_, {SystemClock()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    scheduler_config_.set_listen(server_->address());  // the same after a restart
    client_ = *NewSchedulerClient({.address = server_->address(), .call_timeout = kPatience},
                                  {.clock = SystemClock(),
                                   .pause = Pause,
                                   .random = [] { return 0.5; },
                                   .new_key = RandomToken});
  }
  void StartRank(int mode = PF_MODE_FILL) {
    rank_.reset();
    rank_ = std::make_unique<MainRank>(
        MainRank::Options{.socket = folder_ + "/agentd.sock", .mode = mode});
    ASSERT_EQ(rank_->code(), PF_OK) << rank_->error();
    WaitUntil("the rank is known", [&] { return static_cast<int>(Rank().mode()) == mode; });
  }

  void WaitUntil(const std::string& what, const std::function<bool()>& is_so) {
    const Instant end = SystemClock().Now() + kPatience;
    while (!is_so()) {
      if (SystemClock().Now() > end) FAIL() << "waited in vain: " << what;
      Pause(absl::Milliseconds(20));
    }
  }

  v1::MainRank Rank() {
    const auto devices = client_->ListDevices();
    if (!devices.ok() || devices->devices().empty()) return {};
    return devices->devices(0).main_rank();
  }
  int64_t Iterations() { return Rank().iterations(); }
  void LetIterationsPass() {
    // The first report may be older than this call.
    const int64_t first = Iterations();
    WaitUntil("a report", [&] { return Iterations() != first; });
    const int64_t second = Iterations();
    WaitUntil("iterations", [&] { return Iterations() >= second + kIterations; });
  }

  // An endless one.
  void StartFilling() {
    v1::SubmitJobRequest request;
    v1::JobSpec& spec = *request.mutable_spec();
    spec.set_name("fill");
    spec.add_command(std::filesystem::absolute("tests/integration/filling_task").string());
    spec.add_command("0");
    spec.add_command("200");
    spec.set_memory_bytes(int64_t{256} << 20);
    ASSERT_TRUE(client_->SubmitJob(request).ok());
  }

  absl::StatusOr<v1::MainJobSettings> Update(
      const std::function<void(v1::UpdateMainJobRequest&)>& change) {
    v1::UpdateMainJobRequest request;
    request.set_main_job("gpt");
    change(request);
    return client_->UpdateMainJob(request);
  }
  void SetPaused(bool is_paused) {
    const auto settings = Update([&](v1::UpdateMainJobRequest& r) { r.set_paused(is_paused); });
    ASSERT_TRUE(settings.ok()) << settings.status();
    EXPECT_EQ(settings->paused(), is_paused);
  }
  void SetMode(v1::FillMode mode) {
    const auto settings = Update([&](v1::UpdateMainJobRequest& r) { r.set_mode(mode); });
    ASSERT_TRUE(settings.ok()) << settings.status();
  }

  // Goes through the agent's stream, behind all that schedulerd has told it so far.
  std::vector<v1::TraceRecord> ReadTrace() {
    std::string bytes;
    v1::ReadContentRequest request;
    request.set_kind(v1::CONTENT_KIND_TRACE);
    request.set_node("node");
    for (;;) {
      const auto piece = client_->ReadContent(request);
      EXPECT_TRUE(piece.ok()) << piece.status();
      if (!piece.ok()) break;
      bytes += piece->data();
      request.set_offset(piece->next_offset());
      if (piece->at_end()) break;
    }
    google::protobuf::io::ArrayInputStream input(bytes.data(), static_cast<int>(bytes.size()));
    std::vector<v1::TraceRecord> records;
    v1::TraceRecord record;
    while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&record, &input, nullptr)) {
      records.push_back(record);
      record.Clear();
    }
    return records;
  }
  int64_t CountRecords(const std::function<bool(const v1::TraceRecord&)>& is_counted) {
    const std::vector<v1::TraceRecord> records = ReadTrace();
    return std::count_if(records.begin(), records.end(), is_counted);
  }
  int64_t UnitsAfter(Instant instant) {
    return CountRecords([&](const v1::TraceRecord& record) {
      return record.has_unit() && record.unit().start_ns() > instant.ns();
    });
  }
  int64_t EdgesAfter(Instant instant) {
    return CountRecords([&](const v1::TraceRecord& record) {
      return record.has_edge() && record.edge().time_ns() > instant.ns();
    });
  }
  // When the agent has surely heard what was set.
  Instant Applied() {
    ReadTrace();
    return SystemClock().Now();
  }
  void WaitForUnits() {
    const Instant now = SystemClock().Now();
    WaitUntil("units", [&] { return UnitsAfter(now) >= 5; });
  }

  std::string folder_;
  v1::SchedulerConfig scheduler_config_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<SchedulerClient> client_;
  std::unique_ptr<Agent> agent_;
  std::unique_ptr<MainRank> rank_;
};

TEST_F(MainJobSettingsTest, NoUnitStartsOnceThePauseHasReachedTheAgentUntilItIsResumed) {
  StartFilling();
  WaitForUnits();

  SetPaused(true);
  const Instant paused = Applied();
  LetIterationsPass();
  EXPECT_EQ(UnitsAfter(paused), 0);
  EXPECT_GE(EdgesAfter(paused), 4 * kIterations);  // measured as ever

  SetPaused(false);
  WaitForUnits();
}

TEST_F(MainJobSettingsTest, PauseSurvivesRestartsOfSchedulerdAndOfTheMainJob) {
  StartFilling();
  WaitForUnits();
  SetPaused(true);
  const Instant paused = Applied();

  server_.reset();
  StartScheduler();
  StartRank();
  LetIterationsPass();

  EXPECT_EQ(UnitsAfter(paused), 0);
  const auto listed = client_->ListMainJobs();
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->main_jobs_size(), 1);
  EXPECT_TRUE(listed->main_jobs(0).paused());
  SetPaused(false);
  WaitForUnits();
}

TEST_F(MainJobSettingsTest, ModesFollowEachOtherWhileTheMainJobRuns) {
  StartRank(PF_MODE_OFF);
  StartFilling();  // waits: nothing is filled
  const Instant off = Applied();
  const auto is_mode = [this](v1::FillMode mode) {
    return [this, mode] { return Rank().mode() == mode; };
  };

  SetMode(v1::FILL_MODE_REPORT);
  WaitUntil("report", is_mode(v1::FILL_MODE_REPORT));
  LetIterationsPass();
  EXPECT_EQ(UnitsAfter(off), 0);
  EXPECT_GE(EdgesAfter(off), 4 * kIterations);

  SetMode(v1::FILL_MODE_FILL);
  WaitForUnits();

  SetMode(v1::FILL_MODE_OFF);
  const Instant off_again = Applied();
  WaitUntil("off", is_mode(v1::FILL_MODE_OFF));
  WaitUntil("time to pass", [&] { return SystemClock().Now() > off_again + absl::Seconds(1); });
  EXPECT_EQ(UnitsAfter(off_again), 0);
  EXPECT_EQ(EdgesAfter(off_again), 0);

  SetMode(v1::FILL_MODE_FILL);
  WaitForUnits();
}

TEST_F(MainJobSettingsTest, UnknownMainJobIsRefusedWithThoseThatAreAttached) {
  v1::UpdateMainJobRequest request;
  request.set_main_job("gtp");
  request.set_paused(true);
  const absl::Status status = client_->UpdateMainJob(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("attached: gpt"));
}

}  // namespace
}  // namespace pipefill
