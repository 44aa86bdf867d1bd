#include "cli/connection.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/command.h"
#include "common/clock.h"
#include "common/environment.h"
#include "common/loop.h"

namespace pipefill {

double RandomShare() {
  const std::string digits = RandomToken().substr(0, 8);
  return static_cast<double>(std::stoul(digits, nullptr, 16)) / 4294967296.0;
}

absl::StatusOr<std::unique_ptr<SchedulerClient>> Connect(const std::string& address,
                                                         std::ostream* notes,
                                                         absl::Duration timeout) {
  SchedulerClientOptions options;
  options.address = address;
  options.call_timeout = timeout;
  options.away_hint =
      absl::StrCat("start one with 'pipefill dev --state DIR', or name another with ",
                   "--scheduler HOST:PORT or ", kSchedulerVariable);
  SchedulerClientDependencies dependencies = {
      .clock = SystemClock(), .pause = PauseOnLoop, .random = RandomShare, .new_key = RandomToken};
  if (notes != nullptr) {
    dependencies.on_retry = [notes](const absl::Status& status) {
      const std::string message(status.message());
      *notes << "pipefill: " << message.substr(0, message.find("; "))
             << "; trying again for a while" << std::endl;
    };
  }
  return NewSchedulerClient(options, dependencies);
}

void PauseOnLoop(absl::Duration span) {
  const std::unique_ptr<EventLoop> loop = EventLoop::Create();
  loop->PostAt(SystemClock().Now() + span, [&loop] { loop->Stop(); });
  loop->Run();
}

}  // namespace pipefill
