#include <fcntl.h>
#include <gmock/gmock.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/agent.h"
#include "agent/devices/process_stat.h"
#include "agent/testing/scripted_scheduler.h"
#include "common/clock.h"
#include "proto/local.pb.h"
#include "tests/integration/main_rank.h"

namespace pipefill {
namespace {

using ::testing::HasSubstr;

v1::AttemptKey KeyOf(int64_t job, uint64_t fence = 100) {
  v1::AttemptKey key;
  key.set_job_id(job);
  key.set_attempt(1);
  key.set_fence(fence);
  return key;
}

bool IsOf(const v1::AttemptKey& key, int64_t job) { return key.job_id() == job; }

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // Short, for a socket's path is.
    folder_ = absl::StrCat("/tmp/pipefill_agent_test.", getpid());
    std::filesystem::remove_all(folder_);
    scheduler_ = std::make_unique<ScriptedScheduler>(ScriptedScheduler::Options{});
    config_.set_node("node");
    config_.set_scheduler(scheduler_->address());
    config_.set_socket(folder_ + "/agentd.sock");
    config_.set_state_dir(folder_ + "/state");
    v1::DeviceConfig& device = *config_.add_devices();
    device.set_name("cpu0");
    device.set_cores("0");
    device.set_memory("1GiB");
    // A test must end on a busy machine too.
    device.set_priority("normal");
  }
  void TearDown() override {
    agent_.reset();
    std::filesystem::remove_all(folder_);
  }

  void StartAgent() {
    absl::StatusOr<std::unique_ptr<Agent>> agent = Agent::Create(config_, {SystemClock()});
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = *std::move(agent);
  }

  void Launch(int64_t job, const std::vector<std::string>& command,
              int64_t memory_bytes = int64_t{256} << 20) {
    v1::AgentCommand launch;
    *launch.mutable_launch()->mutable_key() = KeyOf(job);
    launch.mutable_launch()->set_device("cpu0");
    v1::JobSpec& spec = *launch.mutable_launch()->mutable_spec();
    spec.set_name("test");
    spec.mutable_command()->Assign(command.begin(), command.end());
    spec.set_memory_bytes(memory_bytes);
    scheduler_->Send(launch);
  }
  void Fill(int64_t job, int units) {
    Launch(job, {std::filesystem::absolute("tests/integration/filling_task").string(),
                 absl::StrCat(units), "200"});
  }
  void Stop(int64_t job, v1::EndCause cause) {
    v1::AgentCommand stop;
    *stop.mutable_stop()->mutable_key() = KeyOf(job);
    stop.mutable_stop()->set_cause(cause);
    scheduler_->Send(stop);
  }
  void Acknowledge(int64_t job) {
    v1::AgentCommand acknowledged;
    *acknowledged.mutable_end_acknowledged()->mutable_key() = KeyOf(job);
    scheduler_->Send(acknowledged);
  }

  std::optional<v1::AttemptStarted> WaitForStart(int64_t job) {
    const auto message = scheduler_->WaitFor([&](const v1::AgentMessage& candidate) {
      return candidate.has_attempt_started() && IsOf(candidate.attempt_started().key(), job);
    });
    if (!message.has_value()) return std::nullopt;
    return message->attempt_started();
  }
  v1::AttemptEnded WaitForEnd(int64_t job) {
    const auto message = scheduler_->WaitFor([&](const v1::AgentMessage& candidate) {
      return candidate.has_attempt_ended() && IsOf(candidate.attempt_ended().key(), job);
    });
    EXPECT_TRUE(message.has_value()) << "no end of job " << job;
    return message.value_or(v1::AgentMessage()).attempt_ended();
  }
  bool WaitForUnits(int64_t job, int64_t units) {
    return scheduler_
        ->WaitFor([&](const v1::AgentMessage& candidate) {
          for (const v1::AttemptProgress& progress : candidate.report().progress()) {
            if (IsOf(progress.key(), job) && progress.progress().units() >= units) return true;
          }
          return false;
        })
        .has_value();
  }
  v1::ContentReply Read(const v1::ReadContentRequest& request) {
    v1::AgentCommand command;
    command.mutable_content()->set_request_id(++request_id_);
    *command.mutable_content()->mutable_request() = request;
    scheduler_->Send(command);
    const auto message = scheduler_->WaitFor([&](const v1::AgentMessage& candidate) {
      return candidate.content_reply().request_id() == request_id_;
    });
    return message.value_or(v1::AgentMessage()).content_reply();
  }
  v1::ContentReply ReadStdout(int64_t job) {
    v1::ReadContentRequest request;
    request.set_kind(v1::CONTENT_KIND_STDOUT);
    request.set_job_id(job);
    request.set_attempt(1);
    return Read(request);
  }

