// A schedulerd for tests that says what the test tells it to say, over real streams.
//
// Thread-safe.
#ifndef AGENT_TESTING_SCRIPTED_SCHEDULER_H_
#define AGENT_TESTING_SCRIPTED_SCHEDULER_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/agent.grpc.pb.h"

namespace pipefill {

class ScriptedScheduler : public v1::AgentService::Service {
 public:
  using StreamToAgent = grpc::ServerReaderWriter<v1::AgentCommand, v1::AgentMessage>;

  struct Options {
    int port = 0;  // 0 = any free one
    absl::Duration lease = absl::Minutes(10);
    bool is_mute = false;       // never says Welcome
    int64_t heard_sent_ns = 0;  // with the Welcome
  };

  explicit ScriptedScheduler(const Options& options);
  // Breaks all streams.
  ~ScriptedScheduler() override;

  int port() const { return port_; }
  std::string address() const;

  // The first message so far, or within a minute, for which `is_wanted` holds. What an agent
  // says in all its streams is kept.
  std::optional<v1::AgentMessage> WaitFor(
      const std::function<bool(const v1::AgentMessage&)>& is_wanted);
  // How many messages so far fulfil `is_wanted`.
  size_t Count(const std::function<bool(const v1::AgentMessage&)>& is_wanted);
  void Forget();
  // To the newest stream; waits for one first.
  void Send(const v1::AgentCommand& command);
  // Ends the newest stream with an error.
  void BreakStream();

  grpc::Status Session(grpc::ServerContext* context, StreamToAgent* stream) override;

 private:
  const Options options_;
  // A message to a loop would not do: tests and gRPC's threads meet here, and there is no loop.
  absl::Mutex mutex_;
  std::vector<v1::AgentMessage> received_ ABSL_GUARDED_BY(mutex_);
  bool is_closing_ ABSL_GUARDED_BY(mutex_) = false;
  StreamToAgent* stream_ ABSL_GUARDED_BY(mutex_) = nullptr;
  grpc::ServerContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace pipefill

#endif  // AGENT_TESTING_SCRIPTED_SCHEDULER_H_
