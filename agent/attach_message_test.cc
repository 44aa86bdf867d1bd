#include "agent/attach_message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace pipefill {
namespace {

using ::testing::HasSubstr;

template <typename Message>
absl::string_view Bytes(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof(message)};
}

MessageHeader HeaderFor(MessageType type, size_t size_bytes) {
  return {.magic = kHandshakeMagic,
          .type = static_cast<uint32_t>(type),
          .page_version = kPageVersion,
          .size_bytes = static_cast<uint32_t>(size_bytes)};
}

AttachRankRequest GoodRank() {
  AttachRankRequest request = {};
  request.header = HeaderFor(MessageType::kAttachRank, sizeof(request));
  std::strcpy(request.main_job, "gpt");
  request.rank = 1;
  request.ranks = 4;
  request.stage = 1;
  request.stages = 2;
  std::strcpy(request.device, "cpu1");
  return request;
}

AttachTaskRequest GoodTask() {
  AttachTaskRequest request = {};
  request.header = HeaderFor(MessageType::kAttachTask, sizeof(request));
  request.job_id = 7;
  request.attempt = 2;
  request.fence = 99;
  return request;
}

// The refusal, or one with code kOk if the message was accepted.
Refusal RefusalOf(absl::string_view bytes) {
  const AttachMessage message = ParseAttachMessage(bytes);
  if (const auto* refusal = std::get_if<Refusal>(&message)) return *refusal;
  return {.code = AttachCode::kOk, .text = ""};
}

TEST(AttachMessageTest, ReadsRankWithDefaultsForModeAndBudget) {
  const AttachMessage message = ParseAttachMessage(Bytes(GoodRank()));
  const auto* rank = std::get_if<RankRequest>(&message);
  ASSERT_NE(rank, nullptr);
  EXPECT_EQ(rank->main_job, "gpt");
  EXPECT_EQ(rank->rank, 1);
  EXPECT_EQ(rank->ranks, 4);
  EXPECT_EQ(rank->stage, 1);
  EXPECT_EQ(rank->stages, 2);
  EXPECT_EQ(rank->device, "cpu1");
  EXPECT_EQ(rank->mode, FillMode::kFill);
  EXPECT_EQ(rank->budget_ppm, 0u);
}

TEST(AttachMessageTest, ReadsTaskAndBareMessages) {
  const AttachMessage task = ParseAttachMessage(Bytes(GoodTask()));
  ASSERT_TRUE(std::holds_alternative<TaskRequest>(task));
  EXPECT_EQ(std::get<TaskRequest>(task).key.fence, Fence(99));
  EXPECT_TRUE(std::holds_alternative<MappedNotice>(
      ParseAttachMessage(Bytes(HeaderFor(MessageType::kMapped, sizeof(MessageHeader))))));
  EXPECT_TRUE(std::holds_alternative<SignalRequest>(
      ParseAttachMessage(Bytes(HeaderFor(MessageType::kSignalRequest, sizeof(MessageHeader))))));
}

TEST(AttachMessageTest, NamesBothVersionsWhateverTheSize) {
  AttachRankRequest request = GoodRank();
  request.header.page_version = kPageVersion + 1;
  request.header.size_bytes = 12345;
  const Refusal refusal = RefusalOf(Bytes(request));
  EXPECT_EQ(refusal.code, AttachCode::kVersion);
  EXPECT_THAT(refusal.text, HasSubstr("agentd has " + std::to_string(kPageVersion)));
}

TEST(AttachMessageTest, RefusesNameWithoutTerminator) {
  AttachRankRequest request = GoodRank();
  std::memset(request.main_job, 'x', sizeof(request.main_job));
  EXPECT_THAT(RefusalOf(Bytes(request)).text, HasSubstr("main_job must be 1 to 127"));
  request = GoodRank();
  std::memset(request.device, 'x', sizeof(request.device));
  EXPECT_THAT(RefusalOf(Bytes(request)).text, HasSubstr("device must be at most 63"));
}

TEST(AttachMessageTest, RefusesEmptyAndUnprintableNames) {
  for (const char* name : {"", "a\nb", "\xff", "caf\xc3\xa9"}) {
    AttachRankRequest request = GoodRank();
    std::strcpy(request.main_job, name);
    EXPECT_THAT(RefusalOf(Bytes(request)).text, HasSubstr("main_job"));
  }
}