  std::vector<v1::TraceRecord> ReadTrace() const {
    std::vector<v1::TraceRecord> records;
    const int file = open((folder_ + "/state/trace/trace.pb").c_str(), O_RDONLY);
    google::protobuf::io::FileInputStream input(file);
    input.SetCloseOnDelete(true);
    v1::TraceRecord record;
    bool is_end = false;
    while (google::protobuf::util::ParseDelimitedFromZeroCopyStream(&record, &input, &is_end)) {
      records.push_back(record);
      record.Clear();
    }
    return records;
  }

  std::string folder_;
  v1::AgentConfig config_;
  std::unique_ptr<ScriptedScheduler> scheduler_;
  std::unique_ptr<Agent> agent_;
  int64_t request_id_ = 0;
};

TEST_F(AgentTest, SaysHelloWithItsDevices) {
  StartAgent();
  const auto hello =
      scheduler_->WaitFor([](const v1::AgentMessage& message) { return message.has_hello(); });
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->hello().node(), "node");
  EXPECT_FALSE(hello->hello().boot_id().empty());
  ASSERT_EQ(hello->hello().devices_size(), 1);
  EXPECT_EQ(hello->hello().devices(0).name(), "cpu0");
  EXPECT_EQ(hello->hello().devices(0).memory_bytes(), int64_t{1} << 30);
  EXPECT_FALSE(hello->hello().devices(0).has_main_rank());
}

TEST_F(AgentTest, RunsTaskAndTellsItsEndUntilItIsAcknowledged) {
  StartAgent();
  Launch(1, {"sh", "-c", "echo hello; exit 3"});
  EXPECT_GT(WaitForStart(1).value_or(v1::AttemptStarted()).pid(), 0);
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_EXITED);
  EXPECT_EQ(end.exit_code(), 3);

  // Told again, with the reports, as long as nobody acknowledges.
  scheduler_->Forget();
  WaitForEnd(1);
  Acknowledge(1);
  const v1::ContentReply log = ReadStdout(1);
  EXPECT_EQ(log.content().data(), "hello\n");
  EXPECT_TRUE(log.content().at_end());
  EXPECT_TRUE(log.content().final());
  // The answer came after the acknowledgement: nothing about job 1 follows the next reports.
  scheduler_->Forget();
  const auto is_report = [](const v1::AgentMessage& message) { return message.has_report(); };
  ASSERT_TRUE(scheduler_->WaitFor(is_report).has_value());
  EXPECT_EQ(scheduler_->Count([](const v1::AgentMessage& m) { return m.has_attempt_ended(); }), 0u);
}

TEST_F(AgentTest, NamesCommandThatDoesNotExist) {
  StartAgent();
  Launch(1, {"no-such-program"});
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_LAUNCH_FAILED);
  EXPECT_EQ(end.text(), "command not found: no-such-program");
}

