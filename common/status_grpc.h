// absl::Status <-> grpc::Status; the code numbers are equal.
//
// Pure.
#ifndef COMMON_STATUS_GRPC_H_
#define COMMON_STATUS_GRPC_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace pipefill {

grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace pipefill

#endif  // COMMON_STATUS_GRPC_H_
