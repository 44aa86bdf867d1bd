#include "agent/end_reports.h"

#include <algorithm>

#include "agent/convert.h"

namespace pipefill {

std::optional<v1::AttemptEnded> EndReports::Add(const v1::AttemptEnded& ended) {
  Acknowledge(FromProto(ended.key()));
  waiting_.push_back(ended);
  if (waiting_.size() <= limit_) return std::nullopt;
  std::optional<v1::AttemptEnded> forgotten = std::move(waiting_.front());
  waiting_.pop_front();
  return forgotten;
}

void EndReports::Acknowledge(const AttemptKey& key) {
  std::erase_if(waiting_,
                [&](const v1::AttemptEnded& ended) { return FromProto(ended.key()) == key; });
}

const v1::AttemptEnded* EndReports::Find(const AttemptKey& key) const {
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(),
                   [&](const v1::AttemptEnded& ended) { return FromProto(ended.key()) == key; });
  return found == waiting_.end() ? nullptr : &*found;
}

}  // namespace pipefill