TEST_F(AgentTest, EndsTaskThatGrowsOverItsCap) {
  StartAgent();
  Launch(1, {"python3", "-c", "held = []\nwhile True: held.append(bytearray(4 << 20))"},
         int64_t{64} << 20);
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_OUT_OF_MEMORY);
  EXPECT_THAT(end.text(), HasSubstr("out_of_memory (cap 64 MiB, peak "));
  // To the page where the kernel keeps the cap, above it where agentd looks.
  EXPECT_GT(end.progress().memory_peak_bytes(), int64_t{63} << 20);
  EXPECT_NE(end.progress().memory_guard(), "");
}

TEST_F(AgentTest, CancelledTaskIsAskedToStopAndReportedAsCancelled) {
  StartAgent();
  Launch(1, {"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.01; done"});
  ASSERT_TRUE(WaitForStart(1).has_value());
  Stop(1, v1::END_CAUSE_CANCELLED);
  EXPECT_EQ(WaitForEnd(1).cause(), v1::END_CAUSE_CANCELLED);
}

TEST_F(AgentTest, AnswersStopOfAnAttemptItDoesNotHave) {
  StartAgent();
  Stop(9, v1::END_CAUSE_CANCELLED);
  EXPECT_EQ(WaitForEnd(9).cause(), v1::END_CAUSE_CANCELLED);
}

TEST_F(AgentTest, FillsBubblesOfAMainRankAndRecordsEdgesAndUnits) {
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  ASSERT_EQ(rank.code(), PF_OK) << rank.error();
  Fill(1, 30);
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_EXITED);
  EXPECT_EQ(end.exit_code(), 0) << end.text();
  EXPECT_EQ(end.progress().units(), 30);
  EXPECT_GT(end.progress().unit_cpu_ns(), 30 * 150'000);
  agent_->Shutdown();

  int edges = 0;
  int units = 0;
  int rank_key = 0;
  int task_key = 0;
  bool is_ended = false;
  for (const v1::TraceRecord& record : ReadTrace()) {
    if (record.has_rank_attached()) rank_key = record.rank_attached().rank_key();
    if (record.has_task_attached()) task_key = record.task_attached().task_key();
    edges += record.has_edge() && record.edge().rank_key() == rank_key;
    units += record.has_unit() && record.unit().task_key() == task_key &&
             record.unit().rank_key() == rank_key;
    is_ended = is_ended || (record.has_task_ended() && record.task_ended().task_key() == task_key);
  }
  EXPECT_EQ(units, 30);
  EXPECT_GT(edges, 4 * 8);
  EXPECT_TRUE(is_ended);
}

TEST_F(AgentTest, TaskStaysWhileItsMainJobIsAwayAndGoesOnWithTheNext) {
  StartAgent();
  auto rank = std::make_unique<MainRank>(MainRank::Options{.socket = config_.socket()});
  Fill(1, 0);
  ASSERT_TRUE(WaitForUnits(1, 5));
  rank.reset();
  scheduler_->Forget();
  const auto is_alone = [](const v1::AgentMessage& message) {
    return message.has_report() && !message.report().devices(0).has_main_rank();
  };
  const auto alone = scheduler_->WaitFor(is_alone);
  ASSERT_TRUE(alone.has_value());
  const int64_t units_before = alone->report().progress(0).progress().units();
  rank = std::make_unique<MainRank>(MainRank::Options{.socket = config_.socket()});
  EXPECT_TRUE(WaitForUnits(1, units_before + 5));
}

TEST_F(AgentTest, MainJobInReportModeIsMeasuredButNotFilled) {
  StartAgent();
  const MainRank rank({.socket = config_.socket(), .mode = PF_MODE_REPORT});
  Fill(1, 0);
  const auto report = scheduler_->WaitFor([](const v1::AgentMessage& message) {
    return message.report().bubbles_size() == 1 && message.report().bubbles(0).count() >= 50 &&
           message.report().progress_size() == 1;
  });
  ASSERT_TRUE(report.has_value());
  const v1::BubbleStats& bubble = report->report().bubbles(0);
  EXPECT_EQ(bubble.main_job(), "gpt");
  EXPECT_EQ(bubble.bubble_class(), v1::BUBBLE_CLASS_MIDDLE);
  EXPECT_GE(bubble.p50_ns(), 6'000'000);
  EXPECT_EQ(report->report().progress(0).progress().units(), 0);
  EXPECT_EQ(report->report().devices(0).main_rank().mode(), v1::FILL_MODE_REPORT);
}

