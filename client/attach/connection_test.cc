#include "client/attach/connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() {
    std::array<int, 2> ends;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::abort();
    connection_ = Connection(Descriptor(ends[0]), clock_);
    peer_ = Descriptor(ends[1]);
  }

  void SendFromPeer(const MessageHeader& header) {
    ASSERT_EQ(send(peer_.get(), &header, sizeof(header), 0), ssize_t{sizeof(header)});
  }

  SystemClock clock_;
  Connection connection_;
  Descriptor peer_;
  Message message_;
};

constexpr MessageHeader kStop = {.magic = kHandshakeMagic,
                                 .type = static_cast<uint32_t>(MessageType::kStop),
                                 .page_version = kPageVersion,
                                 .size_bytes = sizeof(MessageHeader)};

TEST_F(ConnectionTest, ReceivesWholeMessagesInOrder) {
  SendFromPeer(kStop);
  MessageHeader second = kStop;
  second.type = 77;
  SendFromPeer(second);

  ASSERT_EQ(connection_.Receive(0, &message_), Receipt::kMessage);
  EXPECT_EQ(message_.header()->type, kStop.type);
  ASSERT_EQ(connection_.Receive(0, &message_), Receipt::kMessage);
  EXPECT_EQ(message_.header()->type, 77u);
  EXPECT_EQ(connection_.Receive(0, &message_), Receipt::kNothing);
}

TEST_F(ConnectionTest, TellsForGoodThatThePeerIsGone) {
  peer_ = Descriptor();
  EXPECT_EQ(connection_.Receive(0, &message_), Receipt::kClosed);
  EXPECT_EQ(connection_.Receive(1'000'000'000, &message_), Receipt::kClosed);
  EXPECT_FALSE(connection_.is_open());
}

// SIGPIPE would end this process.
TEST_F(ConnectionTest, SendingToAPeerThatIsGoneFailsQuietly) {
  peer_ = Descriptor();
  EXPECT_FALSE(connection_.Send(&kStop, sizeof(kStop)));
}

TEST_F(ConnectionTest, SendingNeverWaitsForAPeerThatDoesNotRead) {
  int sent = 0;
  while (connection_.Send(&kStop, sizeof(kStop)) && sent < 1'000'000) ++sent;
  EXPECT_GT(sent, 0);
  EXPECT_LT(sent, 1'000'000);
}

TEST_F(ConnectionTest, KnowsNoHeaderInAMessageWithWrongMagicOrSize) {
  MessageHeader header = kStop;
  header.magic ^= 1;
  SendFromPeer(header);
  header = kStop;
  header.size_bytes += 8;
  SendFromPeer(header);
  ASSERT_EQ(send(peer_.get(), "abc", 3, 0), 3);

  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(connection_.Receive(0, &message_), Receipt::kMessage);
    EXPECT_EQ(message_.header(), nullptr);
  }
}

void SendDescriptors(int socket_fd, const std::vector<int>& descriptors) {
  MessageHeader header = kStop;
  iovec part = {.iov_base = &header, .iov_len = sizeof(header)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
  cmsghdr* entry = CMSG_FIRSTHDR(&message);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
  std::copy(descriptors.begin(), descriptors.end(), reinterpret_cast<int*>(CMSG_DATA(entry)));
  ASSERT_GT(sendmsg(socket_fd, &message, 0), 0);
}

int CountOpen() {
  int count = 0;
  for (int descriptor = 0; descriptor < 256; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) >= 0) ++count;
  }
  return count;
}

TEST_F(ConnectionTest, TakesDescriptorsCloseOnExecAndClosesThemWithTheMessage) {
  const int before = CountOpen();
  SendDescriptors(peer_.get(), {0, 1});
  ASSERT_EQ(connection_.Receive(0, &message_), Receipt::kMessage);

  ASSERT_EQ(message_.descriptor_count, 2u);
  EXPECT_NE(fcntl(message_.descriptors[0].get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(CountOpen(), before + 2);
  EXPECT_EQ(connection_.Receive(0, &message_), Receipt::kNothing);
  EXPECT_EQ(CountOpen(), before);
}

TEST_F(ConnectionTest, LeaksNoDescriptorWhenThePeerSendsTooMany) {
  const int before = CountOpen();
  SendDescriptors(peer_.get(), {0, 1, 2, 0, 1, 2});
  ASSERT_EQ(connection_.Receive(0, &message_), Receipt::kMessage);
  EXPECT_LE(message_.descriptor_count, Message::kDescriptorsMax);
  message_ = Message();
  EXPECT_EQ(CountOpen(), before);
}

TEST_F(ConnectionTest, ForkedChildKeepsNoCopySoThatThePeerSeesTheEnd) {
  std::array<int, 2> go;
  ASSERT_EQ(pipe(go.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(go[1]);
    const bool is_closed = connection_.Receive(0, &message_) == Receipt::kClosed;
    if (read(go[0], &byte, 1) < 0) _exit(2);  // lives until the parent lets it go
    _exit(is_closed ? 0 : 1);
  }
  connection_ = Connection();
  char byte;
  EXPECT_EQ(recv(peer_.get(), &byte, 1, 0), 0);
  close(go[1]);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  close(go[0]);
}

}  // namespace
}  // namespace pipefill::sdk
