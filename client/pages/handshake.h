// How a main-job rank or a fill task gets its pages from agentd: one request, one reply, over a
// SOCK_SEQPACKET Unix socket, with the pages as descriptors (SCM_RIGHTS) beside the reply.
//
// Fixed-layout structs and not protobuf: the SDK is loaded into processes that bring their own
// protobuf, of any version. Strings are NUL-terminated inside their field. The peer's pid and user
// come from the socket (SO_PEERCRED), never from the message.
//
//   rank:  AttachRequest ->  <- AttachReply + [signal page rw, window page ro]
//          Mapped        ->  (agentd now seals the signal page: no second writer)
//   task:  AttachRequest ->  <- AttachReply + [window page ro, task page rw, turn page rw]
//                                           + [signal page ro] if any
//          Mapped        ->  (agentd now seals the task page)
//          later, when WindowPage::signal_generation moved:
//          SignalRequest ->  <- AttachReply + [signal page ro], or without one while no rank is
//          attached at any time       <- Stop: save and leave; SIGTERM follows after half the grace
//
// Every page is sealed against resizing (F_SEAL_SHRINK | F_SEAL_GROW) before it is handed out; the
// SDK refuses others, for reading a page that somebody cut short would kill the process.
//
// The connection stays open; its end tells agentd that the rank or task is gone. Neither side ever
// waits on it afterwards but a task in SignalRequest, which a rank never sends.
//
// Pure data.
#ifndef CLIENT_PAGES_HANDSHAKE_H_
#define CLIENT_PAGES_HANDSHAKE_H_

#include <cstddef>
#include <cstdint>

#include "client/pages/page_layout.h"

namespace pipefill {

inline constexpr uint32_t kHandshakeMagic = 0x4c465049;  // "IPFL"

// Environment that agentd gives to tasks, and that users may give to main jobs.
inline constexpr char kSocketVariable[] = "PIPEFILL_SOCKET";
inline constexpr char kJobVariable[] = "PIPEFILL_JOB";
inline constexpr char kAttemptVariable[] = "PIPEFILL_ATTEMPT";
inline constexpr char kFenceVariable[] = "PIPEFILL_FENCE";
inline constexpr char kDeviceVariable[] = "PIPEFILL_DEVICE";
inline constexpr char kConfigVariable[] = "PIPEFILL_CONFIG";  // JSON: what a task is to do
// Of the job's checkpoints; none are made without it. Also for programs that run alone.
inline constexpr char kCheckpointDirVariable[] = "PIPEFILL_CHECKPOINT_DIR";
// Least and longest useful time between two of them, in seconds: "0.5:600".
inline constexpr char kCheckpointEveryVariable[] = "PIPEFILL_CHECKPOINT_EVERY";
inline constexpr char kModeVariable[] = "PIPEFILL_MODE";  // off | report | fill
inline constexpr char kDefaultSocket[] = "/run/pipefill/agentd.sock";

enum class MessageType : uint32_t {
  kAttachRank = 1,
  kAttachTask = 2,
  kMapped = 3,
  kSignalRequest = 4,
  kReply = 5,
  kStop = 6,
};

// Every message starts with this.
struct MessageHeader {
  uint32_t magic;  // kHandshakeMagic
  uint32_t type;   // a MessageType
  uint32_t page_version;
  uint32_t size_bytes;  // of the whole message
};
static_assert(sizeof(MessageHeader) == 16);

struct AttachRankRequest {
  MessageHeader header;
  char main_job[128];
  int32_t rank;
  int32_t ranks;
  int32_t stage;
  int32_t stages;
  uint32_t mode;        // a FillMode; 0 = kFill
  uint32_t budget_ppm;  // allowed slowdown in millionths; 0 = as agentd has it (1 %)
  char device[64];      // empty = by the process's affinity
};
static_assert(sizeof(AttachRankRequest) == 16 + 128 + 24 + 64);

struct AttachTaskRequest {
  MessageHeader header;
  int64_t job_id;
  int32_t attempt;
  uint32_t padding;
  uint64_t fence;
};
static_assert(sizeof(AttachTaskRequest) == 16 + 24);

// kMapped, kSignalRequest and kStop are a bare MessageHeader.

enum class AttachCode : uint32_t {
  kOk = 0,
  kVersion = 1,   // page versions differ
  kInvalid = 2,   // a field makes no sense
  kNoDevice = 3,  // no such device, or the affinity names none
  kBusy = 4,      // the device has a rank already, or the attempt a gate
  kUnknown = 5,   // no such attempt, or a stale fence
};

struct AttachReply {
  MessageHeader header;
  uint32_t code;  // an AttachCode
  uint32_t signal_generation;
  uint32_t descriptors;  // passed beside this message, in the order drawn above
  uint32_t turn_seat;    // of a task in the turn page; kNoSeat in all other replies
  char text[256];        // with an error: one line
};
static_assert(sizeof(AttachReply) == 16 + 16 + 256);

}  // namespace pipefill

#endif  // CLIENT_PAGES_HANDSHAKE_H_