TEST_F(AgentTest, SecondRankOnADeviceAndUnknownDeviceAreRefusedWithOneLine) {
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  const MainRank second({.socket = config_.socket()});
  EXPECT_EQ(second.code(), PF_REFUSED);
  EXPECT_THAT(second.error(), HasSubstr("device cpu0 has rank 0 of gpt"));
  const MainRank lost({.socket = config_.socket(), .device = "cpu7"});
  EXPECT_EQ(lost.code(), PF_REFUSED);
  EXPECT_THAT(lost.error(), HasSubstr("cpu7"));
}

TEST_F(AgentTest, KeepsItsTasksAndRegistersAgainWhenSchedulerdRestarts) {
  StartAgent();
  Launch(1, {"sleep", "600"});
  ASSERT_TRUE(WaitForStart(1).has_value());
  const auto is_hello = [](const v1::AgentMessage& message) { return message.has_hello(); };
  const std::string boot_id = scheduler_->WaitFor(is_hello)->hello().boot_id();
  const int port = scheduler_->port();
  scheduler_.reset();
  scheduler_ = std::make_unique<ScriptedScheduler>(ScriptedScheduler::Options{.port = port});
  const auto hello = scheduler_->WaitFor(is_hello);
  ASSERT_TRUE(hello.has_value());
  EXPECT_EQ(hello->hello().boot_id(), boot_id);
  ASSERT_EQ(hello->hello().live_attempts_size(), 1);
  EXPECT_EQ(hello->hello().live_attempts(0).job_id(), 1);
  // It does not want the attempt any more.
  Stop(1, v1::END_CAUSE_LOST);
  EXPECT_EQ(WaitForEnd(1).cause(), v1::END_CAUSE_LOST);
}

TEST_F(AgentTest, EndThatSchedulerdMissedIsToldWhenItIsBack) {
  StartAgent();
  Launch(1, {"sh", "-c", "read line < go"});
  ASSERT_TRUE(WaitForStart(1).has_value());
  const int port = scheduler_->port();
  scheduler_.reset();
  // A pipe in its folder that it waits for.
  const std::string go = folder_ + "/state/attempts/1.1/work/go";
  std::ofstream(go + ".new") << "x\n";
  std::filesystem::rename(go + ".new", go);
  scheduler_ = std::make_unique<ScriptedScheduler>(ScriptedScheduler::Options{.port = port});
  EXPECT_EQ(WaitForEnd(1).cause(), v1::END_CAUSE_EXITED);
}

TEST_F(AgentTest, NewerAttemptOfAJobEndsTheOlderOne) {
  StartAgent();
  Launch(1, {"sleep", "600"});
  ASSERT_TRUE(WaitForStart(1).has_value());
  v1::AgentCommand launch;
  *launch.mutable_launch()->mutable_key() = KeyOf(1, 101);
  launch.mutable_launch()->mutable_key()->set_attempt(2);
  launch.mutable_launch()->set_device("cpu0");
  launch.mutable_launch()->mutable_spec()->add_command("true");
  launch.mutable_launch()->mutable_spec()->set_memory_bytes(1 << 28);
  scheduler_->Send(launch);
  const auto newer = scheduler_->WaitFor([](const v1::AgentMessage& message) {
    return message.has_attempt_ended() && message.attempt_ended().key().fence() == 101;
  });
  ASSERT_TRUE(newer.has_value());
  EXPECT_EQ(newer->attempt_ended().exit_code(), 0);
  const auto older = scheduler_->WaitFor([](const v1::AgentMessage& message) {
    return message.has_attempt_ended() && message.attempt_ended().key().fence() == 100;
  });
  ASSERT_TRUE(older.has_value());
  EXPECT_EQ(older->attempt_ended().cause(), v1::END_CAUSE_LOST);
}

