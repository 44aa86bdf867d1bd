// Runs commands in a test against a schedulerd that is only a few maps, in virtual time.
//
// Thread-compatible: used from one thread.
#ifndef CLI_TESTING_COMMAND_FIXTURE_H_
#define CLI_TESTING_COMMAND_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cli/command_line.h"
#include "client/submit/scheduler_client.h"
#include "common/exit_code.h"
#include "common/virtual_time.h"

namespace pipefill {

// What schedulerd holds and answers. Tests fill it in, and change it in the hooks.
struct FakeScheduler {
  struct Log {
    std::string text;
    bool is_final = true;
  };

  // The log of attempt `attempt` of job `job`.
  Log& LogOf(v1::ContentKind kind, int64_t job, int32_t attempt) {
    return logs[{kind, {job, attempt}}];
  }

  std::map<int64_t, v1::Job> jobs;
  std::map<std::pair<v1::ContentKind, std::pair<int64_t, int32_t>>, Log> logs;
  v1::ListDevicesResponse devices;
  v1::ListBubblesResponse bubbles;
  v1::ListMainJobsResponse main_jobs;
  v1::MainJobSettings main_job_settings;
  v1::GetStatusResponse status;
  v1::SubmitJobResponse submit_response;
  v1::PlanJobResponse plan;
  // Of ControlJobs, one after the other; without one all jobs that are named are done.
  std::deque<v1::ControlJobsResponse> control_responses;
  // What watchers are told, one stream after the other; each breaks at its end, and then it is
  // away.
  std::vector<std::vector<v1::WatchJobsResponse>> watch_streams;
  std::vector<std::string> backup;  // its pieces

  // Every call fails with this, unless it is OK.
  absl::Status error;
  // Reads of logs fail with this, unless it is OK.
  absl::Status content_error;
  // Called when a command waits: in WaitJob, and when it pauses.
  std::function<void()> on_wait;

  // What was asked.
  std::string address;
  std::vector<v1::SubmitJobRequest> submitted;
  std::vector<v1::PlanJobRequest> planned;
  std::vector<v1::ControlJobsRequest> controlled;
  v1::ListJobsRequest listed;  // the last one
  std::vector<v1::MoveJobRequest> moved;
  std::vector<v1::WatchJobsRequest> watched;
  int64_t log_since_unix_ns = 0;  // of the last log that was asked for
  std::string bubbles_main_job;
  std::vector<v1::UpdateMainJobRequest> updated;
};

class CommandFixture : public ::testing::Test {
 protected:
  struct Result {
    ExitCode code;
    std::string out;
    std::string err;
  };

  // A command that waits this often without an end fails the test.
  static constexpr int kWaitsMax = 1000;

  // Runs `pipefill` with these words; `input` is its standard input.
  Result Run(const std::vector<std::string>& words, const std::string& input = "");
  // Wall time so long before now.
  int64_t UnixNsAgo(absl::Duration ago) const;
  // A job in `state`, submitted three minutes and twelve seconds ago; it stays in `scheduler`.
  v1::Job& AddJob(int64_t id, const std::string& name, v1::JobState state);
  // A running attempt of `job` on node1/cpu0, started two minutes ago.
  v1::Attempt& AddAttempt(v1::Job& job);
  // A running array with the indexes 0, 5 and 6.
  v1::Job& AddArray(int64_t id);
  // Ends the last attempt one minute ago.
  void EndAttempt(v1::Job& job, v1::EndCause cause, const std::string& text);
  // A client of `scheduler`.
  std::unique_ptr<SchedulerClient> NewClient();
  // Lets time pass, as a command that waits does.
  void Pass(absl::Duration span);

  VirtualTime time;
  FakeScheduler scheduler;
  std::vector<CommandEntry> entries = BasicCommands();
  size_t width = 80;  // of the terminal

 private:
  int waits_ = 0;
};

}  // namespace pipefill

#endif  // CLI_TESTING_COMMAND_FIXTURE_H_
