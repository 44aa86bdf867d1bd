#include "agent/local_service.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "agent/tasks/loop_runner.h"

namespace pipefill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <typename Message>
absl::string_view Bytes(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof(message)};
}

MessageHeader Bare(MessageType type) {
  return {.magic = kHandshakeMagic,
          .type = static_cast<uint32_t>(type),
          .page_version = kPageVersion,
          .size_bytes = sizeof(MessageHeader)};
}

AttachRankRequest RankMessage() {
  AttachRankRequest request = {};
  request.header = Bare(MessageType::kAttachRank);
  request.header.size_bytes = sizeof(request);
  std::strcpy(request.main_job, "gpt");
  request.ranks = 1;
  request.stages = 1;
  return request;
}

AttachTaskRequest TaskMessage(int64_t job) {
  AttachTaskRequest request = {};
  request.header = Bare(MessageType::kAttachTask);
  request.header.size_bytes = sizeof(request);
  request.job_id = job;
  return request;
}

// Grants ranks and job 1; keeps a diary.
class DiaryHandler : public AttachHandler {
 public:
  explicit DiaryHandler(int page) : page_(page) {}
  AttachAnswer OnAttachRank(const Peer& peer, const RankRequest& request) override {
    last_peer = peer;
    diary.push_back("rank " + request.main_job);
    return PageGrant{.signal_generation = 7, .descriptors = {page_, page_}};
  }
  AttachAnswer OnAttachTask(const Peer& peer, const TaskRequest& request) override {
    last_peer = peer;
    diary.push_back(absl::StrCat("task ", request.key.job.value()));
    if (request.key.job == JobId(1)) {
      return PageGrant{.descriptors = {page_, page_, page_, page_}, .turn_seat = 5};
    }
    return Refusal{.code = AttachCode::kUnknown, .text = "attach: no such attempt"};
  }
  void OnMapped(ConnectionId) override { diary.push_back("mapped"); }
  PageGrant OnSignalRequest(ConnectionId) override {
    diary.push_back("signal");
    return {.signal_generation = 8, .descriptors = {page_}};
  }
  void OnConnectionEnded(ConnectionId) override { diary.push_back("ended"); }

  std::vector<std::string> diary;
  Peer last_peer;

 private:
  const int page_;
};

struct Reply {
  AttachReply message = {};
  int descriptors = 0;
};