TEST_F(AgentTest, GatesStandStillWhileSchedulerdIsSilentBeyondItsLease) {
  scheduler_.reset();
  scheduler_ = std::make_unique<ScriptedScheduler>(
      ScriptedScheduler::Options{.lease = absl::Milliseconds(700)});
  config_.set_scheduler(scheduler_->address());
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  v1::AgentCommand keep_alive;
  keep_alive.mutable_keep_alive();
  Fill(1, 0);
  // Reports come each second; each is answered once, so that a window of 700 ms is open after it.
  int64_t units = 0;
  for (int reports = 0; reports < 60 && units == 0; ++reports) {
    scheduler_->Forget();
    const auto report = scheduler_->WaitFor([](const v1::AgentMessage& message) {
      return message.has_report() && message.report().progress_size() == 1;
    });
    ASSERT_TRUE(report.has_value());
    units = report->report().progress(0).progress().units();
    scheduler_->Send(keep_alive);
  }
  EXPECT_GT(units, 0);

  // Silence: of three reports in a row the last two say the same.
  std::vector<int64_t> seen;
  while (seen.size() < 4) {
    scheduler_->Forget();
    const auto report = scheduler_->WaitFor([](const v1::AgentMessage& message) {
      return message.has_report() && message.report().progress_size() == 1;
    });
    ASSERT_TRUE(report.has_value());
    seen.push_back(report->report().progress(0).progress().units());
  }
  EXPECT_EQ(seen[2], seen[3]);

  scheduler_->Send(keep_alive);
  EXPECT_TRUE(WaitForUnits(1, seen[3] + 1));
}

TEST_F(AgentTest, ServesItsTraceInPieces) {
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  v1::ReadContentRequest request;
  request.set_kind(v1::CONTENT_KIND_TRACE);
  request.set_node("node");
  request.set_limit(10);
  const v1::ContentReply first = Read(request);
  EXPECT_EQ(first.error_code(), 0);
  EXPECT_EQ(first.content().data().size(), 10u);
  EXPECT_EQ(first.content().next_offset(), 10);
  request.set_offset(-1);
  EXPECT_NE(Read(request).error_code(), 0);
}

TEST_F(AgentTest, RefusesLogsItDoesNotHave) {
  StartAgent();
  const v1::ContentReply reply = ReadStdout(77);
  EXPECT_EQ(reply.error_code(), static_cast<int>(absl::StatusCode::kNotFound));
  EXPECT_THAT(reply.error_text(), HasSubstr("job 77"));
}

TEST_F(AgentTest, ShutdownStopsTasksReportsThemLostAndRemovesTheSocket) {
  StartAgent();
  Launch(1, {"sleep", "600"});
  const pid_t pid = static_cast<pid_t>(WaitForStart(1).value_or(v1::AttemptStarted()).pid());
  agent_->Shutdown();
  EXPECT_FALSE(ReadProcess(pid).has_value());
  const v1::AttemptEnded end = WaitForEnd(1);
  EXPECT_EQ(end.cause(), v1::END_CAUSE_LOST);
  EXPECT_EQ(end.text(), "agentd was stopped");
  agent_.reset();
  EXPECT_FALSE(std::filesystem::exists(config_.socket()));
}

TEST_F(AgentTest, ServesMainJobsWithoutSchedulerd) {
  scheduler_.reset();
  StartAgent();
  const MainRank rank({.socket = config_.socket()});
  EXPECT_EQ(rank.code(), PF_OK) << rank.error();
}

