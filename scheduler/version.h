// The version that schedulerd tells.
//
// Pure.
#ifndef SCHEDULER_VERSION_H_
#define SCHEDULER_VERSION_H_

namespace pipefill::scheduler {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace pipefill::scheduler

#endif  // SCHEDULER_VERSION_H_
