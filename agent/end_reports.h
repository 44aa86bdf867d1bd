// Ends of attempts that schedulerd has not acknowledged yet. They are told again until it does, and
// first once they are on disk (end_sync.h), so that no agentd after this one tells another story.
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

struct EndReport {
  v1::AttemptEnded ended;
  bool is_kept = false;  // may be told
};

class EndReports {
 public:
  // REQUIRES: limit > 0.
  explicit EndReports(size_t limit) : limit_(limit) {}

  // Replaces one of the same attempt. Returns the one that was forgotten, if any.
  std::optional<v1::AttemptEnded> Add(EndReport report);
  // It may be told from now on. Nothing if it is not here.
  void SetKept(const AttemptKey& key);
  // Nothing if it is not here.
  void Acknowledge(const AttemptKey& key);
  // Null if it is not here; valid until the next change.
  const EndReport* Find(const AttemptKey& key) const;
  // Oldest first.
  const std::deque<EndReport>& waiting() const { return waiting_; }
  bool is_empty() const { return waiting_.empty(); }

 private:
  const size_t limit_;
  std::deque<EndReport> waiting_;
};

}  // namespace pipefill

#endif  // AGENT_END_REPORTS_H_
