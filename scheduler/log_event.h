// One log line per event.
//
// Thread-safe.
#ifndef SCHEDULER_LOG_EVENT_H_
#define SCHEDULER_LOG_EVENT_H_

#include "scheduler/core/event.h"

namespace pipefill::scheduler {

void LogEvent(const Event& event);

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_LOG_EVENT_H_
