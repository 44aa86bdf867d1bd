// What a user sets for a main job, from schedulerd's door to the gate of a fill task.
#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "proto/local.pb.h"
#include "tests/integration/cluster_fixture.h"
#include "tests/integration/main_rank.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;

// Bubbles that must pass without a unit before one believes that none starts.
constexpr int64_t kIterations = 50;

class MainJobSettingsTest : public ClusterFixture {
 protected:
  void SetUp() override {
    ClusterFixture::SetUp();
    agent_config_.mutable_hold_out()->set_one_in(0);
    StartAgent();
    StartRank();
  }
  void TearDown() override {
    rank_.reset();
    ClusterFixture::TearDown();
  }

  void StartRank(int mode = PF_MODE_FILL) {
    rank_.reset();
    rank_ = std::make_unique<MainRank>(
        MainRank::Options{.socket = agent_config_.socket(), .mode = mode});
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
