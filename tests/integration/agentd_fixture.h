// A real agentd under a schedulerd that the test plays.
//
// Thread-compatible.
#ifndef TESTS_INTEGRATION_AGENTD_FIXTURE_H_
#define TESTS_INTEGRATION_AGENTD_FIXTURE_H_

#include <fcntl.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/agent.h"
#include "agent/testing/scripted_scheduler.h"
#include "common/clock.h"
#include "proto/local.pb.h"
#include "tests/integration/daemons.h"

namespace pipefill {

inline v1::AttemptKey KeyOf(int64_t job, uint64_t fence = 100) {
  v1::AttemptKey key;
  key.set_job_id(job);
  key.set_attempt(1);
  key.set_fence(fence);
  return key;
}

inline bool IsOf(const v1::AttemptKey& key, int64_t job) { return key.job_id() == job; }

class AgentdFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    scheduler_ = std::make_unique<ScriptedScheduler>(ScriptedScheduler::Options{});
    config_ = NodeConfig(folder_, scheduler_->address());
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
    const int file = open((folder_ + "/agentd/trace/trace.pb").c_str(), O_RDONLY);
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

  const std::string folder_ = TestFolder();
  v1::AgentConfig config_;
  std::unique_ptr<ScriptedScheduler> scheduler_;
  std::unique_ptr<Agent> agent_;
  int64_t request_id_ = 0;
};

}  // namespace pipefill

#endif  // TESTS_INTEGRATION_AGENTD_FIXTURE_H_
