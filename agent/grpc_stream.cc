#include "agent/grpc_stream.h"

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/synchronization/notification.h"
#include "common/status_grpc.h"
#include "proto/agent.grpc.pb.h"

namespace pipefill {
namespace {

constexpr int kKeepaliveMs = 10'000;
constexpr int kMessageBytesMax = 16 << 20;

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& target) {
  grpc::ChannelArguments arguments;
  // A channel of its own per dial, so that the back-off is ours and not gRPC's.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Notices a peer that is gone without a word.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  // The messages of a session are small: see scheduler/server.cc.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  return grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments);
}

// Starting reads and writes is the owner's business, so a hold keeps the call alive until he has
// let go.
class GrpcStream : public SchedulerStream,
                   public grpc::ClientBidiReactor<v1::AgentMessage, v1::AgentCommand> {
 public:
  GrpcStream(const std::string& target, Listener listener)
      : listener_(std::move(listener)), stub_(v1::AgentService::NewStub(MakeChannel(target))) {
    stub_->async()->Session(&context_, this);
    AddHold();
    StartCall();
  }
  ~GrpcStream() override {
    context_.TryCancel();
    if (is_held_) RemoveHold();
    done_.WaitForNotification();
  }

  // --- SchedulerStream ---

  void Read() override { StartRead(&command_); }
  void Write(v1::AgentMessage message) override {
    message_ = std::move(message);
    StartWrite(&message_);
  }
  void Cancel() override { context_.TryCancel(); }
  void LetGo() override {
    if (std::exchange(is_held_, false)) RemoveHold();
  }
  const v1::AgentCommand& command() const override { return command_; }

  // --- Called by gRPC ---

  void OnReadDone(bool ok) override { listener_.on_read(ok); }
  void OnWriteDone(bool ok) override { listener_.on_written(ok); }
  void OnDone(const grpc::Status& status) override {
    listener_.on_done(FromGrpc(status));
    done_.Notify();  // last: the owner may destroy this at once
  }

 private:
  const Listener listener_;
  const std::unique_ptr<v1::AgentService::Stub> stub_;
  grpc::ClientContext context_;
  v1::AgentCommand command_;
  v1::AgentMessage message_;
  bool is_held_ = true;
  absl::Notification done_;
};

}  // namespace

DialScheduler DialOverGrpc(std::string target) {
  return [target = std::move(target)](SchedulerStream::Listener listener) {
    return std::make_unique<GrpcStream>(target, std::move(listener));
  };
}

}  // namespace pipefill
