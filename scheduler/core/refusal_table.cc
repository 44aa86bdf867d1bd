#include "scheduler/core/refusal_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "common/quantity.h"

namespace pipefill::scheduler {

bool RefusalTable::Note(const std::string& node, const std::string& text, Instant now) {
  std::deque<Instant>& times = refusals_[node];
  times.push_back(now);
  while (now - times.front() > limits_.window) times.pop_front();
  if (static_cast<int32_t>(times.size()) < limits_.refusals_max) return false;
  auto map = std::make_shared<QuarantineMap>();
  for (const auto& [name, quarantine] : *quarantines_) {
    if (quarantine.until > now) map->emplace(name, quarantine);
  }
  (*map)[node] = {now + limits_.quarantine,
                  absl::StrCat("it refused ", times.size(), " launches within ",
                               pipefill::FormatDuration(limits_.window), ", the last one: ", text)};
  quarantines_ = std::move(map);
  refusals_.erase(node);
  return true;
}

void RefusalTable::Clear(const std::string& node) { refusals_.erase(node); }

void RefusalTable::ClearAll() {
  refusals_.clear();
  quarantines_ = std::make_shared<const QuarantineMap>();
}

const Quarantine* RefusalTable::Find(const std::string& node, Instant now) const {
  auto it = quarantines_->find(node);
  return it == quarantines_->end() || it->second.until <= now ? nullptr : &it->second;
}

}  // namespace pipefill::scheduler
