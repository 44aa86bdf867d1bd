// A fill task's side of its connection to agentd, after attaching: hears "stop", and fetches the
// signal page of whichever rank is on the device now.
//
//   idle --RequestSignal--> asked --Poll: reply--> idle;   any --Poll: end of connection--> closed
//
// Thread-compatible: belongs to one fill task's thread.
#ifndef CLIENT_FILL_AGENT_LINK_H_
#define CLIENT_FILL_AGENT_LINK_H_

#include <cstdint>

#include "client/attach/attach.h"
#include "client/attach/connection.h"
#include "client/attach/page_mapping.h"
#include "client/pages/signal_page.h"

namespace pipefill::sdk {

class AgentLink {
 public:
  // `signal` and its generation as agentd gave them at attach.
  AgentLink(Connection connection, PageMapping signal, uint32_t signal_generation);

  // Handles what agentd has sent; waits up to `timeout_ns` if that is nothing. An unknown or broken
  // message is ignored.
  void Poll(uint64_t timeout_ns);

  // Asks for the present signal page; does nothing while a request is unanswered. Never waits.
  void RequestSignal();

  // agentd asked the task to save and leave.
  bool should_stop() const { return should_stop_; }
  // agentd is gone: nobody guards the main job any more, so no unit may start over this link.
  bool is_closed() const { return is_closed_; }
  // False in a forked child of the process that attached.
  bool is_owner() const { return connection_.is_owner(); }

  // nullptr while no rank is attached. Valid until the next Poll.
  const SignalPage* signal() const { return signal_.As<const SignalPage>(); }
  uint32_t signal_generation() const { return signal_generation_; }

 private:
  void OnMessage(Message* message);

  Connection connection_;
  PageMapping signal_;
  uint32_t signal_generation_;
  bool is_asked_ = false;
  bool should_stop_ = false;
  bool is_closed_ = false;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_FILL_AGENT_LINK_H_
