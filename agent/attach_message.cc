#include "agent/attach_message.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace pipefill {
namespace {

constexpr int32_t kRanksMax = 1 << 24;
constexpr uint32_t kBudgetPpmMax = 1'000'000;

Refusal Invalid(std::string text) {
  return {.code = AttachCode::kInvalid, .text = std::move(text)};
}

MessageHeader MakeHeader(MessageType type, size_t size_bytes) {
  return {.magic = kHandshakeMagic,
          .type = static_cast<uint32_t>(type),
          .page_version = kPageVersion,
          .size_bytes = static_cast<uint32_t>(size_bytes)};
}

// Nothing if the field has no terminator or holds what a person could not read.
template <size_t kSize>
std::optional<std::string> ReadText(const char (&field)[kSize]) {
  const void* end = std::memchr(field, '\0', kSize);
  if (end == nullptr) return std::nullopt;
  std::string text(field, static_cast<const char*>(end));
  if (!std::all_of(text.begin(), text.end(),
                   [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); })) {
    return std::nullopt;
  }
  return text;
}

template <typename Message>
std::optional<Message> ReadStruct(absl::string_view bytes) {
  if (bytes.size() != sizeof(Message)) return std::nullopt;
  Message message = {};
  std::memcpy(&message, bytes.data(), sizeof(message));
  return message;
}

AttachMessage ParseRank(absl::string_view bytes) {
  const std::optional<AttachRankRequest> raw = ReadStruct<AttachRankRequest>(bytes);
  if (!raw.has_value()) return Invalid("attach: a rank's request has another size");
  const std::optional<std::string> main_job = ReadText(raw->main_job);
  const std::optional<std::string> device = ReadText(raw->device);
  if (!main_job.has_value() || main_job->empty()) {
    return Invalid("attach: main_job must be 1 to 127 printable ASCII characters");
  }
  if (!device.has_value()) {
    return Invalid("attach: device must be at most 63 printable ASCII characters");
  }
  if (raw->ranks < 1 || raw->ranks > kRanksMax || raw->rank < 0 || raw->rank >= raw->ranks) {
    return Invalid(absl::StrCat("attach: rank=", raw->rank, " ranks=", raw->ranks,
                                "; rank must be in [0, ranks)"));
  }
  if (raw->stages < 1 || raw->stages > kRanksMax || raw->stage < 0 || raw->stage >= raw->stages) {
    return Invalid(absl::StrCat("attach: stage=", raw->stage, " stages=", raw->stages,
                                "; stage must be in [0, stages)"));
  }
  if (raw->mode > static_cast<uint32_t>(FillMode::kFill)) {
    return Invalid(
        absl::StrCat("attach: mode=", raw->mode, " is unknown; use off, report or fill"));
  }
  if (raw->budget_ppm > kBudgetPpmMax) {
    return Invalid(
        absl::StrCat("attach: budget_ppm=", raw->budget_ppm, " is more than ", kBudgetPpmMax));
  }
  RankRequest request = {.main_job = *main_job,
                         .rank = raw->rank,
                         .ranks = raw->ranks,
                         .stage = raw->stage,
                         .stages = raw->stages,
                         .device = *device};
  if (raw->mode != 0) request.mode = static_cast<FillMode>(raw->mode);
  request.budget_ppm = raw->budget_ppm;
  return request;
}

AttachMessage ParseTask(absl::string_view bytes) {
  const std::optional<AttachTaskRequest> raw = ReadStruct<AttachTaskRequest>(bytes);
  if (!raw.has_value()) return Invalid("attach: a task's request has another size");
  return TaskRequest{.key = {.job = JobId(raw->job_id),
                             .attempt = AttemptNumber(raw->attempt),
                             .fence = Fence(raw->fence)}};
}

}  // namespace

AttachMessage ParseAttachMessage(absl::string_view bytes) {
  if (bytes.size() < sizeof(MessageHeader)) return Invalid("attach: not a message of pipefill");
  MessageHeader header = {};
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kHandshakeMagic) return Invalid("attach: not a message of pipefill");
  // Before the sizes, which another version may have changed.
  if (header.page_version != kPageVersion) {
    return Refusal{.code = AttachCode::kVersion,
                   .text = absl::StrCat("attach: the SDK has page version ", header.page_version,
                                        ", agentd has ", kPageVersion,
                                        "; install the same release of pipefill for both")};
  }
  if (header.size_bytes != bytes.size()) return Invalid("attach: the message has a wrong size");
  switch (static_cast<MessageType>(header.type)) {
    case MessageType::kAttachRank:
      return ParseRank(bytes);
    case MessageType::kAttachTask:
      return ParseTask(bytes);
    case MessageType::kMapped:
      if (bytes.size() == sizeof(header)) return MappedNotice{};
      break;
    case MessageType::kSignalRequest:
      if (bytes.size() == sizeof(header)) return SignalRequest{};
      break;
    case MessageType::kReply:
    case MessageType::kStop:
      break;
  }
  return Invalid(absl::StrCat("attach: unexpected message of type ", header.type));
}

AttachReply MakeReply(uint32_t signal_generation, uint32_t descriptors) {
  AttachReply reply = {};
  reply.header = MakeHeader(MessageType::kReply, sizeof(reply));
  reply.code = static_cast<uint32_t>(AttachCode::kOk);
  reply.signal_generation = signal_generation;
  reply.descriptors = descriptors;
  reply.turn_seat = kNoSeat;
  return reply;
}

AttachReply MakeRefusal(const Refusal& refusal) {
  AttachReply reply = MakeReply(0, 0);
  reply.code = static_cast<uint32_t>(refusal.code);
  refusal.text.copy(reply.text, sizeof(reply.text) - 1);
  return reply;
}

MessageHeader MakeStop() { return MakeHeader(MessageType::kStop, sizeof(MessageHeader)); }

}  // namespace pipefill
