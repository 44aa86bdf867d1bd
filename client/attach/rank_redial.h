// Attaches a rank anew after its agentd has gone, in steps of which none waits.
//
//   idle --Step, not before due: connects and asks--> asked --Step: the reply is there--> pages
//    ^                                                  |
//    +---- nobody there, refused, nonsense, or no answer for kAnswerMaxNs: due again later
//
// A step costs one system call while it waits for the answer, four while it asks, and the mapping
// of two pages once. Nobody there: due again after a second. Refused or not understood: after twice
// as long as the time before, up to a minute, for that is not going to change soon.
//
// Thread-compatible.
#ifndef CLIENT_ATTACH_RANK_REDIAL_H_
#define CLIENT_ATTACH_RANK_REDIAL_H_

#include <cstdint>
#include <string>

#include "client/attach/attach.h"
#include "client/attach/connection.h"
#include "client/pages/handshake.h"
#include "client/platform/clock.h"

namespace pipefill::sdk {

class RankRedial {
 public:
  static constexpr uint64_t kAgainNs = 1'000'000'000;
  static constexpr uint64_t kAgainMaxNs = 64'000'000'000;
  static constexpr uint64_t kAnswerMaxNs = 5'000'000'000;

  // `clock` outlives the object.
  RankRedial(const AttachRankRequest& request, const std::string& socket, const Clock& clock);

  // True once `*pages` are the new ones; agentd knows then that they are in use.
  bool Step(uint64_t now_ns, RankPages* pages) noexcept;
  // The old agentd is back: gives up what is under way.
  void Reset() noexcept;
  bool is_asked() const { return connection_.is_open(); }

 private:
  void Ask(uint64_t now_ns);
  bool TakeAnswer(uint64_t now_ns, RankPages* pages);
  void TryAgainLater(uint64_t now_ns, uint64_t delay_ns);

  const AttachRankRequest request_;
  const std::string socket_;
  const Clock& clock_;
  Connection connection_;  // open while asked
  uint64_t asked_ns_ = 0;
  uint64_t due_ns_ = 0;
  uint64_t refused_delay_ns_ = kAgainNs;
};

}  // namespace pipefill::sdk

#endif  // CLIENT_ATTACH_RANK_REDIAL_H_
