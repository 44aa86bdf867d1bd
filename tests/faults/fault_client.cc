// The users and the agent of the fault tests, in one process that is never killed. Its standard
// output is their own journal, one line for each thing that they were told, in order:
//
//   try KEY              a submission is sent
//   job KEY ID           it was answered
//   cancelled ID         so was a cancellation
//   launched ID ATTEMPT FENCE    the agent was told to
//   ended ID ATTEMPT FENCE       its end was acknowledged
//   seen ID KEY STATE ATTEMPTS SUCCESSES LIVE     one known job (verify)
//
//   fault_client SCENARIO ADDRESS     until all is done, or schedulerd is gone (status 3)
//   fault_client verify ADDRESS       all known jobs
//   fault_client submit-again ADDRESS KEY...      the same keys and specs again
//   fault_client finish ADDRESS [ID ATTEMPT FENCE]...   an agent that comes back with these live
//                                     attempts, and runs everything that waits to its end
//   fault_client load ADDRESS NAME    submissions and cancellations until schedulerd is gone
//   fault_client fill ADDRESS KEY COMMAND...    one job that runs the command, for real agents
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/scheduler.grpc.pb.h"
#include "scheduler/testing/scripted_agent.h"

namespace pipefill {
namespace {

using scheduler::ScriptedAgent;

constexpr int kGone = 3;

void Tell(const std::string& line) { std::cout << line << std::endl; }

std::string KeyText(const v1::AttemptKey& key) {
  return absl::StrCat(key.job_id(), " ", key.attempt(), " ", key.fence());
}

class User {
 public:
  explicit User(const std::string& address)
      : stub_(v1::SchedulerService::NewStub(
            grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

  // 0 = schedulerd is gone.
  int64_t Submit(const std::string& key, const std::vector<std::string>& command = {"true"},
                 int64_t memory_bytes = 1 << 20) {
    v1::SubmitJobRequest request;
    request.set_key(key);
    request.mutable_spec()->set_name(key);
    for (const std::string& word : command) request.mutable_spec()->add_command(word);
    request.mutable_spec()->set_memory_bytes(memory_bytes);
    v1::SubmitJobResponse response;
    Tell(absl::StrCat("try ", key));
    grpc::ClientContext context;
    scheduler::SetTestDeadline(&context);
    const grpc::Status status = stub_->SubmitJob(&context, request, &response);
    if (!status.ok()) return Failed(status);
    Tell(absl::StrCat("job ", key, " ", response.job_id()));
    return response.job_id();
  }

  int64_t Cancel(int64_t id) {
    v1::CancelJobRequest request;
    request.set_job_id(id);
    v1::Job job;
    grpc::ClientContext context;
    scheduler::SetTestDeadline(&context);
    const grpc::Status status = stub_->CancelJob(&context, request, &job);
    if (!status.ok()) return Failed(status);
    Tell(absl::StrCat("cancelled ", id));
    return id;
  }

  // Until a snapshot is there. False = schedulerd is gone.
  bool WaitForSnapshot() {
    for (int tries = 0; tries < 5'000; ++tries) {
      grpc::ClientContext context;
      scheduler::SetTestDeadline(&context);
      v1::GetStatusResponse response;
      const grpc::Status status = stub_->GetStatus(&context, v1::GetStatusRequest(), &response);
      if (!status.ok()) return Failed(status) != 0;
      if (response.snapshot_unix_ns() != 0) return true;
    }
    return true;
  }

  bool List() {
    v1::ListJobsRequest request;
    request.set_limit(1'000);
    do {
      grpc::ClientContext context;
      scheduler::SetTestDeadline(&context);
      v1::ListJobsResponse response;
      const grpc::Status status = stub_->ListJobs(&context, request, &response);
      if (!status.ok()) return Failed(status) != 0;
      for (const v1::Job& job : response.jobs()) TellJob(job);
      request.set_cursor(response.next_cursor());
    } while (request.cursor() != 0);
    return true;
  }

 private:
  // Says what went wrong unless schedulerd is just gone.
  static int64_t Failed(const grpc::Status& status) {
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) {
      Tell(absl::StrCat("error ", status.error_message()));
    }
    return 0;
  }

  static void TellJob(const v1::Job& job) {
    int successes = 0;
    int live = 0;
    for (const v1::Attempt& attempt : job.attempts()) {
      const bool is_ended = attempt.state() == v1::ATTEMPT_STATE_ENDED;
      if (!is_ended) ++live;
      if (is_ended && attempt.end_cause() == v1::END_CAUSE_EXITED && attempt.exit_code() == 0) {
        ++successes;
      }
      Tell(absl::StrCat("attempt ", job.id(), " ", attempt.number(), " ", attempt.fence()));
    }
    Tell(absl::StrCat("seen ", job.id(), " ", job.spec().name(), " ",
                      v1::JobState_Name(job.state()), " ", job.attempts_size(), " ", successes, " ",
                      live));
  }

  const std::unique_ptr<v1::SchedulerService::Stub> stub_;
};

// Runs the attempts that it is told to, each to its end, until `ends` ends are acknowledged.
bool RunAgent(ScriptedAgent& agent, int ends) {
  while (ends > 0) {
    const auto command = agent.NextCommand();
    if (!command.has_value()) return false;
    if (command->has_launch()) {
      const v1::AttemptKey& key = command->launch().key();
      Tell(absl::StrCat("launched ", KeyText(key)));
      agent.SendStarted(key);
      agent.SendExited(key, 0);
    } else if (command->has_end_acknowledged()) {
      Tell(absl::StrCat("ended ", KeyText(command->end_acknowledged().key())));
      --ends;
    }
  }
  return true;
}

int RunSubmit(const std::string& address) {
  User user(address);
  for (int i = 1; i <= 3; ++i) {
    if (user.Submit(absl::StrCat("submit-", i)) == 0) return kGone;
  }
  return 0;
}

int RunCancel(const std::string& address) {
  User user(address);
  for (int i = 1; i <= 2; ++i) {
    const int64_t id = user.Submit(absl::StrCat("cancel-", i));
    if (id == 0 || user.Cancel(id) == 0) return kGone;
  }
  return 0;
}

// Ends at once, or after the jobs have run: dispatch alone, or complete.
int RunJobs(const std::string& address, bool is_to_end) {
  ScriptedAgent agent(address, {});
  User user(address);
  for (int i = 1; i <= 2; ++i) {
    if (user.Submit(absl::StrCat("run-", i)) == 0) return kGone;
    if (is_to_end) {
      if (!RunAgent(agent, 1)) return kGone;
      continue;
    }
    if (i > 1) continue;  // the device has one seat
    const auto command = agent.NextCommand();
    if (!command.has_value()) return kGone;
    Tell(absl::StrCat("launched ", KeyText(command->launch().key())));
    agent.SendStarted(command->launch().key());
  }
  return 0;
}

// With a configuration of small limits: snapshots, removal of records, and of history.
int RunCompact(const std::string& address) {
  User user(address);
  for (int i = 1; i <= 12; ++i) {
    const int64_t id = user.Submit(absl::StrCat("compact-", i));
    if (id == 0) return kGone;
    if (i % 2 == 0 && user.Cancel(id) == 0) return kGone;
    if (i % 4 == 0 && !user.WaitForSnapshot()) return kGone;
  }
  return 0;
}

int RunLoad(const std::string& address, const std::string& name) {
  User user(address);
  for (int i = 1;; ++i) {
    const int64_t id = user.Submit(absl::StrCat(name, "-", i));
    if (id == 0) return kGone;
    if (i % 3 == 0 && user.Cancel(id) == 0) return kGone;
  }
}

int RunFinish(const std::string& address, const std::vector<std::string>& words) {
  ScriptedAgent::Options options;
  for (size_t i = 0; i + 2 < words.size(); i += 3) {
    v1::AttemptKey& key = options.live_attempts.emplace_back();
    key.set_job_id(std::atoll(words[i].c_str()));
    key.set_attempt(std::atoi(words[i + 1].c_str()));
    key.set_fence(std::strtoull(words[i + 2].c_str(), nullptr, 10));
  }
  ScriptedAgent agent(address, options);
  // As an agent that has run on meanwhile: its ends are told again until they are acknowledged.
  for (const v1::AttemptKey& key : options.live_attempts) agent.SendExited(key, 0);
  if (!RunAgent(agent, static_cast<int>(options.live_attempts.size()))) return kGone;
  User user(address);
  for (int i = 1; i <= 2; ++i) {
    if (user.Submit(absl::StrCat("last-", i)) == 0) return kGone;
  }
  // One seat: the last job's end comes after all others.
  while (const auto command = agent.NextCommand()) {
    if (!command->has_launch()) continue;
    const v1::AttemptKey key = command->launch().key();
    const bool is_last = command->launch().spec().name() == "last-2";
    Tell(absl::StrCat("launched ", KeyText(key)));
    agent.SendStarted(key);
    agent.SendExited(key, 0);
    if (!is_last) continue;
    return RunAgent(agent, 1) ? 0 : kGone;
  }
  return kGone;
}

int RunFill(const std::string& address, const std::vector<std::string>& words) {
  constexpr int64_t kMemoryBytes = int64_t{64} << 20;
  if (words.size() < 2) return 2;
  const std::vector<std::string> command(words.begin() + 1, words.end());
  return User(address).Submit(words[0], command, kMemoryBytes) == 0 ? kGone : 0;
}

int Run(const std::string& what, const std::string& address,
        const std::vector<std::string>& words) {
  if (what == "submit" || what == "stop") return RunSubmit(address);
  if (what == "cancel") return RunCancel(address);
  if (what == "dispatch") return RunJobs(address, /*is_to_end=*/false);
  if (what == "complete") return RunJobs(address, /*is_to_end=*/true);
  if (what == "compact") return RunCompact(address);
  if (what == "load" && !words.empty()) return RunLoad(address, words[0]);
  if (what == "finish") return RunFinish(address, words);
  if (what == "fill") return RunFill(address, words);
  User user(address);
  if (what == "verify") return user.List() ? 0 : kGone;
  if (what != "submit-again") return 2;
  for (const std::string& key : words) {
    if (user.Submit(key) == 0) return kGone;
  }
  return 0;
}

}  // namespace
}  // namespace pipefill

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return pipefill::Run(argv[1], argv[2], {argv + 3, argv + argc});
}
