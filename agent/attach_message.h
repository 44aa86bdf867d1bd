// Reads what ranks and tasks send over agentd's socket (client/pages/handshake.h), and makes
// replies.
//
// Every byte is a stranger's: sizes, terminators, types and ranges are checked here, and what comes
// out may be trusted to make sense, though not to be true.
//
// Pure.
#ifndef AGENT_ATTACH_MESSAGE_H_
#define AGENT_ATTACH_MESSAGE_H_

#include <cstdint>
#include <string>
#include <variant>

#include "absl/strings/string_view.h"
#include "agent/tasks/attempt.h"
#include "client/pages/handshake.h"
#include "client/pages/turn_page.h"
#include "client/pages/window_page.h"

namespace pipefill {

struct RankRequest {
  std::string main_job;  // 1..127 printable ASCII characters
  int32_t rank = 0;      // [0, ranks)
  int32_t ranks = 1;
  int32_t stage = 0;  // [0, stages)
  int32_t stages = 1;
  FillMode mode = FillMode::kFill;
  uint32_t budget_ppm = 0;  // 0 = as agentd is configured
  std::string device;       // empty = by the process's affinity
};

struct TaskRequest {
  AttemptKey key;
};

struct MappedNotice {};
struct SignalRequest {};

// Why a request is turned down; `text` is one line for the person who started the peer.
struct Refusal {
  AttachCode code = AttachCode::kInvalid;
  std::string text;
};

using AttachMessage = std::variant<RankRequest, TaskRequest, MappedNotice, SignalRequest, Refusal>;

// Larger ones are no messages of ours.
inline constexpr size_t kAttachMessageBytesMax = 512;

AttachMessage ParseAttachMessage(absl::string_view bytes);

// `descriptors` is how many pages go beside it; for a task that attaches, set turn_seat after it.
AttachReply MakeReply(uint32_t signal_generation, uint32_t descriptors);
// A text that is too long is cut.
AttachReply MakeRefusal(const Refusal& refusal);
MessageHeader MakeStop();

}  // namespace pipefill

#endif  // AGENT_ATTACH_MESSAGE_H_
