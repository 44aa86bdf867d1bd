#include "client/fill/agent_link.h"

#include <utility>

#include "client/pages/handshake.h"

namespace pipefill::sdk {

AgentLink::AgentLink(Connection connection, PageMapping signal, uint32_t signal_generation)
    : connection_(std::move(connection)),
      signal_(std::move(signal)),
      signal_generation_(signal_generation) {}

void AgentLink::Poll(uint64_t timeout_ns) {
  Message message;
  for (uint64_t wait_ns = timeout_ns; !is_closed_; wait_ns = 0) {
    const Receipt receipt = connection_.Receive(wait_ns, &message);
    if (receipt == Receipt::kNothing) return;
    if (receipt == Receipt::kClosed) is_closed_ = true;
    if (receipt == Receipt::kMessage) OnMessage(&message);
  }
}

void AgentLink::RequestSignal() {
  if (is_asked_ || is_closed_) return;
  const MessageHeader request = BareMessage(MessageType::kSignalRequest);
  is_asked_ = connection_.Send(&request, sizeof(request));
}

void AgentLink::OnMessage(Message* message) {
  const MessageHeader* header = message->header();
  if (header == nullptr) return;
  if (header->type == static_cast<uint32_t>(MessageType::kStop)) should_stop_ = true;
  if (header->type != static_cast<uint32_t>(MessageType::kReply)) return;
  is_asked_ = false;
  // A reply that is none, or names a page that cannot be used: the old page stays, and since its
  // generation is not the present one, the gate stays closed.
  const Error ignored = TakeSignalPage(message, &signal_, &signal_generation_);
  static_cast<void>(ignored);
}

}  // namespace pipefill::sdk
