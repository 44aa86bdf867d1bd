#include "agent/local_service.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/files.h"
#include "common/log.h"
#include "common/status.h"

namespace pipefill {
namespace {

constexpr int kBacklog = 64;
// Turned away after this many in one turn of the loop, so that a flood of connections cannot hold
// it.
constexpr int kAcceptsPerTurn = 64;
constexpr absl::Duration kAcceptAgainAfter = absl::Seconds(1);

absl::StatusOr<sockaddr_un> AddressOf(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(absl::StrCat("socket ", path, ": the path must be 1 to ",
                                                   sizeof(address.sun_path) - 1,
                                                   " bytes long; choose a shorter one"));
  }
  path.copy(address.sun_path, path.size());
  return address;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

FileDescriptor MakeSocket() {
  return FileDescriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

absl::StatusOr<gid_t> FindGroup(const std::string& name) {
  std::array<char, 16384> buffer = {};
  group entry = {};
  group* found = nullptr;
  if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 ||
      found == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("socket_group: this node has no group ", name));
  }
  return entry.gr_gid;
}

}  // namespace

LocalService::LocalService(EventLoop& loop, const LocalServiceOptions& options,
                           AttachHandler& handler)
    : loop_(loop), options_(options), handler_(handler) {}

absl::StatusOr<std::unique_ptr<LocalService>> LocalService::Create(
    EventLoop& loop, const LocalServiceOptions& options, AttachHandler& handler) {
  std::unique_ptr<LocalService> service(new LocalService(loop, options, handler));
  RETURN_IF_ERROR(service->Listen());
  return service;
}

LocalService::~LocalService() {
  for (const auto& [id, connection] : connections_) {
    loop_.Unwatch(connection.watch);
    loop_.Cancel(connection.silence_timer);
  }
  if (listener_watch_ != 0) loop_.Unwatch(listener_watch_);
  loop_.Cancel(accept_timer_);
  if (owns_file_) unlink(options_.path.c_str());
}

absl::Status LocalService::Listen() {
  const size_t slash = options_.path.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    RETURN_IF_ERROR(WithContext(MakeWritableFolder(options_.path.substr(0, slash)), "socket"));
  }
  listener_ = MakeSocket();
  if (!listener_.is_open()) return ErrnoStatus(errno, "make a socket");
  RETURN_IF_ERROR(BindAndRestrict());
  if (listen(listener_.get(), kBacklog) != 0) {
    return ErrnoStatus(errno, absl::StrCat("listen on ", options_.path));
  }
  listener_watch_ = loop_.WatchReadable(listener_.get(), [this] { Accept(); });
  return absl::OkStatus();
}

absl::Status LocalService::BindAndRestrict() {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(options_.path));
  // Before bind, so that the file never has a wider mode.
  if (fchmod(listener_.get(), options_.group.empty() ? 0600 : 0660) != 0) {
    return ErrnoStatus(errno, "restrict the socket");
  }
  if (bind(listener_.get(), Generic(address), sizeof(address)) != 0) {
    if (errno != EADDRINUSE) return ErrnoStatus(errno, absl::StrCat("socket ", options_.path));
    RETURN_IF_ERROR(RemoveStaleSocket());
    if (bind(listener_.get(), Generic(address), sizeof(address)) != 0) {
      return ErrnoStatus(errno, absl::StrCat("socket ", options_.path));
    }
  }
  owns_file_ = true;
  if (options_.group.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const gid_t group, FindGroup(options_.group));
  // The mode again: the process's mask may have taken the group's rights.
  if (chown(options_.path.c_str(), static_cast<uid_t>(-1), group) != 0 ||
      chmod(options_.path.c_str(), 0660) != 0) {
    return ErrnoStatus(errno, absl::StrCat("give ", options_.path, " to group ", options_.group));
  }
  return absl::OkStatus();
}

absl::Status LocalService::RemoveStaleSocket() {
  ASSIGN_OR_RETURN(const sockaddr_un address, AddressOf(options_.path));
  const FileDescriptor probe = MakeSocket();
  if (!probe.is_open()) return ErrnoStatus(errno, "make a socket");
  const int result = connect(probe.get(), Generic(address), sizeof(address));
  const int error_number = errno;
  // EAGAIN: it listens, but is too busy to take another connection.
  if (result == 0 || error_number == EAGAIN) {
    return absl::FailedPreconditionError(absl::StrCat(
        "socket ", options_.path, " is in use by another agentd; stop it or choose another path"));
  }
  struct stat info = {};
  if (error_number != ECONNREFUSED || lstat(options_.path.c_str(), &info) != 0 ||
      !S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "socket ", options_.path, ": something else lies there; remove it or choose another path"));
  }
  spdlog::info("socket_replaced path={}", options_.path);
  unlink(options_.path.c_str());
  return absl::OkStatus();
}

void LocalService::Accept() {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      if (errno == EMFILE || errno == ENFILE) AcceptLater();
      return;
    }
    ucred credentials = {};
    socklen_t size = sizeof(credentials);
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) continue;
    const Peer peer = {.connection = next_id_++, .pid = credentials.pid, .uid = credentials.uid};
    if (!IsWelcome(peer)) {
      spdlog::warn("peer_refused pid={} uid={} reason=user", peer.pid, peer.uid);
      continue;
    }
    if (connections_.size() >= options_.connections_max) {
      spdlog::warn("peer_refused pid={} reason=connections_max limit={}", peer.pid,
                   options_.connections_max);
      continue;
    }
    AddConnection(std::move(socket), peer);
  }
}