TEST_F(AgentTest, RefusesSocketAndStateFolderInUse) {
  StartAgent();
  v1::AgentConfig same_state = config_;
  EXPECT_EQ(Agent::Create(same_state, {SystemClock()}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  v1::AgentConfig same_socket = config_;
  same_socket.set_state_dir(folder_ + "/state2");
  const absl::Status status = Agent::Create(same_socket, {SystemClock()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is in use by another agentd"));
}

TEST_F(AgentTest, RefusesCoresThatDoNotExistAndFoldersThatCannotBeMade) {
  v1::AgentConfig cores = config_;
  cores.mutable_devices(0)->set_cores("0-4095");
  EXPECT_EQ(Agent::Create(cores, {SystemClock()}).status().code(),
            absl::StatusCode::kInvalidArgument);
  v1::AgentConfig state = config_;
  state.set_state_dir("/proc/pipefill");
  EXPECT_EQ(Agent::Create(state, {SystemClock()}).status().code(),
            absl::StatusCode::kPermissionDenied);
}

// A rank in a process of its own, which can be stopped like one whose peer died.
class RankProcess {
 public:
  RankProcess(const std::string& socket, const std::string& device) {
    const std::string program =
        std::filesystem::absolute("tests/integration/looping_rank").string();
    std::string socket_variable = absl::StrCat("PIPEFILL_SOCKET=", socket);
    const char* const arguments[] = {program.c_str(), device.c_str(), nullptr};
    const char* const variables[] = {socket_variable.c_str(), nullptr};
    EXPECT_EQ(posix_spawn(&pid_, program.c_str(), nullptr, nullptr,
                          const_cast<char* const*>(arguments), const_cast<char* const*>(variables)),
              0);
  }
  ~RankProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  RankProcess(const RankProcess&) = delete;
  RankProcess& operator=(const RankProcess&) = delete;

  void Stop() const { kill(pid_, SIGSTOP); }
  void GoOn() const { kill(pid_, SIGCONT); }

 private:
  pid_t pid_ = 0;
};

// Of the last report; nothing if it has none.
std::optional<v1::BubbleStats> FailuresIn(const v1::AgentMessage& message) {
  for (const v1::BubbleStats& bubble : message.report().bubbles()) {
    if (bubble.bubble_class() == v1::BUBBLE_CLASS_FAILURE) return bubble;
  }
  return std::nullopt;
}

TEST_F(AgentTest, DeviceOfAMainJobThatStandsStillIsFilledUntilItGoesOn) {
  config_.mutable_failure()->set_after("500ms");
  StartAgent();
  const RankProcess rank(config_.socket(), "cpu0");
  Fill(1, 0);
  ASSERT_TRUE(WaitForUnits(1, 10));
  rank.Stop();
  const auto is_filled = [](const v1::AgentMessage& message) {
    const std::optional<v1::BubbleStats> failures = FailuresIn(message);
    return failures.has_value() && failures->offer() == v1::BUBBLE_OFFER_YES;
  };
  ASSERT_TRUE(scheduler_->WaitFor(is_filled).has_value());
  scheduler_->Forget();
  // A report later it is still open.
  ASSERT_TRUE(scheduler_->WaitFor(is_filled).has_value());
  rank.GoOn();
  const auto closed = scheduler_->WaitFor([](const v1::AgentMessage& message) {
    const std::optional<v1::BubbleStats> failures = FailuresIn(message);
    return failures.has_value() && failures->offer() != v1::BUBBLE_OFFER_YES;
  });
  ASSERT_TRUE(closed.has_value());
  const v1::BubbleStats failures = *FailuresIn(*closed);
  // How much depends on what else the machine has to do.
  EXPECT_GT(failures.filled_ns(), 0);
  EXPECT_GE(failures.bubble_ns(), 500'000'000);
  const int64_t units = closed->report().progress(0).progress().units();
  EXPECT_TRUE(WaitForUnits(1, units + 10));
  agent_.reset();
  int began = 0;
  int ended = 0;
  for (const v1::TraceRecord& record : ReadTrace()) {
    began += record.has_failure_began() ? 1 : 0;
    ended += record.has_failure_ended() ? 1 : 0;
  }
  EXPECT_GE(began, 1);
  EXPECT_EQ(ended, began);
}

}  // namespace
}  // namespace pipefill
