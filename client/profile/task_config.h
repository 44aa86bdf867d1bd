// What schedulerd has chosen for this task, handed over in PIPEFILL_CONFIG:
//
//   {"name":"batch8","batch_size":8,"memory_saving":"plain"}
//
// Pure.
#ifndef CLIENT_PROFILE_TASK_CONFIG_H_
#define CLIENT_PROFILE_TASK_CONFIG_H_

#include <cstdint>
#include <string_view>

namespace pipefill::sdk {

inline constexpr char kConfigVariable[] = "PIPEFILL_CONFIG";

// The whole number behind the name `field` in a flat JSON object; `otherwise` where there is none,
// or one that is not positive.
uint64_t NumberIn(std::string_view config, std::string_view field, uint64_t otherwise);

}  // namespace pipefill::sdk

#endif  // CLIENT_PROFILE_TASK_CONFIG_H_
