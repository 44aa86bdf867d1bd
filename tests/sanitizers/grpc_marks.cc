// Tells the thread sanitizer what gRPC hands from one thread to another.
//
// Debian's gRPC is not built with the sanitizer. Its locks are abseil's: lock_marks.cc. What it
// hands over without a lock is marked here, by the tag of the operation and by the server, so that
// nothing is ordered but who starts an operation and who hears of its end.
//
// This file itself is built without the sanitizer: nothing in it may order threads.
#include <grpc/grpc.h>
#include <grpcpp/server.h>
#include <grpcpp/support/server_callback.h>
#include <sanitizer/tsan_interface.h>

#include <utility>

#include "absl/status/status.h"
#include "tests/sanitizers/original.h"

using pipefill::Original;

struct grpc_cq_completion;

// The caller of an operation hands over what the operation and its tag point to.

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* operations, size_t count,
                                      void* tag, void* reserved) {
  static constinit Original<decltype(grpc_call_start_batch)> original("grpc_call_start_batch");
  __tsan_release(tag);
  return original(call, operations, count, tag, reserved);
}

grpc_call_error grpc_server_request_registered_call(
    grpc_server* server, void* method, grpc_call** call, gpr_timespec* deadline,
    grpc_metadata_array* metadata, grpc_byte_buffer** payload, grpc_completion_queue* queue,
    grpc_completion_queue* queue_for_notification, void* tag) {
  static constinit Original<decltype(grpc_server_request_registered_call)> original(
      "grpc_server_request_registered_call");
  __tsan_release(tag);
  return original(server, method, call, deadline, metadata, payload, queue, queue_for_notification,
                  tag);
}

void grpc_server_shutdown_and_notify(grpc_server* server, grpc_completion_queue* queue, void* tag) {
  static constinit Original<decltype(grpc_server_shutdown_and_notify)> original(
      "grpc_server_shutdown_and_notify");
  __tsan_release(tag);
  original(server, queue, tag);
}

// The end of an operation, on a thread of gRPC: it calls back from here, or puts the tag into a
// queue.
void grpc_cq_end_op(grpc_completion_queue* queue, void* tag, absl::Status error,
                    void (*done)(void* done_arg, grpc_cq_completion* storage), void* done_arg,
                    grpc_cq_completion* storage, bool is_internal) {
  static constinit Original<decltype(grpc_cq_end_op)> original(
      "_Z14grpc_cq_end_opP21grpc_completion_queuePvN4absl7debian36StatusEPFvS1_P18grpc_cq_"
      "completionES1_S6_b");
  __tsan_acquire(tag);
  __tsan_release(tag);
  original(queue, tag, std::move(error), done, done_arg, storage, is_internal);
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static constinit Original<decltype(grpc_completion_queue_next)> original(
      "grpc_completion_queue_next");
  const grpc_event event = original(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  static constinit Original<decltype(grpc_completion_queue_pluck)> original(
      "grpc_completion_queue_pluck");
  const grpc_event event = original(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

// A server counts the calls that are not over. Who shuts it down waits for all of them.

void grpc::Server::UnrefWithPossibleNotify() {
  static constinit Original<void(Server*)> original("_ZN4grpc6Server23UnrefWithPossibleNotifyEv");
  __tsan_release(this);
  original(this);
}

void grpc::Server::UnrefAndWaitLocked() {
  static constinit Original<void(Server*)> original("_ZN4grpc6Server18UnrefAndWaitLockedEv");
  original(this);
  __tsan_acquire(this);
}

// The call of a server's reactor is over when its conditions are: they are counted, partly inside
// the library. The last one to be counted, wherever, comes after all others.

namespace {

// In place of a reactor, for one OnCancel: the library counts it right after it has returned.
class CountedCancel : public grpc::internal::ServerReactor {
 public:
  CountedCancel(ServerReactor* reactor, void* count) : reactor_(reactor), count_(count) {}

  void OnDone() override {}
  void OnCancel() override {
    reactor_->OnCancel();
    __tsan_release(count_);
    delete this;
  }
  bool InternalInlineable() override { return reactor_->InternalInlineable(); }

 private:
  ServerReactor* const reactor_;
  void* const count_;
};

}  // namespace

void grpc::internal::ServerCallbackCall::CallOnCancel(ServerReactor* reactor) {
  static constinit Original<void(ServerCallbackCall*, ServerReactor*)> original(
      "_ZN4grpc8internal18ServerCallbackCall12CallOnCancelEPNS0_13ServerReactorE");
  __tsan_acquire(&on_cancel_conditions_remaining_);
  original(this, new CountedCancel(reactor, &callbacks_outstanding_));
}

void grpc::internal::ServerCallbackCall::ScheduleOnDone(bool is_inline) {
  static constinit Original<void(ServerCallbackCall*, bool)> original(
      "_ZN4grpc8internal18ServerCallbackCall14ScheduleOnDoneEb");
  __tsan_acquire(&callbacks_outstanding_);
  original(this, is_inline);
}