TEST(AttachMessageTest, RefusesRanksAndStagesOutOfRange) {
  const auto refuse = [](void (*change)(AttachRankRequest&)) {
    AttachRankRequest request = GoodRank();
    change(request);
    return RefusalOf(Bytes(request)).text;
  };
  EXPECT_THAT(refuse([](AttachRankRequest& r) { r.rank = 4; }), HasSubstr("rank=4 ranks=4"));
  EXPECT_THAT(refuse([](AttachRankRequest& r) { r.rank = -1; }), HasSubstr("rank=-1"));
  EXPECT_THAT(refuse([](AttachRankRequest& r) { r.ranks = 0; }), HasSubstr("ranks=0"));
  EXPECT_THAT(refuse([](AttachRankRequest& r) { r.stage = 2; }), HasSubstr("stage=2 stages=2"));
  EXPECT_THAT(refuse([](AttachRankRequest& r) { r.mode = 4; }), HasSubstr("mode=4"));
  EXPECT_THAT(refuse([](AttachRankRequest& r) { r.budget_ppm = 1'000'001; }),
              HasSubstr("budget_ppm=1000001"));
}

TEST(AttachMessageTest, RefusesSizesThatDisagree) {
  AttachTaskRequest request = GoodTask();
  EXPECT_EQ(RefusalOf(Bytes(request).substr(0, sizeof(request) - 1)).code, AttachCode::kInvalid);
  request.header.size_bytes = sizeof(MessageHeader);
  EXPECT_EQ(RefusalOf(Bytes(request)).code, AttachCode::kInvalid);
  EXPECT_EQ(RefusalOf(Bytes(request).substr(0, sizeof(MessageHeader))).code, AttachCode::kInvalid);
}

TEST(AttachMessageTest, RefusesWhatOnlyAgentdMaySend) {
  for (const MessageType type : {MessageType::kReply, MessageType::kStop}) {
    EXPECT_THAT(RefusalOf(Bytes(HeaderFor(type, sizeof(MessageHeader)))).text,
                HasSubstr("unexpected message"));
  }
}

TEST(AttachMessageTest, RefusalTextAlwaysEndsInsideTheReply) {
  const AttachReply reply =
      MakeRefusal({.code = AttachCode::kBusy, .text = std::string(1000, 'x')});
  EXPECT_EQ(reply.code, static_cast<uint32_t>(AttachCode::kBusy));
  EXPECT_EQ(std::string(reply.text).size(), sizeof(reply.text) - 1);
}

RC_GTEST_PROP(AttachMessageTest, NeverAcceptsWhatDoesNotStartWithOurMagic,
              (const std::vector<char>& bytes)) {
  const absl::string_view text(bytes.data(), bytes.size());
  uint32_t magic = 0;
  if (bytes.size() >= sizeof(magic)) std::memcpy(&magic, bytes.data(), sizeof(magic));
  RC_PRE(magic != kHandshakeMagic);
  RC_ASSERT(std::holds_alternative<Refusal>(ParseAttachMessage(text)));
}

// Fields behind a good header are arbitrary: what is accepted is in range.
RC_GTEST_PROP(AttachMessageTest, AcceptedRankIsInRangeWhateverTheBytes, ()) {
  AttachRankRequest request = GoodRank();
  const auto garbage = *rc::gen::container<std::vector<char>>(
      sizeof(request) - sizeof(MessageHeader), rc::gen::arbitrary<char>());
  const auto kept = *rc::gen::inRange<size_t>(0, garbage.size());
  std::memcpy(reinterpret_cast<char*>(&request) + sizeof(request) - kept, garbage.data(), kept);
  const AttachMessage message = ParseAttachMessage(Bytes(request));
  if (const auto* rank = std::get_if<RankRequest>(&message)) {
    RC_ASSERT(rank->rank >= 0 && rank->rank < rank->ranks);
    RC_ASSERT(rank->stage >= 0 && rank->stage < rank->stages);
    RC_ASSERT(!rank->main_job.empty() && rank->main_job.size() <= 127u);
    RC_ASSERT(rank->device.size() <= 63u);
  } else {
    RC_ASSERT(std::holds_alternative<Refusal>(message));
  }
}

}  // namespace
}  // namespace pipefill
