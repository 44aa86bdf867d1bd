#include "client/testing/fake_agent.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "gtest/gtest.h"

namespace pipefill::sdk {
namespace {

constexpr char kStopOrder = 's';
constexpr char kHangUpOrder = 'h';

void Require(bool condition) {
  if (!condition) std::abort();
}

int Listen(const std::string& path) {
  const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  Require(path.size() < sizeof(address.sun_path));
  memcpy(address.sun_path, path.data(), path.size());
  Require(bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0);
  Require(listen(listener, 8) == 0);
  return listener;
}

void SendBeside(int peer, const AttachReply& reply, const std::vector<int>& descriptors) {
  iovec part = {.iov_base = const_cast<AttachReply*>(&reply), .iov_len = sizeof(reply)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(4 * sizeof(int))> control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
  }
  sendmsg(peer, &message, MSG_NOSIGNAL);
}

// Serves one peer inside the child.
class Session {
 public:
  Session(FakeAgent& agent, int peer) : agent_(agent), peer_(peer) {}

  // False once the peer is to be dropped.
  bool OnMessage() {
    std::array<char, 1024> bytes;
    const ssize_t size = recv(peer_, bytes.data(), bytes.size(), 0);
    if (size < static_cast<ssize_t>(sizeof(MessageHeader))) return false;
    MessageHeader header;
    memcpy(&header, bytes.data(), sizeof(header));
    FakeAgent::Shared& shared = agent_.shared();
    switch (static_cast<MessageType>(header.type)) {
      case MessageType::kAttachRank:
        memcpy(&shared.rank_request, bytes.data(), sizeof(shared.rank_request));
        shared.requests.fetch_add(1);
        return Answer({agent_.signal.descriptor(), agent_.window.descriptor()});
      case MessageType::kAttachTask:
        memcpy(&shared.task_request, bytes.data(), sizeof(shared.task_request));
        shared.requests.fetch_add(1);
        return Answer(TaskPages());
      case MessageType::kMapped:
        shared.mapped.fetch_add(1);
        return true;
      case MessageType::kSignalRequest:
        shared.signal_requests.fetch_add(1);
        return Answer(SignalPages());
      default:
        return false;
    }
  }

  void SendStop() const {
    const MessageHeader stop = {.magic = kHandshakeMagic,
                                .type = static_cast<uint32_t>(MessageType::kStop),
                                .page_version = kPageVersion,
                                .size_bytes = sizeof(MessageHeader)};
    send(peer_, &stop, sizeof(stop), MSG_NOSIGNAL);
  }

 private:
  std::vector<int> SignalPages() const {
    if (agent_.shared().has_signal.load() == 0) return {};
    return {agent_.signal.descriptor()};
  }

  std::vector<int> TaskPages() const {
    std::vector<int> pages = {agent_.window.descriptor(), agent_.task.descriptor(),
                              agent_.turn.descriptor()};
    for (const int descriptor : SignalPages()) pages.push_back(descriptor);
    return pages;
  }

  bool Answer(std::vector<int> descriptors) const {
    FakeAgent::Shared& shared = agent_.shared();
    AttachReply reply = {};
    reply.header = {.magic = kHandshakeMagic,
                    .type = static_cast<uint32_t>(MessageType::kReply),
                    .page_version = shared.page_version.load(),
                    .size_bytes = sizeof(reply)};
    reply.code = shared.code.load();
    reply.signal_generation = agent_.window->signal_generation.load();
    reply.turn_seat = shared.turn_seat.load();
    strncpy(reply.text, "told so by the test", sizeof(reply.text) - 1);
    if (reply.code != 0) descriptors.clear();
    switch (static_cast<FakeAgent::Manner>(shared.manner.load())) {
      case FakeAgent::Manner::kAccept:
        break;
      case FakeAgent::Manner::kSilent:
        return true;
      case FakeAgent::Manner::kHangUp:
        return false;
      case FakeAgent::Manner::kGarbage:
        memset(&reply, 0x5a, sizeof(reply));
        break;
      case FakeAgent::Manner::kTooFewPages:
        descriptors.resize(1);
        break;
    }
    SendBeside(peer_, reply, descriptors);
    return true;
  }

  FakeAgent& agent_;
  const int peer_;
};

}  // namespace

FakeAgent::FakeAgent() {
  // Bazel's own folder may be too deep for a socket's path.
  const std::string root = testing::TempDir();
  folder_ = (root.size() < 60 ? root : "/tmp/") + "agent-XXXXXX";
  Require(mkdtemp(folder_.data()) != nullptr);
  socket_ = folder_ + "/agentd.sock";
  Start();
}

FakeAgent::FakeAgent(const std::string& socket) : socket_(socket) {
  unlink(socket_.c_str());
  Start();
}

void FakeAgent::Start() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  Require(memory != MAP_FAILED);
  shared_ = new (memory) Shared();
  shared_->page_version.store(kPageVersion);
  const int listener = Listen(socket_);
  int orders[2];
  int answers[2];
  Require(pipe(orders) == 0 && pipe(answers) == 0);
  child_ = fork();
  Require(child_ >= 0);
  if (child_ == 0) {
    close(orders[1]);
    close(answers[0]);
    Serve(listener, orders[0], answers[1]);
    _exit(0);
  }
  close(listener);
  close(orders[0]);
  close(answers[1]);
  orders_ = Descriptor(orders[1]);
  answers_ = Descriptor(answers[0]);
}

FakeAgent::~FakeAgent() {
  Kill();
  unlink(socket_.c_str());
  if (!folder_.empty()) rmdir(folder_.c_str());
  munmap(shared_, sizeof(Shared));
}

void FakeAgent::Serve(int listener, int orders, int answers) {
  int peer = -1;
  for (;;) {
    std::array<pollfd, 2> entries = {
        {{.fd = peer < 0 ? listener : peer, .events = POLLIN, .revents = 0},
         {.fd = orders, .events = POLLIN, .revents = 0}}};
    if (poll(entries.data(), entries.size(), -1) < 0) return;
    char order = 0;
    if (entries[1].revents != 0) {
      if (read(orders, &order, 1) != 1) return;  // the test process is gone
    }
    Session session(*this, peer);
    bool is_kept = order != kHangUpOrder;
    if (order == kStopOrder) session.SendStop();
    if (entries[0].revents != 0 && peer < 0) {
      peer = accept(listener, nullptr, nullptr);
    } else if (entries[0].revents != 0 && is_kept) {
      is_kept = session.OnMessage();
    }
    if (!is_kept && peer >= 0) {
      close(peer);
      peer = -1;
    }
    if (order != 0 && write(answers, &order, 1) != 1) return;
  }
}

void FakeAgent::Order(char order) {
  Require(write(orders_.get(), &order, 1) == 1);
  Require(read(answers_.get(), &order, 1) == 1);
}

void FakeAgent::SendStop() { Order(kStopOrder); }

void FakeAgent::HangUp() { Order(kHangUpOrder); }

void FakeAgent::Kill() {
  if (child_ < 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  child_ = -1;
}

void FakeAgent::Await(const std::atomic<uint32_t>& count, uint32_t least) {
  while (count.load() < least) sched_yield();
}

}  // namespace pipefill::sdk
