// The connection to agentd: a SOCK_SEQPACKET Unix socket that carries the messages of
// client/pages/handshake.h and, beside them, descriptors.
//
//   Connect -> open -> (Send | Receive)* -> closed, by either side
//
// It never raises SIGPIPE, is close-on-exec, and closes itself in a forked child.
//
// Thread-compatible.
#ifndef CLIENT_ATTACH_CONNECTION_H_
#define CLIENT_ATTACH_CONNECTION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "client/pages/handshake.h"
#include "client/platform/clock.h"
#include "client/platform/descriptor.h"
#include "client/platform/error.h"
#include "client/platform/fork_guard.h"

namespace pipefill::sdk {

// One message as it came in: input, to be checked.
struct Message {
  static constexpr size_t kBytesMax = 1024;
  static constexpr size_t kDescriptorsMax = 4;

  alignas(8) std::array<char, kBytesMax> bytes;
  size_t size_bytes = 0;
  std::array<Descriptor, kDescriptorsMax> descriptors;
  size_t descriptor_count = 0;

  // The header, if there is one with our magic whose size is that of the message; else nullptr.
  const MessageHeader* header() const;
};

enum class Receipt { kMessage, kNothing, kClosed };

class Connection {
 public:
  Connection() = default;
  // Takes over a connected socket.
  Connection(Descriptor socket, const Clock& clock);
  Connection(Connection&&) = default;
  Connection& operator=(Connection&&) noexcept;
  ~Connection();

  // Connects to the socket at `path`, until `deadline_ns` of `clock`, which must outlive the
  // connection. PF_NO_AGENT if nobody listens or answers there, PF_BAD_ARGUMENT if the path is too
  // long for a Unix socket, PF_SYSTEM otherwise.
  static Error Connect(const std::string& path, uint64_t deadline_ns, const Clock& clock,
                       Connection* connection);
  // The same without waiting and without words: 0, or an errno value.
  static int ConnectNow(const std::string& path, const Clock& clock, Connection* connection);

  // Never waits. False if the message could not be sent; then Receive tells whether the other side
  // is gone.
  bool Send(const void* message, size_t size_bytes);

  // Waits up to `timeout_ns` for a message; 0 means: only what is there now. kClosed, for good,
  // once the other side is gone.
  Receipt Receive(uint64_t timeout_ns, Message* message);

  bool is_open() const { return socket_.is_open(); }
  // False in a process that was forked after the connection was made; it must not use the pages.
  bool is_owner() const { return guard_ != nullptr && guard_->is_owner(); }

 private:
  void Close();
  Receipt ReceiveNow(Message* message);
  // False when the deadline has passed.
  bool WaitReadable(uint64_t deadline_ns) const;

  const Clock* clock_ = nullptr;
  Descriptor socket_;
  std::unique_ptr<ForkGuard> guard_;  // of socket_
};

}  // namespace pipefill::sdk

#endif  // CLIENT_ATTACH_CONNECTION_H_
