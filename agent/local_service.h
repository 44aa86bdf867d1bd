// The Unix socket where main-job ranks and fill tasks of this node attach
// (client/pages/handshake.h).
//
//   kNew ---- AttachRank accepted ---> kRank ---- Mapped ---> sealed
//     |  +--- AttachTask accepted ---> kTask ---- Mapped ---> sealed <--> SignalRequest, reply
//     |                                  |
//     +-- refused, nonsense, silent      +-- the peer's end, nonsense, or a peer that does not
//         for 5 s: closed                    read: closed, OnConnectionEnded
//
// Who may connect. Peers of agentd's own user and root; with `group` also the members of that
// group, which lets agentd run as root and serve the main jobs of other users. The file's mode
// (0600, or 0660 with a group) keeps others out; the user of each peer is checked again. A peer
// that may connect may occupy a free device; it can never write another peer's page, and a task
// must know the fence of its attempt, which agentd tells to nobody else.
//
// Runs on the agent loop.
#ifndef AGENT_LOCAL_SERVICE_H_
#define AGENT_LOCAL_SERVICE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/attach_message.h"
#include "client/pages/turn_page.h"
#include "common/file_descriptor.h"
#include "common/loop.h"

namespace pipefill {

// Unique for the life of agentd; 0 is never used.
using ConnectionId = uint64_t;

// As the kernel says it, not the peer.
struct Peer {
  ConnectionId connection = 0;
  pid_t pid = 0;
  uid_t uid = 0;
};

// The pages for a peer, in the order of handshake.h. The descriptors stay the owner's; they are
// needed until the method that returned them returns to the service.
struct PageGrant {
  uint32_t signal_generation = 0;
  std::vector<int> descriptors;
  uint32_t turn_seat = kNoSeat;  // of a task that attaches
};

using AttachAnswer = std::variant<PageGrant, Refusal>;

// Decides about peers. Called on the loop; must not call back into the service, but for Stop and
// Close from elsewhere.
class AttachHandler {
 public:
  virtual ~AttachHandler() = default;
  virtual AttachAnswer OnAttachRank(const Peer& peer, const RankRequest& request) = 0;
  virtual AttachAnswer OnAttachTask(const Peer& peer, const TaskRequest& request) = 0;
  // The peer has mapped its pages: seal them now.
  virtual void OnMapped(ConnectionId connection) = 0;
  // The signal page as it is now, for a task; without a descriptor while no rank is attached.
  virtual PageGrant OnSignalRequest(ConnectionId connection) = 0;
  // Of a connection whose attach was accepted.
  virtual void OnConnectionEnded(ConnectionId connection) = 0;
};

struct LocalServiceOptions {
  std::string path;
  // Name of a group of the node; empty = none.
  std::string group;
  size_t connections_max = 256;
  absl::Duration silence_max = absl::Seconds(5);
};

class LocalService {
 public:
  // A file left by a dead agentd is replaced. FailedPrecondition if a living one listens there or
  // something else lies there; PermissionDenied if the folder cannot be written; InvalidArgument if
  // the path is too long for a socket or there is no such group. `loop` and `handler` outlive the
  // service.
  static absl::StatusOr<std::unique_ptr<LocalService>> Create(EventLoop& loop,
                                                              const LocalServiceOptions& options,
                                                              AttachHandler& handler);
  // Closes all connections without a word to the handler, and removes the socket's file.
  ~LocalService();
  LocalService(const LocalService&) = delete;
  LocalService& operator=(const LocalService&) = delete;

  // Sends kStop. Nothing happens if the connection is gone.
  void SendStop(ConnectionId connection);

 private:
  enum class Role { kNew, kRank, kTask };
  struct Connection {
    FileDescriptor socket;
    Peer peer;
    Role role = Role::kNew;
    bool is_mapped = false;
    EventLoop::WatchId watch = 0;
    Loop::TimerId silence_timer = 0;
  };

  LocalService(EventLoop& loop, const LocalServiceOptions& options, AttachHandler& handler);

  absl::Status Listen();
  absl::Status BindAndRestrict();
  absl::Status RemoveStaleSocket();
  void Accept();
  void AcceptLater();
  void AddConnection(FileDescriptor socket, const Peer& peer);
  bool IsWelcome(const Peer& peer) const;
  void OnReadable(ConnectionId id);
  // False if the connection is to be closed.
  bool Handle(Connection& connection, const AttachMessage& message);
  bool AnswerAttach(Connection& connection, const AttachAnswer& answer, Role role);
  bool Send(const Connection& connection, absl::string_view message,
            const std::vector<int>& descriptors);
  void Close(ConnectionId id);

  EventLoop& loop_;
  const LocalServiceOptions options_;
  AttachHandler& handler_;
  FileDescriptor listener_;
  bool owns_file_ = false;
  EventLoop::WatchId listener_watch_ = 0;
  Loop::TimerId accept_timer_ = 0;
  ConnectionId next_id_ = 1;
  std::map<ConnectionId, Connection> connections_;
};

}  // namespace pipefill

#endif  // AGENT_LOCAL_SERVICE_H_
