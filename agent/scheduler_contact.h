// Whether schedulerd can be counted on: when to dial it again, and when its silence is so long that
// the tasks here must stand still.
//
//   silent ----- Welcome -----> heard ----- nothing confirmed for a lease -----> silent
//                                 ^ a message that confirms something newer
//
// A lease counts from when that was sent which schedulerd confirms to have heard, and not from when
// its word arrives: words may be late, and one that was said before schedulerd gave this node up
// must not open the gates after it.
//
// While schedulerd is silent all gates are parked: it may have given this node up and started the
// attempts elsewhere. Main jobs are served all the same.
//
// Pure.
#ifndef AGENT_SCHEDULER_CONTACT_H_
#define AGENT_SCHEDULER_CONTACT_H_

#include <optional>

#include "absl/time/time.h"
#include "common/instant.h"

namespace pipefill {

struct ContactLimits {
  absl::Duration backoff_min = absl::Milliseconds(100);
  absl::Duration backoff_max = absl::Seconds(5);
  // A lease that makes no sense is brought into this range.
  absl::Duration lease_min = absl::Milliseconds(100);
  absl::Duration lease_max = absl::Hours(1);
};

class SchedulerContact {
 public:
  explicit SchedulerContact(const ContactLimits& limits) : limits_(limits) {}

  // `confirmed`: when the newest message was sent that schedulerd says it has heard. Later than
  // `now` counts as now.
  void OnWelcome(absl::Duration lease, Instant confirmed, Instant now);
  // Anything from schedulerd. Does nothing before the first Welcome.
  void OnMessage(Instant confirmed, Instant now);

  // How long to wait before the next dial: doubles with each call up to backoff_max, times a factor
  // in [1/2, 1] given by `random` in [0, 1), so that many agents do not dial as one.
  absl::Duration NextBackoff(double random);

  // True before the first Welcome.
  bool is_silent(Instant now) const;
  // Half of the lease is over without a message, or three quarters without a confirmation.
  bool is_fading(Instant now) const;

 private:
  const ContactLimits limits_;
  absl::Duration backoff_ = absl::ZeroDuration();
  absl::Duration lease_ = absl::ZeroDuration();
  Instant heard_at_;
  std::optional<Instant> confirmed_at_;  // nullopt = no Welcome yet
};

}  // namespace pipefill

#endif  // AGENT_SCHEDULER_CONTACT_H_
