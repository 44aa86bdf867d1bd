// An edge recorder on pages of its own, with one bubble offered and a gate that waits.
//
// Thread-compatible.
#ifndef CLIENT_TESTING_EDGE_RECORDER_FIXTURE_H_
#define CLIENT_TESTING_EDGE_RECORDER_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/main_job/edge_recorder.h"
#include "client/testing/fakes.h"
#include "client/testing/test_page.h"
#include "gtest/gtest.h"

namespace pipefill::sdk {

inline std::vector<EdgeEvent> ReadEdges(const SignalPage& page) {
  std::vector<EdgeEvent> edges;
  for (uint64_t sequence = 0; sequence < page.events.written.load(); ++sequence) {
    uint64_t words[kEdgeWords];
    if (page.events.Read(sequence, words)) edges.push_back(UnpackEdge(words));
  }
  return edges;
}

// One letter per edge: I i iteration, B b bubble, C c chunk, M memory hint.
inline std::string Letters(const SignalPage& page) {
  std::string letters;
  for (const EdgeEvent& edge : ReadEdges(page)) {
    letters += "?IiBbMCc"[static_cast<size_t>(edge.kind)];
  }
  return letters;
}

class EdgeRecorderTest : public testing::Test {
 protected:
  EdgeRecorderTest() : futex_(clock_), recorder_(signal_.get(), window_.get(), clock_, futex_) {
    window_->heartbeat_ns.store(clock_.now_ns);
    window_->gates.store(1);
    OfferBubble(window_.get(), 0, 1'000'000, 1'000'000);
  }

  bool is_open() const { return ReadSignal(*signal_).is_open(); }
  uint64_t misplaced() const { return signal_->calls_misplaced.load(); }

  TestSignalPage signal_;
  TestWindowPage window_;
  FakeClock clock_;
  FakeFutex futex_;
  EdgeRecorder recorder_;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_TESTING_EDGE_RECORDER_FIXTURE_H_
