#include "scheduler/core/action.h"

namespace pipefill::scheduler {

const std::string& NodeOf(const Action& action) {
  return std::visit(Overloaded{
                        [](const WelcomeAgent& a) -> const std::string& { return a.node; },
                        [](const KeepAgentAlive& a) -> const std::string& { return a.node; },
                        [](const LaunchAttempt& a) -> const std::string& { return a.device.node; },
                        [](const StopAttempt& a) -> const std::string& { return a.node; },
                        [](const AcknowledgeEnd& a) -> const std::string& { return a.node; },
                        [](const SetMainJob& a) -> const std::string& { return a.node; },
                    },
                    action);
}

}  // namespace pipefill::scheduler
