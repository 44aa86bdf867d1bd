#include "client/attach/attach.h"

#include <string.h>

#include <utility>

#include "client/pages/signal_page.h"
#include "client/pages/task_page.h"
#include "client/pages/turn_page.h"
#include "client/pages/window_page.h"

namespace pipefill::sdk {
namespace {

constexpr PageExpectation kSignalForRank = {
    .kind = PageKind::kSignal, .size_bytes = sizeof(SignalPage), .access = PageAccess::kReadWrite};
constexpr PageExpectation kSignalForTask = {
    .kind = PageKind::kSignal, .size_bytes = sizeof(SignalPage), .access = PageAccess::kRead};
constexpr PageExpectation kWindow = {
    .kind = PageKind::kWindow, .size_bytes = sizeof(WindowPage), .access = PageAccess::kRead};
constexpr PageExpectation kTask = {
    .kind = PageKind::kTask, .size_bytes = sizeof(TaskPage), .access = PageAccess::kReadWrite};
constexpr PageExpectation kTurn = {
    .kind = PageKind::kTurn, .size_bytes = sizeof(TurnPage), .access = PageAccess::kReadWrite};

MessageHeader Header(MessageType type, size_t size_bytes) {
  return {.magic = kHandshakeMagic,
          .type = static_cast<uint32_t>(type),
          .page_version = kPageVersion,
          .size_bytes = static_cast<uint32_t>(size_bytes)};
}

std::string ReplyText(const AttachReply& reply) {
  return std::string(reply.text, strnlen(reply.text, sizeof(reply.text)));
}

Error VersionError(uint32_t agent_version) {
  return {PF_BAD_VERSION, "page version differs: agentd=" + std::to_string(agent_version) +
                              " sdk=" + std::to_string(kPageVersion) +
                              "; use the SDK that came with this agentd"};
}

// Whether `message` is a reply that says yes. `*reply` is a copy of it if it is a reply at all.
Error CheckReply(const Message& message, AttachReply* reply) {
  const MessageHeader* header = message.header();
  if (header == nullptr) return {PF_SYSTEM, "answer refused: not a message of agentd"};
  if (header->page_version != kPageVersion) return VersionError(header->page_version);
  if (header->type != static_cast<uint32_t>(MessageType::kReply) ||
      message.size_bytes != sizeof(AttachReply)) {
    return {PF_SYSTEM, "answer refused: type=" + std::to_string(header->type) +
                           " size_bytes=" + std::to_string(message.size_bytes)};
  }
  memcpy(reply, message.bytes.data(), sizeof(AttachReply));
  if (reply->code == static_cast<uint32_t>(AttachCode::kVersion)) {
    return {PF_BAD_VERSION, ReplyText(*reply)};
  }
  if (reply->code != static_cast<uint32_t>(AttachCode::kOk)) {
    return {PF_REFUSED, ReplyText(*reply)};
  }
  return {};
}

Error WrongDescriptorCount(size_t count) {
  return {PF_SYSTEM, "answer refused: descriptors=" + std::to_string(count)};
}

struct RequestBytes {
  const void* data;
  size_t size_bytes;
};

// Connects, asks, and waits for the reply that says yes.
Error Ask(RequestBytes request, const AgentAddress& address, const Clock& clock,
          Connection* connection, Message* message) {
  const uint64_t deadline_ns = clock.NowNs() + address.timeout_ns;
  Error error = Connection::Connect(address.socket, deadline_ns, clock, connection);
  if (!error.ok()) return error;
  if (!connection->Send(request.data, request.size_bytes)) {
    return {PF_NO_AGENT, "agentd hung up: socket=" + address.socket};
  }
  const uint64_t now_ns = clock.NowNs();
  const uint64_t left_ns = now_ns < deadline_ns ? deadline_ns - now_ns : 0;
  switch (connection->Receive(left_ns, message)) {
    case Receipt::kMessage:
      return {};
    case Receipt::kNothing:
      return {PF_NO_AGENT, "agentd does not answer: socket=" + address.socket};
    case Receipt::kClosed:
      break;
  }
  return {PF_NO_AGENT, "agentd hung up: socket=" + address.socket};
}

Error ConfirmMapped(Connection* connection) {
  const MessageHeader mapped = BareMessage(MessageType::kMapped);
  if (connection->Send(&mapped, sizeof(mapped))) return {};
  return {PF_NO_AGENT, "agentd hung up before the pages were in use"};
}

Error MapRankPages(const Message& message, RankPages* pages) {
  if (message.descriptor_count != 2) return WrongDescriptorCount(message.descriptor_count);
  Error error = PageMapping::Map(message.descriptors[0].get(), kSignalForRank, &pages->signal);
  if (!error.ok()) return error;
  return PageMapping::Map(message.descriptors[1].get(), kWindow, &pages->window);
}

Error MapTaskPages(const Message& message, TaskPages* pages) {
  const size_t count = message.descriptor_count;
  if (count != 3 && count != 4) return WrongDescriptorCount(count);
  Error error = PageMapping::Map(message.descriptors[0].get(), kWindow, &pages->window);
  if (!error.ok()) return error;
  error = PageMapping::Map(message.descriptors[1].get(), kTask, &pages->task);
  if (!error.ok()) return error;
  error = PageMapping::Map(message.descriptors[2].get(), kTurn, &pages->turn);
  if (!error.ok() || count == 3) return error;
  return PageMapping::Map(message.descriptors[3].get(), kSignalForTask, &pages->signal);
}

}  // namespace

MessageHeader BareMessage(MessageType type) { return Header(type, sizeof(MessageHeader)); }

AttachRankRequest WithHeader(const AttachRankRequest& request) {
  AttachRankRequest sent = request;
  sent.header = Header(MessageType::kAttachRank, sizeof(sent));
  return sent;
}

Error TakeRankPages(const Message& message, RankPages* pages) {
  AttachReply reply;
  Error error = CheckReply(message, &reply);
  if (!error.ok()) return error;
  error = MapRankPages(message, pages);
  if (!error.ok()) return error;
  return ConfirmMapped(&pages->connection);
}

Error AttachRank(const AttachRankRequest& request, const AgentAddress& address, const Clock& clock,
                 RankPages* pages) {
  const AttachRankRequest sent = WithHeader(request);
  RankPages attached;
  Message message;
  Error error = Ask({&sent, sizeof(sent)}, address, clock, &attached.connection, &message);
  if (!error.ok()) return error;
  error = TakeRankPages(message, &attached);
  if (error.ok()) *pages = std::move(attached);
  return error;
}

Error AttachTask(const AttachTaskRequest& request, const AgentAddress& address, const Clock& clock,
                 TaskPages* pages) {
  AttachTaskRequest sent = request;
  sent.header = Header(MessageType::kAttachTask, sizeof(sent));
  TaskPages attached;
  Message message;
  pages->answer = AttachCode::kOk;
  Error error = Ask({&sent, sizeof(sent)}, address, clock, &attached.connection, &message);
  if (!error.ok()) return error;
  AttachReply reply = {};
  error = CheckReply(message, &reply);
  pages->answer = static_cast<AttachCode>(reply.code);
  if (!error.ok()) return error;
  error = MapTaskPages(message, &attached);
  if (!error.ok()) return error;
  attached.signal_generation = reply.signal_generation;
  if (reply.turn_seat >= kSeats) {
    return {PF_SYSTEM, "answer refused: turn_seat=" + std::to_string(reply.turn_seat)};
  }
  attached.turn_seat = reply.turn_seat;
  error = ConfirmMapped(&attached.connection);
  if (error.ok()) *pages = std::move(attached);
  return error;
}

Error TakeSignalPage(Message* reply_message, PageMapping* signal, uint32_t* signal_generation) {
  AttachReply reply;
  Error error = CheckReply(*reply_message, &reply);
  if (!error.ok()) return error;
  PageMapping mapped;
  if (reply_message->descriptor_count > 1) {
    return WrongDescriptorCount(reply_message->descriptor_count);
  }
  if (reply_message->descriptor_count == 1) {
    error = PageMapping::Map(reply_message->descriptors[0].get(), kSignalForTask, &mapped);
    if (!error.ok()) return error;
  }
  *signal = std::move(mapped);
  *signal_generation = reply.signal_generation;
  return {};
}

}  // namespace pipefill::sdk
