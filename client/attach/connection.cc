#include "client/attach/connection.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>

#include <utility>

namespace pipefill::sdk {
namespace {

uint64_t RemainingNs(const Clock& clock, uint64_t deadline_ns) {
  const uint64_t now_ns = clock.NowNs();
  return now_ns < deadline_ns ? deadline_ns - now_ns : 0;
}

Error ConnectError(const std::string& path, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ECONNREFUSED:
      return {PF_NO_AGENT, "no agentd: socket=" + path + "; start agentd or set PIPEFILL_SOCKET"};
    case EAGAIN:
    case EINTR:
      return {PF_NO_AGENT, "agentd does not answer: socket=" + path};
    case EPROTOTYPE:
      return {PF_NO_AGENT, "not the socket of an agentd: socket=" + path};
    default:
      return SystemError("connect: socket=" + path, error_number);
  }
}

// False if `path` does not fit.
bool MakeAddress(const std::string& path, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address->sun_path)) return false;
  memcpy(address->sun_path, path.data(), path.size());
  return true;
}

// A blocking connect waits while the listener's queue is full; SO_SNDTIMEO bounds that wait.
// Returns 0 or an errno value.
int ConnectUntil(int socket_fd, const sockaddr_un& address, uint64_t deadline_ns,
                 const Clock& clock) {
  for (;;) {
    const uint64_t remaining_ns = RemainingNs(clock, deadline_ns);
    if (remaining_ns == 0) return EAGAIN;
    timeval timeout = {};
    timeout.tv_sec = static_cast<time_t>(remaining_ns / 1'000'000'000u);
    timeout.tv_usec = static_cast<suseconds_t>(remaining_ns % 1'000'000'000u / 1000u + 1);
    if (timeout.tv_usec >= 1'000'000) timeout.tv_usec = 999'999;
    setsockopt(socket_fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
    const auto* generic = reinterpret_cast<const sockaddr*>(&address);
    if (connect(socket_fd, generic, sizeof(address)) == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

// Takes the descriptors out of a received message; those beyond the expected number are closed.
void TakeDescriptors(msghdr* header, Message* message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(header); control != nullptr;
       control = CMSG_NXTHDR(header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int value = -1;
      memcpy(&value, CMSG_DATA(control) + i * sizeof(int), sizeof(int));
      Descriptor descriptor(value);
      if (message->descriptor_count < Message::kDescriptorsMax) {
        message->descriptors[message->descriptor_count++] = std::move(descriptor);
      }
    }
  }
}

}  // namespace

const MessageHeader* Message::header() const {
  if (size_bytes < sizeof(MessageHeader)) return nullptr;
  const auto* header = reinterpret_cast<const MessageHeader*>(bytes.data());
  if (header->magic != kHandshakeMagic || header->size_bytes != size_bytes) return nullptr;
  return header;
}

Connection::Connection(Descriptor socket, const Clock& clock)
    : clock_(&clock),
      socket_(std::move(socket)),
      guard_(std::make_unique<ForkGuard>(socket_.get())) {}

Connection& Connection::operator=(Connection&& other) noexcept {
  if (this != &other) {
    Close();
    clock_ = other.clock_;
    socket_ = std::move(other.socket_);
    guard_ = std::move(other.guard_);
  }
  return *this;
}

Connection::~Connection() { Close(); }

void Connection::Close() {
  if (guard_ != nullptr) {
    // In a forked child the guard has closed it, and the number may name another file by now.
    if (!guard_->is_owner()) socket_.Release();
    guard_->Disarm();
  }
  socket_ = Descriptor();
}

Error Connection::Connect(const std::string& path, uint64_t deadline_ns, const Clock& clock,
                          Connection* connection) {
  sockaddr_un address;
  if (!MakeAddress(path, &address)) {
    return {PF_BAD_ARGUMENT, "socket path does not fit: bytes=" + std::to_string(path.size()) +
                                 " max=" + std::to_string(sizeof(address.sun_path) - 1)};
  }
  Descriptor socket_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket_fd.is_open()) return SystemError("socket", errno);
  const int error_number = ConnectUntil(socket_fd.get(), address, deadline_ns, clock);
  if (error_number != 0) return ConnectError(path, error_number);
  *connection = Connection(std::move(socket_fd), clock);
  return {};
}

int Connection::ConnectNow(const std::string& path, const Clock& clock, Connection* connection) {
  sockaddr_un address;
  if (!MakeAddress(path, &address)) return ENAMETOOLONG;
  Descriptor socket_fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_fd.is_open()) return errno;
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  // A Unix socket connects at once or not at all.
  if (connect(socket_fd.get(), generic, sizeof(address)) != 0) return errno;
  *connection = Connection(std::move(socket_fd), clock);
  return 0;
}

bool Connection::Send(const void* message, size_t size_bytes) {
  if (!socket_.is_open()) return false;
  ssize_t sent = 0;
  do {
    sent = send(socket_.get(), message, size_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(size_bytes);
}

Receipt Connection::Receive(uint64_t timeout_ns, Message* message) {
  const uint64_t deadline_ns = clock_ == nullptr ? 0 : clock_->NowNs() + timeout_ns;
  for (;;) {
    const Receipt receipt = ReceiveNow(message);
    if (receipt != Receipt::kNothing) return receipt;
    if (!WaitReadable(deadline_ns)) return Receipt::kNothing;
  }
}

bool Connection::WaitReadable(uint64_t deadline_ns) const {
  for (;;) {
    const uint64_t remaining_ns = RemainingNs(*clock_, deadline_ns);
    if (remaining_ns == 0) return false;
    timespec timeout = {};
    timeout.tv_sec = static_cast<time_t>(remaining_ns / 1'000'000'000u);
    timeout.tv_nsec = static_cast<long>(remaining_ns % 1'000'000'000u);
    pollfd entry = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
    const int ready = ppoll(&entry, 1, &timeout, nullptr);
    // A time-out leads to one last look: a busy machine may wake us long after the answer came.
    if (ready >= 0) return true;
    if (errno != EINTR) return false;
  }
}

Receipt Connection::ReceiveNow(Message* message) {
  if (!socket_.is_open() || !is_owner()) return Receipt::kClosed;
  message->descriptors = {};
  message->descriptor_count = 0;
  iovec part = {.iov_base = message->bytes.data(), .iov_len = message->bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * Message::kDescriptorsMax)];
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof(control);
  ssize_t received = 0;
  do {
    received = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (received < 0 && errno == EINTR);
  if (received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Receipt::kNothing;
  if (received <= 0) {
    Close();
    return Receipt::kClosed;
  }
  TakeDescriptors(&header, message);
  message->size_bytes = static_cast<size_t>(received);
  return Receipt::kMessage;
}

}  // namespace pipefill::sdk
