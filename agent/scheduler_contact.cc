#include "agent/scheduler_contact.h"

#include <algorithm>

namespace pipefill {

void SchedulerContact::OnWelcome(absl::Duration lease, Instant now) {
  lease_ = std::clamp(lease, limits_.lease_min, limits_.lease_max);
  heard_at_ = now;
  backoff_ = absl::ZeroDuration();
}

void SchedulerContact::OnMessage(Instant now) {
  if (heard_at_.has_value()) heard_at_ = now;
}

absl::Duration SchedulerContact::NextBackoff(double random) {
  backoff_ = std::clamp(2 * backoff_, limits_.backoff_min, limits_.backoff_max);
  return backoff_ * (0.5 + 0.5 * random);
}

bool SchedulerContact::is_silent(Instant now) const {
  return !heard_at_.has_value() || now - *heard_at_ > lease_;
}

bool SchedulerContact::is_fading(Instant now) const {
  return heard_at_.has_value() && now - *heard_at_ > lease_ / 2;
}

}  // namespace pipefill
