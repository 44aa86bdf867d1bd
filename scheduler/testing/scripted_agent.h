// An agent for tests that says what the test tells it to say, over a real stream.
//
// Thread-compatible.
#ifndef SCHEDULER_TESTING_SCRIPTED_AGENT_H_
#define SCHEDULER_TESTING_SCRIPTED_AGENT_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/agent.grpc.pb.h"

namespace pipefill::scheduler {

// For calls of tests: long enough on a busy machine, short enough to end a hanging test.
void SetTestDeadline(grpc::ClientContext* context);

// A device with a main job whose bubbles may be filled.
v1::Device FilledDevice(const std::string& name, int64_t memory_bytes);

class ScriptedAgent {
 public:
  struct Options {
    std::string node = "a";
    std::string boot_id = "boot-1";
    std::vector<v1::Device> devices = {FilledDevice("cpu0", int64_t{2} << 30)};
    std::vector<v1::AttemptKey> live_attempts;
  };

  // Dials and says hello.
  ScriptedAgent(const std::string& address, const Options& options);
  // Breaks the stream.
  ~ScriptedAgent();

  void Send(const v1::AgentMessage& message);
  void SendStarted(const v1::AttemptKey& key);
  void SendExited(const v1::AttemptKey& key, int exit_code);
  void SendReport();
  // The next command that is neither welcome nor keep-alive; nullopt if the stream ended.
  std::optional<v1::AgentCommand> NextCommand();
  // False if the stream ended; otherwise returns when schedulerd has dealt with all that was sent
  // so far.
  bool Settle();
  // Waits for the end of the stream.
  grpc::Status WaitForEnd();

 private:
  const Options options_;
  grpc::ClientContext context_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::AgentMessage, v1::AgentCommand>> stream_;
  std::deque<v1::AgentCommand> commands_;
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_TESTING_SCRIPTED_AGENT_H_
