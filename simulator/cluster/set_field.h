// Sets one field of a message by its path, as `--set` gives it.
//
// Pure.
#ifndef SIMULATOR_CLUSTER_SET_FIELD_H_
#define SIMULATOR_CLUSTER_SET_FIELD_H_

#include <google/protobuf/message.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace pipefill::simulator {

// "training.replicas=8", "workload.classes[0].unit=5ms". InvalidArgument, in one line, if there is
// no such field or the value does not suit it; the message is as it was then.
absl::Status SetField(absl::string_view assignment, google::protobuf::Message* message);

}  // namespace pipefill::simulator

#endif  // SIMULATOR_CLUSTER_SET_FIELD_H_
