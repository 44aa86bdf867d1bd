#include "agent/scheduler_contact.h"

#include <algorithm>

namespace pipefill {

void SchedulerContact::OnWelcome(absl::Duration lease, Instant confirmed, Instant now) {
  lease_ = std::clamp(lease, limits_.lease_min, limits_.lease_max);
  backoff_ = absl::ZeroDuration();
  if (!confirmed_at_.has_value()) confirmed_at_ = std::min(confirmed, now);
  OnMessage(confirmed, now);
}

void SchedulerContact::OnMessage(Instant confirmed, Instant now) {
  if (!confirmed_at_.has_value()) return;
  heard_at_ = now;
  confirmed_at_ = std::max(*confirmed_at_, std::min(confirmed, now));
}

absl::Duration SchedulerContact::NextBackoff(double random) {
  backoff_ = std::clamp(2 * backoff_, limits_.backoff_min, limits_.backoff_max);
  return backoff_ * (0.5 + 0.5 * random);
}

bool SchedulerContact::is_silent(Instant now) const {
  return !confirmed_at_.has_value() || now - *confirmed_at_ > lease_;
}

bool SchedulerContact::is_fading(Instant now) const {
  return confirmed_at_.has_value() &&
         (now - heard_at_ > lease_ / 2 || now - *confirmed_at_ > lease_ * 3 / 4);
}

}  // namespace pipefill