// The listener stays readable, so watching on would only heat the loop.
void LocalService::AcceptLater() {
  spdlog::error("no_descriptors_left retry_after={}; raise the limit of open files",
                kAcceptAgainAfter);
  loop_.Unwatch(listener_watch_);
  listener_watch_ = 0;
  accept_timer_ = loop_.PostAt(loop_.Now() + kAcceptAgainAfter, [this] {
    listener_watch_ = loop_.WatchReadable(listener_.get(), [this] { Accept(); });
  });
}

bool LocalService::IsWelcome(const Peer& peer) const {
  // With a group, the file's mode has decided about everybody else.
  return peer.uid == 0 || peer.uid == geteuid() || !options_.group.empty();
}

void LocalService::AddConnection(FileDescriptor socket, const Peer& peer) {
  const ConnectionId id = peer.connection;
  Connection& connection = connections_[id];
  connection.socket = std::move(socket);
  connection.peer = peer;
  connection.watch = loop_.WatchReadable(connection.socket.get(), [this, id] { OnReadable(id); });
  connection.silence_timer = loop_.PostAt(loop_.Now() + options_.silence_max, [this, id] {
    const auto found = connections_.find(id);
    if (found == connections_.end() || found->second.is_mapped) return;
    spdlog::warn("peer_silent pid={}", found->second.peer.pid);
    Close(id);
  });
}

void LocalService::OnReadable(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  std::array<char, kAttachMessageBytesMax> buffer = {};
  // Without room for control data the kernel closes descriptors that a peer sends unasked.
  const ssize_t count = recv(connection.socket.get(), buffer.data(), buffer.size(), MSG_TRUNC);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) return Close(id);
  const auto size = static_cast<size_t>(count);
  const AttachMessage message =
      size > buffer.size() ? AttachMessage(Refusal{.code = AttachCode::kInvalid,
                                                   .text = "attach: the message is too large"})
                           : ParseAttachMessage(absl::string_view(buffer.data(), size));
  if (!Handle(connection, message)) Close(id);
}

bool LocalService::Handle(Connection& connection, const AttachMessage& message) {
  const Peer& peer = connection.peer;
  if (const auto* refusal = std::get_if<Refusal>(&message)) {
    return AnswerAttach(connection, *refusal, Role::kNew);
  }
  if (connection.role == Role::kNew) {
    if (const auto* rank = std::get_if<RankRequest>(&message)) {
      return AnswerAttach(connection, handler_.OnAttachRank(peer, *rank), Role::kRank);
    }
    if (const auto* task = std::get_if<TaskRequest>(&message)) {
      return AnswerAttach(connection, handler_.OnAttachTask(peer, *task), Role::kTask);
    }
  } else if (std::holds_alternative<MappedNotice>(message) && !connection.is_mapped) {
    connection.is_mapped = true;
    handler_.OnMapped(peer.connection);
    return true;
  } else if (std::holds_alternative<SignalRequest>(message) && connection.role == Role::kTask) {
    return AnswerAttach(connection, handler_.OnSignalRequest(peer.connection), Role::kTask);
  }
  return AnswerAttach(
      connection,
      Refusal{.code = AttachCode::kInvalid, .text = "attach: a message that does not belong here"},
      Role::kNew);
}

bool LocalService::AnswerAttach(Connection& connection, const AttachAnswer& answer, Role role) {
  if (const auto* refusal = std::get_if<Refusal>(&answer)) {
    spdlog::warn("attach_refused pid={} text=\"{}\"", connection.peer.pid, refusal->text);
    const AttachReply reply = MakeRefusal(*refusal);
    Send(connection, {reinterpret_cast<const char*>(&reply), sizeof(reply)}, {});
    return false;
  }
  const auto& grant = std::get<PageGrant>(answer);
  connection.role = role;
  AttachReply reply =
      MakeReply(grant.signal_generation, static_cast<uint32_t>(grant.descriptors.size()));
  reply.turn_seat = grant.turn_seat;
  return Send(connection, {reinterpret_cast<const char*>(&reply), sizeof(reply)},
              grant.descriptors);
}

bool LocalService::Send(const Connection& connection, absl::string_view message,
                        const std::vector<int>& descriptors) {
  iovec part = {.iov_base = const_cast<char*>(message.data()), .iov_len = message.size()};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  std::vector<char> control(CMSG_SPACE(sizeof(int) * descriptors.size()));
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int) * descriptors.size());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), sizeof(int) * descriptors.size());
  }
  // A peer whose buffer is full does not read: it asked for more than it took.
  return sendmsg(connection.socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) ==
         static_cast<ssize_t>(message.size());
}

void LocalService::SendStop(ConnectionId connection) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  const MessageHeader stop = MakeStop();
  Send(found->second, {reinterpret_cast<const char*>(&stop), sizeof(stop)}, {});
}

void LocalService::Close(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  const bool was_accepted = found->second.role != Role::kNew;
  loop_.Unwatch(found->second.watch);
  loop_.Cancel(found->second.silence_timer);
  connections_.erase(found);
  if (was_accepted) handler_.OnConnectionEnded(id);
}

}  // namespace pipefill
