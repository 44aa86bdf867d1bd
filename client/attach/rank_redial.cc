#include "client/attach/rank_redial.h"

#include <algorithm>
#include <utility>

namespace pipefill::sdk {

RankRedial::RankRedial(const AttachRankRequest& request, const std::string& socket,
                       const Clock& clock)
    : request_(WithHeader(request)), socket_(socket), clock_(clock) {}

bool RankRedial::Step(uint64_t now_ns, RankPages* pages) noexcept {
  try {
    if (connection_.is_open()) return TakeAnswer(now_ns, pages);
    if (now_ns >= due_ns_) Ask(now_ns);
  } catch (...) {
    // Out of memory: the main job has other worries.
    TryAgainLater(now_ns, kAgainMaxNs);
  }
  return false;
}

void RankRedial::Reset() noexcept {
  if (connection_.is_open()) connection_ = Connection();
}

void RankRedial::Ask(uint64_t now_ns) {
  asked_ns_ = now_ns;
  if (Connection::ConnectNow(socket_, clock_, &connection_) != 0 ||
      !connection_.Send(&request_, sizeof(request_))) {
    TryAgainLater(now_ns, kAgainNs);
  }
}

bool RankRedial::TakeAnswer(uint64_t now_ns, RankPages* pages) {
  Message message;
  switch (connection_.Receive(0, &message)) {
    case Receipt::kNothing:
      if (now_ns - asked_ns_ > kAnswerMaxNs) TryAgainLater(now_ns, kAgainNs);
      return false;
    case Receipt::kClosed:
      TryAgainLater(now_ns, kAgainNs);
      return false;
    case Receipt::kMessage:
      break;
  }
  RankPages fresh;
  fresh.connection = std::move(connection_);
  if (!TakeRankPages(message, &fresh).ok()) {
    refused_delay_ns_ = std::min(2 * refused_delay_ns_, kAgainMaxNs);
    TryAgainLater(now_ns, refused_delay_ns_);
    return false;
  }
  refused_delay_ns_ = kAgainNs;
  TryAgainLater(now_ns, kAgainNs);
  *pages = std::move(fresh);
  return true;
}

void RankRedial::TryAgainLater(uint64_t now_ns, uint64_t delay_ns) {
  connection_ = Connection();
  due_ns_ = now_ns + delay_ns;
}

}  // namespace pipefill::sdk
