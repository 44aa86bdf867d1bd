// What strangers send over agentd's socket.
#include <algorithm>
#include <cstring>

#include "absl/strings/ascii.h"
#include "agent/attach_message.h"
#include "common/check.h"
#include "tests/fuzz/fuzz_target.h"

namespace pipefill {
namespace {

bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

void CheckRank(const RankRequest& rank) {
  CHECK(!rank.main_job.empty() && rank.main_job.size() <= 127 && IsPrintable(rank.main_job));
  CHECK(rank.rank >= 0 && rank.rank < rank.ranks);
  CHECK(rank.stage >= 0 && rank.stage < rank.stages);
  CHECK(rank.mode == FillMode::kOff || rank.mode == FillMode::kReport ||
        rank.mode == FillMode::kFill);
  CHECK(rank.device.size() <= 63 && IsPrintable(rank.device));
}

template <typename Message>
std::string BytesOf(MessageType type, Message message) {
  MessageHeader header = {.magic = kHandshakeMagic,
                          .type = static_cast<uint32_t>(type),
                          .page_version = kPageVersion,
                          .size_bytes = sizeof(message)};
  std::memcpy(&message, &header, sizeof(header));
  return std::string(reinterpret_cast<const char*>(&message), sizeof(message));
}

}  // namespace

bool TakeInput(absl::string_view input) {
  const AttachMessage message = ParseAttachMessage(input);
  if (const auto* rank = std::get_if<RankRequest>(&message)) CheckRank(*rank);
  const auto* refusal = std::get_if<Refusal>(&message);
  if (refusal == nullptr) return true;
  CHECK(refusal->code != AttachCode::kOk && !refusal->text.empty());
  CHECK(refusal->text.find('\n') == std::string::npos);
  const AttachReply reply = MakeRefusal(*refusal);
  CHECK(std::memchr(reply.text, '\0', sizeof(reply.text)) != nullptr);
  return false;
}

std::vector<std::string> Seeds() {
  AttachRankRequest rank = {};
  std::strcpy(rank.main_job, "gpt");
  rank.rank = 1;
  rank.ranks = 4;
  rank.stage = 1;
  rank.stages = 2;
  std::strcpy(rank.device, "cpu1");
  AttachTaskRequest task = {};
  task.job_id = 7;
  task.attempt = 2;
  task.fence = 99;
  return {BytesOf(MessageType::kAttachRank, rank), BytesOf(MessageType::kAttachTask, task),
          BytesOf(MessageType::kMapped, MessageHeader()),
          BytesOf(MessageType::kSignalRequest, MessageHeader())};
}

}  // namespace pipefill
