#include "agent/end_reports.h"

#include <algorithm>
#include <utility>

#include "agent/convert.h"

namespace pipefill {
namespace {

bool IsOf(const EndReport& report, const AttemptKey& key) {
  return FromProto(report.ended.key()) == key;
}

}  // namespace

std::optional<v1::AttemptEnded> EndReports::Add(EndReport report) {
  Acknowledge(FromProto(report.ended.key()));
  waiting_.push_back(std::move(report));
  if (waiting_.size() <= limit_) return std::nullopt;
  std::optional<v1::AttemptEnded> forgotten = std::move(waiting_.front().ended);
  waiting_.pop_front();
  return forgotten;
}

void EndReports::SetKept(const AttemptKey& key) {
  for (EndReport& report : waiting_) {
    if (IsOf(report, key)) report.is_kept = true;
  }
}

void EndReports::Acknowledge(const AttemptKey& key) {
  std::erase_if(waiting_, [&](const EndReport& report) { return IsOf(report, key); });
}

const EndReport* EndReports::Find(const AttemptKey& key) const {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const EndReport& report) { return IsOf(report, key); });
  return found == waiting_.end() ? nullptr : &*found;
}

}  // namespace pipefill
