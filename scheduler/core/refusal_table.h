// Nodes that refused launches. A node that refuses several within a window is given none for a
// while; then it is tried again. Soft state.
//
// Pure but for being the owner of its state. Thread-compatible.
#ifndef SCHEDULER_CORE_REFUSAL_TABLE_H_
#define SCHEDULER_CORE_REFUSAL_TABLE_H_

#include <deque>
#include <memory>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"
#include "common/instant.h"

namespace pipefill::scheduler {

struct RefusalLimits {
  int32_t refusals_max = 3;  // within the window; > 0
  absl::Duration window = absl::Minutes(1);
  absl::Duration quarantine = absl::Minutes(1);
};

struct Quarantine {
  Instant until;
  std::string text;  // one line: what the node last said
};
using QuarantineMap = absl::btree_map<std::string, Quarantine>;

class RefusalTable {
 public:
  explicit RefusalTable(const RefusalLimits& limits) : limits_(limits) {}

  // The node has refused a launch, for the reason `text`. True if it is in quarantine from now on.
  bool Note(const std::string& node, const std::string& text, Instant now);
  // A launch has worked there: what it refused before is forgotten.
  void Clear(const std::string& node);
  // Of all nodes.
  void ClearAll();

  // Until when the node is given nothing; nullptr if it is given jobs.
  const Quarantine* Find(const std::string& node, Instant now) const;
  // Some may have ended already.
  std::shared_ptr<const QuarantineMap> Snapshot() const { return quarantines_; }

 private:
  const RefusalLimits limits_;
  absl::btree_map<std::string, std::deque<Instant>> refusals_;
  // Replaced at each change: there are few.
  std::shared_ptr<const QuarantineMap> quarantines_ = std::make_shared<const QuarantineMap>();
};

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_CORE_REFUSAL_TABLE_H_
