// Attaching: gets a rank or a fill task its pages from agentd, as drawn in
// client/pages/handshake.h.
//
// Everything that comes over the socket is checked before it is used. After an error nothing is
// left open or mapped.
//
// Thread-compatible.
#ifndef CLIENT_ATTACH_ATTACH_H_
#define CLIENT_ATTACH_ATTACH_H_

#include <cstdint>
#include <string>

#include "client/attach/connection.h"
#include "client/attach/page_mapping.h"
#include "client/pages/handshake.h"
#include "client/pages/turn_page.h"
#include "client/platform/clock.h"
#include "client/platform/error.h"

namespace pipefill::sdk {

struct AgentAddress {
  std::string socket;
  // For connecting and for the reply together.
  uint64_t timeout_ns;
};

struct RankPages {
  Connection connection;
  PageMapping signal;  // writable
  PageMapping window;
};

// All but `signal` are there after success; that only while a rank is attached.
struct TaskPages {
  Connection connection;
  PageMapping window;
  PageMapping task;  // writable
  PageMapping turn;  // writable
  PageMapping signal;
  uint32_t turn_seat = kNoSeat;  // less than kSeats after success
  // Which signal page that is, or that there is none: see WindowPage::signal_generation.
  uint32_t signal_generation = 0;
  // What agentd said, also after an error; kOk if it said nothing.
  AttachCode answer = AttachCode::kOk;
};

// Both fill in the header of `request`. PF_NO_AGENT, PF_BAD_VERSION, PF_BAD_ARGUMENT, PF_REFUSED
// with agentd's own words, or PF_SYSTEM.
Error AttachRank(const AttachRankRequest& request, const AgentAddress& address, const Clock& clock,
                 RankPages* pages);
Error AttachTask(const AttachTaskRequest& request, const AgentAddress& address, const Clock& clock,
                 TaskPages* pages);

// The two halves of AttachRank for callers that must not wait (rank_redial.h): what is sent, and
// what is made of the reply. After success the reply is confirmed over `pages->connection`.
AttachRankRequest WithHeader(const AttachRankRequest& request);
Error TakeRankPages(const Message& reply, RankPages* pages);

// A message without a body: kMapped, kSignalRequest.
MessageHeader BareMessage(MessageType type);

// Takes the answer to a kSignalRequest apart. `*signal` is unmapped if no rank is attached.
Error TakeSignalPage(Message* reply, PageMapping* signal, uint32_t* signal_generation);

}  // namespace pipefill::sdk

#endif  // CLIENT_ATTACH_ATTACH_H_
