#include "simulator/faults/task_behaviour.h"

#include "simulator/faults/draw.h"

namespace pipefill::simulator {
namespace {

// Of the three seconds that lie between lease and loss at least, one may pass until gates notice
// that nobody tells them to shut.
constexpr absl::Duration kUnitTailMost = absl::Milliseconds(1700);

}  // namespace

TaskBehaviour DrawBehaviour(uint64_t seed, JobId job, AttemptNumber attempt) {
  // Large odd numbers keep neighbours apart.
  Draw draw(seed + static_cast<uint64_t>(job.value()) * 0x9E3779B97F4A7C15 +
            static_cast<uint64_t>(attempt.value()) * 0xC2B2AE3D27D4EB4F);
  TaskBehaviour behaviour;
  behaviour.start_delay = draw.Between(absl::Milliseconds(1), absl::Milliseconds(400));
  behaviour.news_delay = draw.Between(absl::ZeroDuration(), absl::Milliseconds(50));
  behaviour.attach_delay = draw.Between(absl::Milliseconds(1), absl::Seconds(2));
  if (draw.Chance(0.1)) behaviour.attach_delay = absl::Milliseconds(1);
  behaviour.work = draw.Between(absl::Milliseconds(10), absl::Seconds(40));
  if (draw.Chance(0.1)) behaviour.work = absl::Milliseconds(1);
  behaviour.unit_tail = draw.Between(absl::ZeroDuration(), kUnitTailMost);
  behaviour.save = draw.Between(absl::Milliseconds(1), absl::Seconds(4));
  behaviour.exit_code = draw.Chance(0.15) ? 1 : 0;
  behaviour.is_launchable = !draw.Chance(0.03);
  behaviour.is_refused = draw.Chance(0.03);
  behaviour.never_attaches = draw.Chance(0.1);
  behaviour.ignores_terminate = draw.Chance(0.1);
  behaviour.ignores_ask = draw.Chance(0.1);
  behaviour.grows = draw.Chance(0.05);
  behaviour.overstays = draw.Chance(0.05);
  behaviour.outlives_limit = draw.Chance(0.1);
  behaviour.loses_gate = draw.Chance(0.1);
  behaviour.is_misreported = draw.Chance(0.02);
  return behaviour;
}

}  // namespace pipefill::simulator
