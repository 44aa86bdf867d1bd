// Ends of attempts that schedulerd has not acknowledged yet. They are told again until it does.
//
// Bounded: beyond the limit the oldest is forgotten. schedulerd then misses the attempt in this
// agent's list and gives it up as lost.
//
// Pure.
#ifndef AGENT_END_REPORTS_H_
#define AGENT_END_REPORTS_H_

#include <cstddef>
#include <deque>
#include <optional>

#include "agent/tasks/attempt.h"
#include "proto/agent.pb.h"

namespace pipefill {

class EndReports {
 public:
  // REQUIRES: limit > 0.
  explicit EndReports(size_t limit) : limit_(limit) {}

  // Replaces one of the same attempt. Returns the one that was forgotten, if any.
  std::optional<v1::AttemptEnded> Add(const v1::AttemptEnded& ended);
  // Nothing if it is not here.
  void Acknowledge(const AttemptKey& key);
  // Null if it is not here; valid until the next change.
  const v1::AttemptEnded* Find(const AttemptKey& key) const;
  // Oldest first.
  const std::deque<v1::AttemptEnded>& waiting() const { return waiting_; }
  bool is_empty() const { return waiting_.empty(); }

 private:
  const size_t limit_;
  std::deque<v1::AttemptEnded> waiting_;
};

}  // namespace pipefill

#endif  // AGENT_END_REPORTS_H_
