// How a call ends: with its status, and with the advice when to try again, if there is any.
//
// Thread-safe, as gRPC's reactors are.
#ifndef SCHEDULER_SERVICE_FINISH_H_
#define SCHEDULER_SERVICE_FINISH_H_

#include <grpcpp/grpcpp.h>

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/retry_after.h"
#include "common/status_grpc.h"

namespace pipefill::scheduler {

// `reactor` is that of the call, and is finished once only. `context` lives as long as the call.
template <typename Reactor>
void FinishCall(grpc::CallbackServerContext* context, Reactor* reactor,
                const absl::Status& status) {
  const std::optional<absl::Duration> wait = RetryAfterOf(status);
  if (wait.has_value()) context->AddTrailingMetadata(kRetryAfterMetadata, FormatRetryAfter(*wait));
  reactor->Finish(ToGrpc(status));
}

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_SERVICE_FINISH_H_
