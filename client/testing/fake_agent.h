// A small agentd for tests: a child process that listens on a Unix socket, speaks the handshake,
// and hands out pages that the test shares and looks into.
//
//   test process                      child
//   pages (mapped) ----- fork ------> pages
//   orders, counts <---- shared ----> serves one connection at a time
//
// Thread-compatible; make it before any thread.
#ifndef CLIENT_TESTING_FAKE_AGENT_H_
#define CLIENT_TESTING_FAKE_AGENT_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "client/pages/handshake.h"
#include "client/pages/page_layout.h"
#include "client/testing/test_page.h"

namespace pipefill::sdk {

class FakeAgent {
 public:
  // How it answers a request to attach.
  enum class Manner : uint32_t { kAccept, kSilent, kHangUp, kGarbage, kTooFewPages };

  // What test and child share. Set orders before the call that they are meant for.
  struct Shared {
    std::atomic<uint32_t> manner;
    std::atomic<uint32_t> code;          // an AttachCode
    std::atomic<uint32_t> page_version;  // of the reply's header
    std::atomic<uint32_t> has_signal;    // 1 = a task gets the signal page
    std::atomic<uint32_t> turn_seat;     // of the next task
    std::atomic<uint32_t> requests;      // attach requests that came in
    std::atomic<uint32_t> mapped;        // kMapped that came in
    std::atomic<uint32_t> signal_requests;
    AttachRankRequest rank_request;  // the last one; read it once `requests` has grown
    AttachTaskRequest task_request;
  };

  FakeAgent();
  // Takes over `socket` from one that was killed and is still there.
  explicit FakeAgent(const std::string& socket);
  ~FakeAgent();
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  const std::string& socket() const { return socket_; }
  Shared& shared() const { return *shared_; }

  // The child sends kStop to the task that is attached; returns once it has.
  void SendStop();
  // Hangs up; returns once it has.
  void HangUp();
  // SIGKILL; returns once the child is gone.
  void Kill();
  // Returns once `count` is at least `least`; for what the SDK sends without waiting for an answer.
  static void Await(const std::atomic<uint32_t>& count, uint32_t least);

  TestSignalPage signal;
  TestWindowPage window;
  TestTaskPage task;
  TestTurnPage turn;

 private:
  void Start();
  void Serve(int listener, int orders, int answers);
  void Order(char order);

  std::string folder_;  // made here; empty if another agent's
  std::string socket_;
  Shared* shared_ = nullptr;
  pid_t child_ = -1;
  Descriptor orders_;
  Descriptor answers_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_TESTING_FAKE_AGENT_H_
