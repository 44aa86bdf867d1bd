#include "scheduler/service/agent_service.h"

#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "common/bounded_queue.h"
#include "common/log.h"
#include "common/status.h"
#include "common/status_grpc.h"
#include "scheduler/service/agent_conversation.h"
#include "scheduler/service/finish.h"

namespace pipefill::scheduler {
namespace {

// More than an agent can ask for with one hello (kLiveAttemptsMax in agent_convert.cc), or it would
// be thrown out each time it dials.
constexpr size_t kCommandsMax = 8192;
constexpr absl::Duration kAgentRetryAfter = absl::Seconds(10);

// One session. gRPC owns it: it deletes itself in OnDone.
//
//   open --End()--> ending --(write under way is done)--> finished --OnDone--> deleted
class Stream : public grpc::ServerBidiReactor<v1::AgentMessage, v1::AgentCommand>,
               public AgentStream {
 public:
  // `agents` counts it already.
  Stream(const AgentService::Dependencies& dependencies, LimitedCount& agents,
         grpc::CallbackServerContext* context)
      : dependencies_(dependencies),
        agents_(agents),
        context_(context),
        session_(dependencies.streams.Enter(this)),
        conversation_(session_) {}

  // --- AgentStream ---

  void Write(v1::AgentCommand command) override {
    absl::MutexLock lock(&mutex_);
    if (end_status_.has_value()) return;
    if (!queue_.Push(std::move(command))) {
      spdlog::warn("agent_too_slow session={} queue={}; stream ended", session_, kCommandsMax);
      EndLocked(absl::ResourceExhaustedError(
          absl::StrCat("more than ", kCommandsMax, " commands wait for the agent; dial again")));
      return;
    }
    WriteNextLocked();
  }

  void ReadNext() override {
    absl::MutexLock lock(&mutex_);
    conversation_.OnDealtWith();
    if (!end_status_.has_value()) StartRead(&incoming_);
  }

  void End(const absl::Status& status) override {
    absl::MutexLock lock(&mutex_);
    EndLocked(status);
  }

  // --- Called by gRPC ---

  void OnReadDone(bool ok) override {
    if (!ok) {
      End(absl::OkStatus());
      return;
    }
    const absl::Status status = Receive();
    if (!status.ok()) End(status);
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    is_writing_ = false;
    if (!ok) EndLocked(absl::UnavailableError("the agent's stream broke"));
    if (end_status_.has_value()) {
      FinishLocked();
    } else {
      WriteNextLocked();
    }
  }

  void OnCancel() override { End(absl::CancelledError("the agent's stream broke")); }

  void OnDone() override {
    dependencies_.streams.Leave(session_);
    dependencies_.relay.EndSession(session_);
    // Not a user's request, so it is never refused.
    dependencies_.loop.Post(StreamEnded{session_}).IgnoreError();
    agents_.Leave();
    delete this;
  }

 private:
  // Deals with `incoming_`, and has the next message read.
  absl::Status Receive() {
    if (incoming_.has_content_reply() && HasHello()) {
      RelayContent();
      ReadNext();
      return absl::OkStatus();
    }
    AgentSaid said{session_, {}, [&streams = dependencies_.streams, session = session_] {
                     streams.ReadNext(session);
                   }};
    ASSIGN_OR_RETURN(said.message, Take());
    // Seconds may pass until the next one, on thousands of streams.
    incoming_.Clear();
    return dependencies_.loop.Post(std::move(said));
  }

  bool HasHello() {
    absl::MutexLock lock(&mutex_);
    return conversation_.has_hello();
  }

  absl::StatusOr<AgentConversation::Said> Take() {
    absl::MutexLock lock(&mutex_);
    return conversation_.Take(incoming_);
  }

  void RelayContent() {
    v1::ContentReply& reply = *incoming_.mutable_content_reply();
    if (reply.error_code() != 0) {
      dependencies_.relay.FinishFrom(
          session_, reply.request_id(),
          absl::Status(static_cast<absl::StatusCode>(reply.error_code()), reply.error_text()));
      return;
    }
    dependencies_.relay.FinishFrom(session_, reply.request_id(),
                                   std::move(*reply.mutable_content()));
  }

  void WriteNextLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_writing_) return;
    std::optional<v1::AgentCommand> next = queue_.Pop();
    if (!next.has_value()) return;
    outgoing_ = *std::move(next);
    outgoing_.set_heard_sent_ns(conversation_.heard_sent_ns());
    is_writing_ = true;
    StartWrite(&outgoing_);
  }

  void EndLocked(const absl::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (end_status_.has_value()) return;
    end_status_ = status;
    if (is_writing_) {
      // A write to an agent that does not read would never be done.
      context_->TryCancel();
      return;
    }
    FinishLocked();
  }

  void FinishLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (is_finished_) return;
    is_finished_ = true;
    Finish(ToGrpc(*end_status_));
  }

  const AgentService::Dependencies dependencies_;
  LimitedCount& agents_;
  grpc::CallbackServerContext* const context_;  // gRPC's; outlives this
  const SessionId session_;
  // Used by reads only, of which there is one at a time.
  v1::AgentMessage incoming_;

  // Reads and ends come from gRPC's threads, writes from the scheduler loop.
  absl::Mutex mutex_;
  BoundedQueue<v1::AgentCommand> queue_ ABSL_GUARDED_BY(mutex_){kCommandsMax, Overflow::kReject};
  v1::AgentCommand outgoing_ ABSL_GUARDED_BY(mutex_);
  AgentConversation conversation_ ABSL_GUARDED_BY(mutex_);
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_status_ ABSL_GUARDED_BY(mutex_);
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
};

// Ends at once, with an error.
class RefusedStream : public grpc::ServerBidiReactor<v1::AgentMessage, v1::AgentCommand> {
 public:
  RefusedStream(grpc::CallbackServerContext* context, const absl::Status& status) {
    FinishCall(context, this, status);
  }
  void OnDone() override { delete this; }
};

}  // namespace

grpc::ServerBidiReactor<v1::AgentMessage, v1::AgentCommand>* AgentService::Session(
    grpc::CallbackServerContext* context) {
  if (!agents_.Enter()) {
    return new RefusedStream(context,
                             LimitError({.name = "agents_max",
                                         .max = agents_.max(),
                                         .what = "agents are connected",
                                         .advice = "raise it in schedulerd's configuration",
                                         .retry_after = kAgentRetryAfter}));
  }
  auto* stream = new Stream(dependencies_, agents_, context);
  stream->ReadNext();
  return stream;
}

}  // namespace pipefill::scheduler