// One process that talks to the socket.
class Client {
 public:
  explicit Client(const std::string& path)
      : socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    is_connected_ =
        connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    // Only a broken test waits as long as this.
    const timeval patience = {.tv_sec = 20, .tv_usec = 0};
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  }

  bool is_connected() const { return is_connected_; }
  void Send(absl::string_view message) {
    send(socket_.get(), message.data(), message.size(), MSG_NOSIGNAL);
  }
  void SendWithDescriptor(absl::string_view message, int descriptor) {
    iovec part = {.iov_base = const_cast<char*>(message.data()), .iov_len = message.size()};
    char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof(int));
    sendmsg(socket_.get(), &header, MSG_NOSIGNAL);
  }
  // Nothing if the service has closed the connection.
  std::optional<Reply> Receive() {
    Reply reply;
    iovec part = {.iov_base = &reply.message, .iov_len = sizeof(reply.message)};
    char control[CMSG_SPACE(4 * sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    if (recvmsg(socket_.get(), &header, MSG_CMSG_CLOEXEC) <= 0) return std::nullopt;
    if (const cmsghdr* rights = CMSG_FIRSTHDR(&header); rights != nullptr) {
      reply.descriptors = static_cast<int>((rights->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::vector<int> descriptors(static_cast<size_t>(reply.descriptors));
      std::memcpy(descriptors.data(), CMSG_DATA(rights), descriptors.size() * sizeof(int));
      for (const int descriptor : descriptors) close(descriptor);
    }
    return reply;
  }
  bool IsClosedByService() { return !Receive().has_value(); }

 private:
  const FileDescriptor socket_;
  bool is_connected_ = false;
};

class LocalServiceTest : public ::testing::Test {
 protected:
  LocalServiceTest() : page_(open("/dev/null", O_RDONLY | O_CLOEXEC)), handler_(page_.get()) {}
  void SetUp() override {
    folder_ = absl::StrCat("/tmp/pipefill_local_service_test.", getpid());
    std::filesystem::remove_all(folder_);
    options_.path = folder_ + "/agentd.sock";
  }
  void TearDown() override {
    runner_.Stop();
    service_.reset();
    std::filesystem::remove_all(folder_);
  }

  absl::Status Start() {
    absl::Status status;
    runner_.Do([&] {
      auto service = LocalService::Create(runner_.loop(), options_, handler_);
      status = service.status();
      if (service.ok()) service_ = *std::move(service);
    });
    return status;
  }
  bool WaitForDiary(const std::vector<std::string>& diary) {
    return runner_.RunUntil([&] { return handler_.diary == diary; });
  }

  LoopRunner runner_;
  const FileDescriptor page_;
  DiaryHandler handler_;
  std::string folder_;
  LocalServiceOptions options_;
  std::unique_ptr<LocalService> service_;
};

TEST_F(LocalServiceTest, RankGetsItsPagesMapsThemAndLeaves) {
  ASSERT_TRUE(Start().ok());
  {
    Client client(options_.path);
    client.Send(Bytes(RankMessage()));
    const std::optional<Reply> reply = client.Receive();
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->message.code, static_cast<uint32_t>(AttachCode::kOk));
    EXPECT_EQ(reply->message.signal_generation, 7u);
    EXPECT_EQ(reply->message.descriptors, 2u);
    EXPECT_EQ(reply->descriptors, 2);
    EXPECT_EQ(reply->message.turn_seat, kNoSeat);
    EXPECT_EQ(handler_.last_peer.pid, getpid());
    EXPECT_EQ(handler_.last_peer.uid, geteuid());
    client.Send(Bytes(Bare(MessageType::kMapped)));
    EXPECT_TRUE(WaitForDiary({"rank gpt", "mapped"}));
  }
  EXPECT_TRUE(WaitForDiary({"rank gpt", "mapped", "ended"}));
}

TEST_F(LocalServiceTest, TaskMayAskForTheSignalPageAgainAndIsToldToStop) {
  ASSERT_TRUE(Start().ok());
  Client client(options_.path);
  client.Send(Bytes(TaskMessage(1)));
  const std::optional<Reply> attached = client.Receive();
  ASSERT_TRUE(attached.has_value());
  EXPECT_EQ(attached->descriptors, 4);
  EXPECT_EQ(attached->message.turn_seat, 5u);
  client.Send(Bytes(Bare(MessageType::kMapped)));
  client.Send(Bytes(Bare(MessageType::kSignalRequest)));
  const std::optional<Reply> reply = client.Receive();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->message.signal_generation, 8u);
  EXPECT_EQ(reply->descriptors, 1);
  EXPECT_EQ(reply->message.turn_seat, kNoSeat);
  runner_.Do([&] { service_->SendStop(handler_.last_peer.connection); });
  const std::optional<Reply> stop = client.Receive();
  ASSERT_TRUE(stop.has_value());
  EXPECT_EQ(stop->message.header.type, static_cast<uint32_t>(MessageType::kStop));
}

TEST_F(LocalServiceTest, RefusalCarriesItsTextAndClosesTheConnection) {
  ASSERT_TRUE(Start().ok());
  Client client(options_.path);
  client.Send(Bytes(TaskMessage(2)));
  const std::optional<Reply> reply = client.Receive();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->message.code, static_cast<uint32_t>(AttachCode::kUnknown));
  EXPECT_STREQ(reply->message.text, "attach: no such attempt");
  EXPECT_TRUE(client.IsClosedByService());
  // It was never accepted, so its end is nobody's business.
  EXPECT_THAT(handler_.diary, ElementsAre("task 2"));
}

TEST_F(LocalServiceTest, NonsenseNeverReachesTheHandlerAndIsClosed) {
  ASSERT_TRUE(Start().ok());
  for (const std::string& nonsense :
       {std::string("x"), std::string(100, '\0'), std::string(5000, 'y'),
        std::string(Bytes(Bare(MessageType::kMapped))),
        std::string(Bytes(Bare(MessageType::kSignalRequest))),
        std::string(Bytes(Bare(MessageType::kReply)))}) {
    Client client(options_.path);
    client.Send(nonsense);
    const std::optional<Reply> reply = client.Receive();
    ASSERT_TRUE(reply.has_value());
    EXPECT_EQ(reply->message.code, static_cast<uint32_t>(AttachCode::kInvalid));
    EXPECT_TRUE(client.IsClosedByService());
  }
  EXPECT_TRUE(handler_.diary.empty());
}

TEST_F(LocalServiceTest, PeerThatBreaksTheProtocolAfterItsAttachIsGone) {
  ASSERT_TRUE(Start().ok());
  Client client(options_.path);
  client.Send(Bytes(RankMessage()));
  ASSERT_TRUE(client.Receive().has_value());
  // Only a task may ask for it.
  client.Send(Bytes(Bare(MessageType::kSignalRequest)));
  EXPECT_TRUE(WaitForDiary({"rank gpt", "ended"}));
}

