#include "scheduler/core/event.h"

namespace pipefill::scheduler {

bool IsDurable(const Event& event) {
  return std::visit(Overloaded{
                        [](const JobSubmitted&) { return true; },
                        [](const CancelRequested&) { return true; },
                        [](const MoveRequested&) { return true; },
                        [](const EvictionRequested&) { return true; },
                        [](const AttemptPlaced&) { return true; },
                        [](const AttemptStarted&) { return true; },
                        [](const AttemptEnded&) { return true; },
                        [](const MainJobUpdated&) { return true; },
                        [](const HistoryDropped&) { return true; },
                        [](const JobHeld&) { return true; },
                        [](const JobReleased&) { return true; },
                        [](const RequeueRequested&) { return true; },
                        [](const StartExpired&) { return true; },
                        [](const ArrayAdmitted&) { return true; },
                        [](const AgentRegistered&) { return false; },
                        [](const AgentReported&) { return false; },
                        [](const AgentDisconnected&) { return false; },
                        [](const AgentLost&) { return false; },
                    },
                    event);
}

}  // namespace pipefill::scheduler