TEST_F(LocalServiceTest, OtherPageVersionIsRefusedWithBothNumbers) {
  ASSERT_TRUE(Start().ok());
  Client client(options_.path);
  AttachRankRequest request = RankMessage();
  request.header.page_version = kPageVersion + 1;
  client.Send(Bytes(request));
  const std::optional<Reply> reply = client.Receive();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->message.code, static_cast<uint32_t>(AttachCode::kVersion));
  EXPECT_THAT(reply->message.text, HasSubstr("install the same release"));
}

TEST_F(LocalServiceTest, DescriptorsThatAPeerSendsAreNotKept) {
  ASSERT_TRUE(Start().ok());
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  FileDescriptor reader(ends[0]);
  FileDescriptor writer(ends[1]);
  Client client(options_.path);
  client.SendWithDescriptor(Bytes(RankMessage()), writer.get());
  ASSERT_TRUE(client.Receive().has_value());
  writer.Close();
  // The end of the pipe shows only if nobody else holds its writer.
  char byte = 0;
  EXPECT_EQ(read(reader.get(), &byte, 1), 0);
}

TEST_F(LocalServiceTest, PeersThatSayNothingAreDropped) {
  options_.silence_max = absl::Milliseconds(20);
  ASSERT_TRUE(Start().ok());
  Client silent(options_.path);
  EXPECT_TRUE(silent.IsClosedByService());
  Client half(options_.path);
  half.Send(Bytes(RankMessage()));
  ASSERT_TRUE(half.Receive().has_value());
  EXPECT_TRUE(half.IsClosedByService());
  EXPECT_TRUE(WaitForDiary({"rank gpt", "ended"}));
}

TEST_F(LocalServiceTest, ConnectionsBeyondTheLimitAreClosed) {
  options_.connections_max = 1;
  ASSERT_TRUE(Start().ok());
  Client first(options_.path);
  first.Send(Bytes(RankMessage()));
  ASSERT_TRUE(first.Receive().has_value());
  Client second(options_.path);
  EXPECT_TRUE(second.IsClosedByService());
}

TEST_F(LocalServiceTest, SocketIsForItsOwnerOnlyAndGoesWithTheService) {
  ASSERT_TRUE(Start().ok());
  struct stat info = {};
  ASSERT_EQ(stat(options_.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  runner_.Do([&] { service_.reset(); });
  EXPECT_FALSE(std::filesystem::exists(options_.path));
}

TEST_F(LocalServiceTest, GroupMayConnectIfOneIsNamed) {
  options_.group = "no-such-group";
  EXPECT_EQ(Start().code(), absl::StatusCode::kInvalidArgument);
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give a file to another group";
  options_.group = "daemon";
  ASSERT_TRUE(Start().ok());
  struct stat info = {};
  ASSERT_EQ(stat(options_.path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  EXPECT_NE(info.st_gid, getegid());
}

TEST_F(LocalServiceTest, SocketOfADeadAgentdIsReplacedAndOfALivingOneNot) {
  ASSERT_TRUE(Start().ok());
  const absl::Status living = Start();
  EXPECT_EQ(living.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(living.message(),
            absl::StrCat("socket ", options_.path,
                         " is in use by another agentd; stop it or choose another path"));
  EXPECT_TRUE(Client(options_.path).is_connected());

  // As after kill -9: the file stays, nobody listens.
  const std::string kept = folder_ + "/kept";
  std::filesystem::rename(options_.path, kept);
  runner_.Do([&] { service_.reset(); });
  std::filesystem::rename(kept, options_.path);
  EXPECT_TRUE(Start().ok());
  EXPECT_TRUE(Client(options_.path).is_connected());
}

TEST_F(LocalServiceTest, WhatIsNoSocketIsNeverRemoved) {
  std::filesystem::create_directories(folder_);
  std::ofstream(options_.path) << "precious";
  EXPECT_EQ(Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(std::filesystem::file_size(options_.path), 8u);
}

TEST_F(LocalServiceTest, RefusesPathsThatCannotBe) {
  options_.path = "/tmp/" + std::string(200, 'x');
  EXPECT_EQ(Start().code(), absl::StatusCode::kInvalidArgument);
  options_.path = "/proc/pipefill/agentd.sock";
  EXPECT_EQ(Start().code(), absl::StatusCode::kPermissionDenied);
}

}  // namespace
}  // namespace pipefill
